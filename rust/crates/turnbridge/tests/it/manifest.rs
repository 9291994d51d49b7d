//! Tests that the plugin's manifests, and docs/states.md, agree with the code.

use std::collections::BTreeSet;

use serde_json::Value;
use turnbridge_core::agents::hook_table::HookEventName;
use turnbridge_core::ids::Agent;

fn read(path: &str) -> Value {
    let path = format!("{}/../../../{path}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// KT-21, KT-25, KT-26, TV-24, X26, X32.
#[test]
fn hooks_json_registers_exactly_the_events_that_the_code_knows_x5() {
    let manifest = read("hooks/hooks.json");
    let hooks = manifest["hooks"].as_object().unwrap();
    let registered: BTreeSet<&str> = hooks.keys().map(String::as_str).collect();
    let known: BTreeSet<&str> =
        HookEventName::of(Agent::Claude).map(HookEventName::as_str).collect();
    assert_eq!(registered, known);
    // A hook for it would have to create the worktree.
    assert!(!registered.contains("WorktreeCreate"));
    for (event, rules) in hooks {
        let mut programs = Vec::new();
        for rule in rules.as_array().unwrap() {
            let [hook] = rule["hooks"].as_array().unwrap().as_slice() else { panic!("{event}") };
            assert_eq!(hook["type"], "command", "{event}");
            // Async hooks overtake each other and die with `claude -p` (X26).
            assert_eq!(hook.get("async"), None, "{event}");
            assert!(rule.get("matcher").is_none(), "{event}");
            assert!(hook["timeout"].as_u64().is_some_and(|seconds| seconds <= 10), "{event}");
            let command = hook["command"].as_str().unwrap();
            programs.push(command.strip_prefix("${CLAUDE_PLUGIN_ROOT}/bin/").unwrap());
            let is_notifier = command.ends_with("notify");
            let args = if is_notifier { "--hook --origin plugin" } else { "--origin plugin" };
            let args: Vec<_> = args.split(' ').collect();
            assert_eq!(hook["args"], serde_json::json!(args), "{event}");
        }
        let expected: &[&str] = match event.as_str() {
            "Stop" => &["turnbridge-stop-gate"],
            "PermissionRequest" => &["turnbridge-status", "turnbridge-notify"],
            _ => &["turnbridge-status"],
        };
        assert_eq!(programs, expected, "{event}");
    }
}

/// Codex runs a command by a shell. The path is the shell's own variable, so that its content needs
/// no quoting; `${…}` would be expanded in the text before.
#[test]
fn codex_json_registers_exactly_the_events_that_the_code_knows_and_no_gate() {
    let manifest = read("hooks/codex.json");
    // With any other key Codex ignores the whole file.
    assert_eq!(manifest.as_object().unwrap().keys().collect::<Vec<_>>(), ["hooks"]);
    let hooks = manifest["hooks"].as_object().unwrap();
    let registered: BTreeSet<&str> = hooks.keys().map(String::as_str).collect();
    let known: BTreeSet<&str> =
        HookEventName::of(Agent::Codex).map(HookEventName::as_str).collect();
    assert_eq!(registered, known);
    let commands = |program: &str, arguments: &str| {
        let unix = format!("\"$PLUGIN_ROOT/bin/{program}\" {arguments}");
        let windows = format!("& \"$env:PLUGIN_ROOT\\bin\\{program}.exe\" {arguments}");
        [unix, windows]
    };
    let status = commands("turnbridge-status", "--tool codex --origin plugin");
    let notify = commands("turnbridge-notify", "--hook --tool codex --origin plugin");
    for (event, rules) in hooks {
        let mut shown = Vec::new();
        for rule in rules.as_array().unwrap() {
            let [hook] = rule["hooks"].as_array().unwrap().as_slice() else { panic!("{event}") };
            assert_eq!(hook["type"], "command", "{event}");
            assert_eq!(hook.get("async"), None, "{event}");
            let longest = if event == "SessionEnd" { 3 } else { 10 };
            assert_eq!(hook["timeout"], longest, "{event}");
            let command = |key: &str| hook[key].as_str().unwrap().to_owned();
            shown.push((rule.get("matcher"), [command("command"), command("commandWindows")]));
        }
        let question = Value::from("^request_user_input$");
        let expected = match event.as_str() {
            "PermissionRequest" => vec![(None, status.clone()), (None, notify.clone())],
            "PreToolUse" => vec![(None, status.clone()), (Some(&question), notify.clone())],
            _ => vec![(None, status.clone())],
        };
        assert_eq!(shown, expected, "{event}");
    }
}

/// The effect of an event on its session's state.
#[test]
fn the_page_of_states_speaks_of_every_event_that_the_code_knows() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/states.md");
    let page = std::fs::read_to_string(path).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let words: BTreeSet<&str> =
        rows.flat_map(|row| row.split(|c: char| !c.is_ascii_alphanumeric())).collect();
    let known = HookEventName::ALL.iter().map(|name| name.as_str());
    let missing: Vec<_> = known.filter(|name| !words.contains(name)).collect();
    assert_eq!(missing, [""; 0], "docs/states.md has no row for them");
}

#[test]
fn the_plugin_has_the_version_and_the_address_of_the_executables() {
    for manifest in [".claude-plugin/plugin.json", ".codex-plugin/plugin.json"] {
        let plugin = read(manifest);
        assert_eq!(plugin["name"], "turnbridge");
        assert_eq!(plugin["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(plugin["repository"], env!("CARGO_PKG_REPOSITORY"));
    }
    assert_eq!(read(".codex-plugin/plugin.json")["hooks"], "./hooks/codex.json");
    let marketplace = read(".claude-plugin/marketplace.json");
    assert_eq!(marketplace["plugins"][0]["name"], "turnbridge");
}
