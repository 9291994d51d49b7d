//! Generates the plugin's files that list the hooks for an agent to call: `hooks/hooks.json` for
//! Claude Code and `hooks/codex.json` for Codex, from `hook_table`. `cargo xtask manifests` writes
//! them.

use crate::agents::hook_table::{HookCall, HookEventName};
use crate::ids::Agent;

/// Shown by Claude Code's `/hooks`.
const DESCRIPTION: &str = "Turnbridge records the state of every session, and asks for a spoken summary before a turn ends.";

/// Returns the path of the file in the repository.
pub const fn path(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude => "hooks/hooks.json",
        Agent::Codex => "hooks/codex.json",
    }
}

/// Returns the contents of the file: one line for each hook, so that a change is one line too.
pub fn text(agent: Agent) -> String {
    let events: Vec<_> = HookEventName::of(agent).map(|name| event(agent, name)).collect();
    let events = events.join(",\n");
    let before = match agent {
        Agent::Claude => format!("  \"description\": {},\n", quoted(DESCRIPTION)),
        // With any other key Codex ignores the whole file.
        Agent::Codex => String::new(),
    };
    format!("{{\n{before}  \"hooks\": {{\n{events}\n  }}\n}}\n")
}

fn event(agent: Agent, name: HookEventName) -> String {
    let groups: Vec<_> = name.calls(agent).iter().map(|call| group(agent, call)).collect();
    format!("    {}: [\n{}\n    ]", quoted(name.as_str()), groups.join(",\n"))
}

fn group(agent: Agent, call: &HookCall) -> String {
    let matcher = call.matcher.map(|matcher| format!("\"matcher\": {}, ", quoted(matcher)));
    let command = match agent {
        Agent::Claude => claude_command(call),
        Agent::Codex => codex_command(call),
    };
    let handler = format!("{{\"type\": \"command\", {command}, \"timeout\": {}}}", call.timeout);
    format!("      {{ {}\"hooks\": [{handler}] }}", matcher.unwrap_or_default())
}

fn claude_command(call: &HookCall) -> String {
    let command = format!("${{CLAUDE_PLUGIN_ROOT}}/bin/{}", call.program.as_str());
    let arguments = call.program.arguments().iter().chain(&["--origin", "plugin"]);
    let arguments: Vec<_> = arguments.map(|argument| quoted(argument)).collect();
    format!("\"command\": {}, \"args\": [{}]", quoted(&command), arguments.join(", "))
}

/// Returns the commands for Codex, which runs them in a shell. The path is the shell's own
/// variable, whose value the shell does not parse; `${…}` would be replaced in the text before.
fn codex_command(call: &HookCall) -> String {
    let program = call.program.as_str();
    let arguments =
        call.program.arguments().iter().chain(&["--tool", "codex", "--origin", "plugin"]);
    let arguments = arguments.copied().collect::<Vec<_>>().join(" ");
    let posix = format!("\"$PLUGIN_ROOT/bin/{program}\" {arguments}");
    let windows = format!("& \"$env:PLUGIN_ROOT\\bin\\{program}.exe\" {arguments}");
    format!("\"command\": {}, \"commandWindows\": {}", quoted(&posix), quoted(&windows))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
