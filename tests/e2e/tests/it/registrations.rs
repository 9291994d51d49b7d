//! Tests that hooks in settings.json report the same events as the plugin's, and that each event
//! counts once if both are registered (X5, X7). Also tests that the removal of the hooks restores
//! settings.json byte for byte.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::json;
use testkit::{Claude, ModelReply};

use crate::headless::{KAWAII_LINES, TVINE_MESSAGES};
use crate::interactive::LINES_OF_ONE_DIALOG;
use crate::support::gates;
use crate::support::hosts::pairs;
use crate::support::terminal::AgentTerminal;
use crate::support::world::{ApiWorld, SessionSelection, executable, stdout_of};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RegisteredBy {
    ByBoth,
    BySettings,
}

#[test]
fn with_plugin_and_settings_hooks_every_event_counts_once() {
    let Some(claude) = gates::slow() else { return };
    let world = ApiWorld::new(claude, vec![]);
    check_headless_turn(&world, RegisteredBy::ByBoth);
}

#[test]
fn with_settings_hooks_alone_the_same_is_told_and_the_agent_is_claude_and_not_the_shell() {
    let Some(claude) = gates::slow() else { return };
    let world = ApiWorld::new(claude, vec![]);
    check_headless_turn(&world, RegisteredBy::BySettings);
}

#[test]
fn with_plugin_and_settings_hooks_a_dialog_is_told_once() {
    let Some(claude) = gates::slow() else { return };
    check_dialog(claude, RegisteredBy::ByBoth);
}

#[test]
fn with_settings_hooks_alone_a_dialog_is_told_too() {
    let Some(claude) = gates::slow() else { return };
    check_dialog(claude, RegisteredBy::BySettings);
}

#[track_caller]
fn check_headless_turn(world: &ApiWorld, registered: RegisteredBy) {
    world.api.push(ModelReply::tool("Bash", json!({"command": "echo one"})));
    world.api.push(ModelReply::text("One was said."));
    let (mut command, form) = match registered {
        RegisteredBy::ByBoth => (world.claude(), "exec"),
        RegisteredBy::BySettings => (world.claude_without_plugin(), "shell"),
    };
    register_in_settings(world, form);
    command.args(["-p", "say one", "--allowedTools", "Bash"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let process = command.spawn().expect("start claude");
    let pid = process.id();
    assert_eq!(stdout_of(&process.wait_with_output().expect("wait for claude")), "One was said.\n");

    assert_eq!(pairs(&world.kawaii.lines(), "event", "hook"), KAWAII_LINES);
    assert_eq!(pairs(&world.tvine.messages(), "status", "event"), TVINE_MESSAGES);
    let session = world.only_session(SessionSelection::All);
    assert_eq!(session["state"], "stopped");
    let run = world.only_run(&session);
    assert_eq!(run["pid"], pid);
    assert_eq!(run["by_plugin_dir"], registered == RegisteredBy::ByBoth);
    let turn = world.only_turn(&session);
    assert_eq!((&turn["prompt"], &turn["answer"]), (&json!("say one"), &json!("One was said.")));
    world.assert_no_problems();
    take_out_of_settings(world);
}

#[track_caller]
fn check_dialog(claude: Claude, registered: RegisteredBy) {
    let script = vec![
        ModelReply::tool("Bash", json!({"command": "touch it"})),
        ModelReply::text("It is touched."),
    ];
    let world = ApiWorld::new(claude, script);
    let (command, form) = match registered {
        RegisteredBy::ByBoth => (world.claude(), "shell"),
        RegisteredBy::BySettings => (world.claude_without_plugin(), "exec"),
    };
    register_in_settings(&world, form);
    let terminal = AgentTerminal::start_command(&world, &command);
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

/// A setting of the user's with unusual formatting.
const SETTINGS: &str = "{\t\"includeCoAuthoredBy\" : false }\r\n";

/// Registers like a user; `form` selects how Claude calls the hooks.
#[track_caller]
fn register_in_settings(world: &ApiWorld, form: &str) {
    fs::write(settings_path(world), SETTINGS).expect("write settings.json");
    hooks(world, &["apply", "--yes", "--form", form]);
    let text = fs::read_to_string(settings_path(world)).expect("read settings.json");
    assert!(text.contains("--origin"), "{text}");
}

/// Removes the hooks, and checks that every byte of the user's is back.
#[track_caller]
fn take_out_of_settings(world: &ApiWorld) {
    hooks(world, &["remove", "--yes"]);
    let text = fs::read_to_string(settings_path(world)).expect("read settings.json");
    assert_eq!(text, SETTINGS);
}

#[track_caller]
fn hooks(world: &ApiWorld, arguments: &[&str]) {
    let mut command = world.hermetic.command(executable("turnbridge"));
    stdout_of(&command.arg("hooks").args(arguments).output().expect("run turnbridge"));
}

fn settings_path(world: &ApiWorld) -> PathBuf {
    world.hermetic.claude_config_dir().join("settings.json")
}
