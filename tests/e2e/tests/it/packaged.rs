//! Tests the packaged plugin with the real agents: installed from a marketplace, loaded from a
//! release archive, and packaged without an executable for this machine.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use testkit::{Claude, Codex, ModelReply, SlackApi, SlackSetup, Tmux};

use crate::headless::{KAWAII_LINES, TVINE_MESSAGES};
use crate::slack::{texts, threads};
use crate::support::codex_world::{self, CodexWorld, told};
use crate::support::gates;
use crate::support::hosts::pairs;
use crate::support::packages;
use crate::support::timeouts::TIMEOUT;
use crate::support::world::{ApiWorld, SessionSelection, stdout_of};

const MESSAGE: &str = "Turnbridge has no executable for";

#[test]
fn a_turn_with_the_plugin_from_the_marketplace_s_tree_is_told_to_everyone() {
    let Some(claude) = gates::fast() else { return };
    let (world, slack) = world(claude);
    let tree = packages::tree(world.hermetic.root());
    install(&world, tree.as_os_str());
    let run = check_turn(&world, &slack, world.claude_without_plugin(), &KAWAII_LINES);
    assert_eq!(run["by_plugin_dir"], false);
    // A folder is run in place; a fetched plugin is copied first.
    assert_eq!(Path::new(run["plugin_root"].as_str().expect("a path")), tree);
}

#[test]
fn a_turn_with_an_unpacked_release_archive_is_told_to_everyone() {
    let Some(claude) = gates::fast() else { return };
    let (world, slack) = world(claude);
    let archive = packages::archive(world.hermetic.root());
    let mut command = world.claude_without_plugin();
    command.arg("--plugin-dir").arg(&archive);
    let run = check_turn(&world, &slack, command, &KAWAII_LINES);
    assert_eq!(run["by_plugin_dir"], true);
    assert_eq!(run["plugin_root"], json!(archive));
}

/// Claude 2.1.197 removes the unpacked archive before the hooks of SessionEnd, and reports it.
#[test]
fn a_turn_with_a_release_archive_as_a_zip_is_told_to_everyone() {
    let Some(claude) = gates::slow() else { return };
    if !packages::has(&["zip", "unzip"]) {
        return;
    }
    let (world, slack) = world(claude);
    let archive = packages::archive(world.hermetic.root());
    let zip = world.hermetic.root().join("turnbridge.zip");
    packages::run(Command::new("zip").args(["-qr"]).arg(&zip).arg(".").current_dir(&archive));
    let mut command = world.claude_without_plugin();
    command.arg("--plugin-dir").arg(&zip);
    check_turn(&world, &slack, command, &KAWAII_LINES[..3]);
    assert_eq!(world.only_session(SessionSelection::All)["state"], "stopped");

    fs::remove_dir_all(&archive).expect("remove the archive");
    packages::run(Command::new("unzip").arg("-q").arg(&zip).arg("-d").arg(&archive));
    for name in packages::NAMES {
        packages::run(Command::new(archive.join(name)).arg("--version"));
    }
}

/// The commands that a user types.
#[test]
fn the_marketplace_on_the_main_branch_installs_the_plugin_of_the_other_branch() {
    let Some(claude) = gates::slow() else { return };
    let (world, slack) = world(claude);
    packages::serve_as_github(&world.hermetic);
    install(&world, OsStr::new("turnbridge/turnbridge"));
    let run = check_turn(&world, &slack, world.claude_without_plugin(), &KAWAII_LINES);
    let cache = world.hermetic.claude_config_dir().join("plugins/cache/turnbridge/turnbridge");
    let plugin_root = Path::new(run["plugin_root"].as_str().expect("a path"));
    assert!(plugin_root.starts_with(cache), "{plugin_root:?}");
}

#[test]
fn the_marketplace_on_the_main_branch_installs_it_into_codex_too() {
    let Some(codex) = gates::slow() else { return };
    let mut world = CodexWorld::bare(codex, vec![ModelReply::text("One was said.")]);
    packages::serve_as_github(&world.hermetic);
    world.install_plugin_from(&["turnbridge/turnbridge"]);
    check_codex_turn(&world);
}

#[test]
fn without_an_executable_for_this_machine_a_turn_runs_and_one_message_says_so() {
    let Some(claude) = gates::fast() else { return };
    let (world, _slack) = world(claude);
    let tree = packages::tree_of_another_machine(world.hermetic.root());
    install(&world, tree.as_os_str());
    let mut command = world.claude_without_plugin();
    command.args(["-p", "say one", "--allowedTools", "Bash", "--verbose"]);
    command.args(["--output-format", "stream-json", "--include-hook-events"]).stdin(Stdio::null());
    let output = command.output().expect("run claude");
    let events = stdout_of(&output);
    let events: Vec<Value> =
        events.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(events.last().expect("a result")["result"], "One was said.");
    let hooks: Vec<_> = events.iter().filter(|event| event["subtype"] == "hook_response").collect();
    let names: Vec<_> = hooks.iter().filter_map(|hook| hook["hook_event"].as_str()).collect();
    let expected =
        ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolBatch", "Stop"];
    assert_eq!(names, expected);
    for hook in &hooks {
        assert_eq!((&hook["exit_code"], &hook["stderr"]), (&json!(0), &json!("")), "{hook}");
        let message: Value = match hook["stdout"].as_str().expect("what it printed") {
            "" => Value::Null,
            text => serde_json::from_str(text).expect(text),
        };
        let is_told =
            message["systemMessage"].as_str().is_some_and(|text| text.starts_with(MESSAGE));
        assert_eq!(is_told, hook["hook_event"] == "SessionStart", "{hook}");
    }
    assert_eq!(world.sessions(SessionSelection::All), Vec::<Value>::new());
}

