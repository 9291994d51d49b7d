//! Tests that a hook opens `config.toml` at most once: all its decisions use one text, and repeated
//! reads would cost time in each call.

#![cfg(target_os = "linux")]

use std::fs;

use serde_json::{Value, json};

use crate::support::trace::{can_trace, traced};
use crate::support::world::{World, feed, payload};

const CONFIG: &str = "[slack]
bot_token = \"xoxb-loopback-bot\"
[destinations.dm]
target_user_id = \"U0OWNER\"
[notify]
waiting = true
[gate]
enabled = true
headless = false
";

/// Returns how often the executable itself opens `config.toml` for this event.
fn opened(world: &World, program: &str, event: &str, more: Value) -> usize {
    let file = world.hermetic.root().join("trace");
    let mut command = traced(world, program, &["-e", "trace=?open,openat"], &file);
    command.args(["--origin", "plugin"]);
    if program == "turnbridge-notify" {
        command.arg("--hook");
    }
    feed(command, payload(event, more).to_string().as_bytes());
    let trace = fs::read_to_string(file).unwrap();
    assert!(trace.contains("open"), "nothing was traced: {trace}");
    trace.lines().filter(|line| line.contains("/config.toml\"")).count()
}

#[test]
fn a_hook_opens_the_config_once_and_only_if_it_has_a_question() {
    if !can_trace("how often hooks read the config") {
        return;
    }
    // No server listens there.
    let world = World::with_gate().with("TURNBRIDGE_SLACK_API_URL", "http://127.0.0.1:9/");
    world.configure(CONFIG);
    let opened_by = |program: &str, event: &str, more: Value| opened(&world, program, event, more);
    assert_eq!(opened_by("turnbridge-status", "UserPromptSubmit", json!({"prompt": "x"})), 0);
    let tool = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t"});
    assert_eq!(opened_by("turnbridge-status", "PostToolUse", tool.clone()), 0);
    assert_eq!(opened_by("turnbridge-notify", "PermissionRequest", tool), 1);

    // For a headless agent, the gate reads both of its switches, and the end of the turn makes a
    // notice.
    let world = world.with("CLAUDE_CODE_ENTRYPOINT", "sdk-cli");
    let stop = json!({"stop_hook_active": false, "last_assistant_message": "Done."});
    assert_eq!(opened(&world, "turnbridge-stop-gate", "Stop", stop), 1);
    let decision = world.decisions().pop().unwrap();
    assert_eq!(decision["rule"], "alone", "{decision}");
    let told = fs::read_dir(world.hermetic.state_dir().join("outbox")).unwrap().count();
    assert!(told > 0, "no notice was queued");
}
