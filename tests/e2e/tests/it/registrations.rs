//! Hooks from the plugin, from settings.json, and from both at once: every event counts once
//! (DESIGN section 4, claiming; X5: both install modes register the same set).

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::{Claude, Reply};

use crate::gates;
use crate::headless::{KAWAII_LINES, TVINE_MESSAGES};
use crate::hosts::pairs;
use crate::interactive::LINES_OF_ONE_DIALOG;
use crate::terminal::Terminal;
use crate::world::{Which, World, repository, stdout_of};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Registered {
    ByBoth,
    BySettings,
}

#[test]
fn with_plugin_and_settings_hooks_every_event_counts_once() {
    let Some(claude) = gates::slow() else { return };
    let world = World::new(claude, vec![]);
    check_headless_turn(&world, Registered::ByBoth);
}

#[test]
fn with_settings_hooks_alone_the_same_is_told_and_the_agent_is_claude_and_not_the_shell() {
    let Some(claude) = gates::slow() else { return };
    let world = World::new(claude, vec![]);
    check_headless_turn(&world, Registered::BySettings);
}

#[test]
fn with_plugin_and_settings_hooks_a_dialog_is_told_once() {
    let Some(claude) = gates::slow() else { return };
    check_dialog(claude, Registered::ByBoth);
}

#[test]
fn with_settings_hooks_alone_a_dialog_is_told_too() {
    let Some(claude) = gates::slow() else { return };
    check_dialog(claude, Registered::BySettings);
}

#[track_caller]
fn check_headless_turn(world: &World, registered: Registered) {
    world.api.push(Reply::tool("Bash", json!({"command": "echo one"})));
    world.api.push(Reply::text("One was said."));
    register_in_settings(world);
    let mut command = match registered {
        Registered::ByBoth => world.claude(),
        Registered::BySettings => world.claude_without_plugin(),
    };
    command.args(["-p", "say one", "--allowedTools", "Bash"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let process = command.spawn().expect("start claude");
    let pid = process.id();
    assert_eq!(stdout_of(&process.wait_with_output().expect("wait for claude")), "One was said.\n");

    assert_eq!(pairs(&world.kawaii.lines(), "event", "hook"), KAWAII_LINES);
    assert_eq!(pairs(&world.tvine.messages(), "status", "event"), TVINE_MESSAGES);
    let session = world.only_session(Which::All);
    assert_eq!(session["state"], "stopped");
    let run = world.only_run(&session);
    assert_eq!(run["pid"], pid);
    assert_eq!(run["by_plugin_dir"], registered == Registered::ByBoth);
    let turn = world.only_turn(&session);
    assert_eq!((&turn["prompt"], &turn["answer"]), (&json!("say one"), &json!("One was said.")));
    world.assert_no_problems();
}

#[track_caller]
fn check_dialog(claude: Claude, registered: Registered) {
    let script =
        vec![Reply::tool("Bash", json!({"command": "touch it"})), Reply::text("It is touched.")];
    let world = World::new(claude, script);
    register_in_settings(&world);
    let command = match registered {
        Registered::ByBoth => world.claude(),
        Registered::BySettings => world.claude_without_plugin(),
    };
    let terminal = Terminal::start_command(&world, &command);
    terminal.submit("touch it");
    let waiting = terminal.wait_for_dialog();
    assert_eq!(waiting["waiting_for"], json!(["Bash"]));
    assert_eq!(waiting["pid"], terminal.tmux.pid());
    terminal.tmux.send_key("Enter");
    terminal.wait_for_state("completed/ok");
    terminal.exit();
    assert_eq!(pairs(&world.kawaii.lines(), "event", "hook"), LINES_OF_ONE_DIALOG);
    world.assert_no_problems();
}

/// The plugin's own registrations, as command lines for a shell in the user's settings.
#[track_caller]
fn register_in_settings(world: &World) {
    let path = repository().join("hooks").join("hooks.json");
    let text = fs::read_to_string(&path).expect("read hooks.json");
    let mut settings: Value = serde_json::from_str(&text).expect("parse hooks.json");
    let object = settings.as_object_mut().expect("an object");
    object.retain(|key, _| key == "hooks");
    for rules in object["hooks"].as_object_mut().expect("events").values_mut() {
        let hook = &mut rules[0]["hooks"][0];
        let program = hook["command"].as_str().expect("a command");
        let root = repository();
        let root = root.to_str().expect("a path in UTF-8");
        let program = program.replace("${CLAUDE_PLUGIN_ROOT}", root);
        *hook = json!({
            "type": "command", "command": format!("'{program}' --origin settings"), "timeout": 10,
        });
    }
    let path = world.hermetic.claude_config_dir().join("settings.json");
    fs::write(path, settings.to_string()).expect("write settings.json");
}