#[test]
fn in_the_terminal_the_message_of_a_plugin_without_executables_is_seen_once() {
    let Some(claude) = gates::slow() else { return };
    let (world, _slack) = world(claude);
    let tree = packages::tree_of_another_machine(world.hermetic.root());
    install(&world, tree.as_os_str());
    world.claude.accept_first_start(&world.hermetic, &world.hermetic.project());
    let mut command = world.claude_without_plugin();
    let tmux = Tmux::start(&world.hermetic, command.args(["say one", "--allowedTools", "Bash"]));
    let screen = tmux.wait_for("One was said.", TIMEOUT);
    assert_eq!(screen.matches(MESSAGE).count(), 1, "{screen}");
}

#[test]
fn without_an_executable_for_this_machine_a_turn_of_codex_runs_and_says_nothing_to_programs() {
    let Some(codex) = gates::fast() else { return };
    let world = codex_without_executables(codex);
    let output = codex_world::run(&mut world.exec("say one"));
    stdout_of(&output);
    let items = told(&output, "item.completed");
    let texts: Vec<_> = items.iter().filter_map(|item| item["item"]["text"].as_str()).collect();
    assert_eq!(texts, ["One was said."], "{items:#?}");
    assert_eq!(world.sessions(SessionSelection::All), Vec::<Value>::new());
}

#[test]
fn in_codex_s_terminal_the_message_of_a_plugin_without_executables_is_seen_once() {
    let Some(codex) = gates::slow() else { return };
    let world = codex_without_executables(codex);
    let mut command = world.codex();
    let tmux = Tmux::start(&world.hermetic, command.arg("say one"));
    let screen = tmux.wait_for("One was said.", TIMEOUT);
    assert_eq!(screen.matches(MESSAGE).count(), 1, "{screen}");
}

/// An archive is its own marketplace, for machines without a network.
#[test]
fn a_turn_of_codex_with_the_plugin_from_a_release_archive_is_told_to_everyone() {
    let Some(codex) = gates::slow() else { return };
    let mut world = CodexWorld::bare(codex, vec![ModelReply::text("One was said.")]);
    let archive = packages::archive(world.hermetic.root());
    world.install_plugin_from(&[archive]);
    check_codex_turn(&world);
}

#[track_caller]
fn check_codex_turn(world: &CodexWorld) {
    stdout_of(&codex_world::run(&mut world.exec("say one")));
    assert_eq!(pairs(&world.kawaii.lines(), "event", "hook"), KAWAII_LINES);
    let session = world.only_session(SessionSelection::All);
    assert_eq!(session["state"], "stopped");
    let turn = world.only_turn(&session);
    assert_eq!((&turn["prompt"], &turn["answer"]), (&json!("say one"), &json!("One was said.")));
    world.assert_no_problems();
}

fn codex_without_executables(codex: Codex) -> CodexWorld {
    let mut world = CodexWorld::bare(codex, vec![ModelReply::text("One was said.")]);
    let tree = packages::tree_of_another_machine(world.hermetic.root());
    world.install_plugin_from(&[tree]);
    world
}

/// Creates a world with a script of a turn with a tool, and a Slack.
#[track_caller]
fn world(claude: Claude) -> (ApiWorld, SlackApi) {
    let script = vec![
        ModelReply::tool("Bash", json!({"command": "echo one", "description": "Say one"})),
        ModelReply::text("One was said."),
    ];
    let slack = SlackApi::start(SlackSetup::default());
    let world = ApiWorld::with_gate(claude, script);
    world.configure(&format!(
        "[slack]\nbot_token = \"xoxb-loopback-bot\"\napi_url = \"{}\"\n\
         [destinations.dm]\ntarget_user_id = \"U0OWNER\"\n[gate]\nenabled = false\n",
        slack.base_url()
    ));
    (world, slack)
}

#[track_caller]
fn install(world: &ApiWorld, marketplace: &OsStr) {
    let plugin = |arguments: &[&OsStr]| {
        let mut command = world.claude_without_plugin();
        let output: Output = command.arg("plugin").args(arguments).output().expect("run claude");
        stdout_of(&output);
    };
    plugin(&[OsStr::new("marketplace"), OsStr::new("add"), marketplace]);
    plugin(&[OsStr::new("install"), OsStr::new("turnbridge@turnbridge")]);
}

/// Checks a whole turn in all outputs, and returns its run.
#[track_caller]
fn check_turn(world: &ApiWorld, slack: &SlackApi, mut command: Command, kawaii: &[&str]) -> Value {
    command
        .args(["-p", "say one", "--allowedTools", "Bash"])
        .env("TURNBRIDGE_SLACK_TIME_SCALE", "20");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let process = command.spawn().expect("start claude");
    let pid = process.id();
    let output = process.wait_with_output().expect("wait for claude");
    assert_eq!(stdout_of(&output), "One was said.\n");
    assert_eq!(pairs(&world.kawaii.lines(), "event", "hook"), kawaii);
    let tvine = &TVINE_MESSAGES[..TVINE_MESSAGES.len() - (KAWAII_LINES.len() - kawaii.len())];
    assert_eq!(pairs(&world.tvine.messages(), "status", "event"), tvine);
    let session = world.only_session(SessionSelection::All);
    assert_eq!(session["state"], "stopped");
    let turn = world.only_turn(&session);
    assert_eq!((&turn["prompt"], &turn["answer"]), (&json!("say one"), &json!("One was said.")));
    let thread = threads(slack, world, 1).remove(0);
    assert_eq!(thread.parent.text, "say one");
    assert_eq!(texts(&thread), ["One was said."]);
    world.assert_no_problems();
    let run = world.only_run(&session);
    assert_eq!((&run["pid"], &run["origin"]), (&json!(pid), &json!("plugin")));
    run
}
