//! Tests dialogs of Claude that stay open for long, beside other work, or inside a sub-agent: the
//! session is `waiting_user` from the question to the answer, and no longer.

use std::fs;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Claude, ModelReply, Script};

use crate::interactive::LINES_OF_ONE_DIALOG;
use crate::service::DaemonService;
use crate::slack::texts;
use crate::support::gates::{self, note};
use crate::support::hosts::pairs;
use crate::support::terminal::{AgentTerminal, state_of};
use crate::support::timeouts::{TIMEOUT, wait_for};
use crate::support::world::{ApiWorld, SessionSelection};

/// KT-41, TV-18: Claude's own notification comes six seconds after the dialog.
#[test]
fn a_dialog_that_stays_open_is_told_again_and_its_approval_is_still_seen() {
    let Some(claude) = gates::slow() else { return };
    let tool = ModelReply::tool("Bash", json!({"command": "touch begun; sleep 4; touch ended"}));
    let world = ApiWorld::new(claude, vec![tool]);
    let terminal = AgentTerminal::start(&world);
    terminal.submit("touch both");
    terminal.wait_for_dialog();
    wait_for_tvine(&world, &terminal, "Waiting Notification");
    assert_eq!(state_of(&world.only_session(SessionSelection::Live)), "waiting_user");
    let approved = terminal.press_and_time("Enter", "working");
    note(&format!("approval after the notification → working: {approved:?}"));
    assert!(!world.hermetic.project().join("ended").exists(), "working only with the tool's end");
    terminal.wait_for_state("completed/ok");
    terminal.exit();
    assert_eq!(
        pairs(&world.kawaii.lines(), "event", "hook")[2..5],
        ["waiting_user PermissionRequest", "waiting_user Notification", "working PostToolUse"]
    );
    world.assert_no_problems();
}

/// TV-20: a question is no permission dialog, but waits for the user too.
#[test]
fn a_question_waits_for_the_user_until_it_is_answered() {
    let Some(claude) = gates::slow() else { return };
    let options = json!([
        {"label": "Alpha", "description": "the first"}, {"label": "Beta", "description": "the second"},
    ]);
    let question = json!({"question": "Which one?", "header": "Pick", "multiSelect": false, "options": options});
    let script = vec![
        ModelReply::tool("AskUserQuestion", json!({"questions": [question]})),
        ModelReply::text("Alpha it is.").delayed(Duration::from_secs(1)),
    ];
    let world = ApiWorld::new(claude, script);
    let terminal = AgentTerminal::start(&world);
    terminal.submit("ask me");
    terminal.tmux.wait_for("Enter to select", TIMEOUT);
    let waiting = terminal.wait_for_state("waiting_user");
    assert_eq!(waiting["waiting_for"], json!(["AskUserQuestion"]));
    terminal.wait_for_keys();
    terminal.tmux.send_key("Enter");
    terminal.wait_for_state("working");
    terminal.wait_for_state("completed/ok");
    terminal.exit();
    world.assert_no_problems();
}

#[test]
fn a_tool_that_ends_beside_an_open_dialog_does_not_close_it() {
    let Some(claude) = gates::slow() else { return };
    let world = ApiWorld::new(claude, vec![]);
    let inside = world.hermetic.project().join("inside.txt");
    let outside = world.hermetic.root().join("outside.txt");
    world.api.push(read_both(&outside, &inside));
    let terminal = AgentTerminal::start(&world);
    terminal.submit("read both");
    let waiting = terminal.wait_for_dialog();
    assert_eq!(waiting["waiting_for"], json!(["Read"]));
    // The Read of the file inside the project needs no permission.
    wait_for_tvine(&world, &terminal, "Waiting PostToolUse");
    terminal.assert_stays("waiting_user");
    assert_eq!(world.tvine.status()["status"], "Waiting");

    terminal.tmux.send_key("Enter");
    terminal.wait_for_state("completed/ok");
    terminal.exit();
    assert_eq!(pairs(&world.kawaii.lines(), "event", "hook"), LINES_OF_ONE_DIALOG);
    world.assert_no_problems();
}

#[test]
fn of_two_dialogs_at_once_both_must_be_answered() {
    let Some(claude) = gates::slow() else { return };
    let world = ApiWorld::new(claude, vec![]);
    let folder = world.hermetic.root().join("folder");
    fs::create_dir(&folder).expect("create a folder");
    let (one, two) = (world.hermetic.root().join("one.txt"), folder.join("two.txt"));
    world.api.push(read_both(&one, &two));
    let terminal = AgentTerminal::start(&world);
    terminal.submit("read both");
    wait_for("two dialogs", || {
        let session = world.sessions(SessionSelection::Live).pop().unwrap_or_default();
        match session["waiting_for"] == json!(["Read", "Read"]) {
            true => Ok(()),
            false => Err(format!("{session:#}\n{}", terminal.tmux.screen())),
        }
    });
    // Either may cover the other, and claude loses an answer that arrives while it draws them.
    terminal.assert_stays("waiting_user");
    let screen = terminal.tmux.screen();
    let second = match screen.contains(&format!("Read({})", one.display())) {
        true => two,
        false => one,
    };
    terminal.tmux.send_key("Enter");
    wait_for_tvine(&world, &terminal, "Waiting PostToolUse");
    terminal.tmux.wait_for(&format!("Read({})", second.display()), TIMEOUT);
    terminal.assert_stays("waiting_user");
    terminal.tmux.send_key("Enter");
    terminal.wait_for_state("completed/ok");
    terminal.exit();
    world.assert_no_problems();
}

/// In auto mode Claude asks a model whether a call is safe. If that fails, it asks the user,
/// without a hook.
#[test]
fn ask_11_a_dialog_of_auto_mode_for_which_no_hook_is_called_is_seen_all_the_same() {
    let Some(claude) = gates::slow() else { return };
    let tool = ModelReply::tool(
        "Bash",
        json!({"command": "curl -s http://127.0.0.1:9/; sleep 4; touch ended"}),
    );
    let world = ApiWorld::new(claude, vec![tool]);
    let settings = world.hermetic.claude_config_dir().join("settings.json");
    let auto = json!({"permissions": {"defaultMode": "auto"}});
    fs::write(settings, auto.to_string()).expect("write the settings");
    let terminal = AgentTerminal::start(&world);
    terminal.submit("touch it");
    terminal.tmux.wait_for("Auto mode can't check actions", TIMEOUT);
    // For this one Claude's file contains the same as for a panel that the user has opened.
    terminal.wait_for_state("waiting_user");
    terminal.wait_for_keys();
    terminal.tmux.send_key("Enter");
    terminal.wait_for_unnamed_dialog();
    let hooks = pairs(&world.tvine.messages(), "status", "event");
    assert!(!hooks.iter().any(|hook| hook.ends_with("PermissionRequest")), "{hooks:?}");
    // `No` is the first choice there.
    terminal.tmux.send_key("Down");
    terminal.press_and_time("Enter", "working");
    assert!(!world.hermetic.project().join("ended").exists(), "working only with the tool's end");
    terminal.wait_for_state("completed/ok");
    terminal.exit();
    world.assert_no_problems();
}

/// A session without permission prompts holds messages from other sessions, and asks about them.
#[test]
fn ask_11_a_message_that_is_held_in_a_session_at_rest_is_seen_before_claude_s_own_notification() {
    let Some(claude) = gates::slow() else { return };
    let world = ApiWorld::new(claude, vec![ModelReply::text("One.")]);
    let settings = world.hermetic.claude_config_dir().join("settings.json");
    let accepted = json!({"skipDangerousModePermissionPrompt": true});
    fs::write(settings, accepted.to_string()).expect("write the settings");
    let mut command = world.claude();
    // A superuser needs a sandbox for this option.
    command.arg("--dangerously-skip-permissions").env("IS_SANDBOX", "1");
    let terminal = AgentTerminal::start_command(&world, &command);
    terminal.submit("first");
    let session = terminal.wait_for_state("completed/ok");
    let note = format!("sessions/{}.json", session["pid"]);
    let note = fs::read(world.hermetic.claude_config_dir().join(note)).expect("read the note");
    let note: Value = serde_json::from_slice(&note).expect("parse the note");
    let socket = note["messagingSocketPath"].as_str().expect("a socket");
    let message = json!({"role": "user", "content": "hello"});
    let message = format!("{}\n", json!({"type": "user", "message": message}));
    let mut stream = UnixStream::connect(socket).expect("connect");
    stream.write_all(message.as_bytes()).expect("send");
    terminal.tmux.wait_for("Held message from another session", TIMEOUT);
    let waiting = terminal.wait_for_state("waiting_user");
    assert_eq!(waiting["last_event"], "DialogOpened", "{waiting:#}");
    terminal.wait_for_keys();
    // `Deny` is the first choice.
    terminal.tmux.send_key("Enter");
    terminal.wait_for_state("completed/ok");
    terminal.exit();
    world.assert_no_problems();
}

/// Each end of an agent begins a turn; every turn is reported once, and none before its end.
#[test]
fn three_agents_in_the_background_are_shown_until_each_has_ended_and_every_turn_is_told_once() {
    let Some(claude) = gates::slow::<Claude>() else { return };
    let tasks = ["subtask-a", "subtask-b", "subtask-c"];
    let three = ModelReply::tool("Agent", task(tasks[0]))
        .and_tool("Agent", task(tasks[1]))
        .and_tool("Agent", task(tasks[2]));
    let answers = ["All are at it.", "One is done.", "Two are done.", "All are done."];
    let mut script = Script::new().then(three).then(ModelReply::text(answers[0]));
    for answer in &answers[1..] {
        script = script.then(ModelReply::text(answer).delayed(Duration::from_secs(2)));
    }
    for (task, command) in tasks.iter().zip(["sleep 4", "sleep 10", "sleep 16"]) {
        let replies =
            vec![ModelReply::tool("Bash", json!({"command": command})), ModelReply::text("Ready.")];
        script = script.on(task, replies);
    }
    let world = ApiWorld::new(claude, script);
    let service = DaemonService::with_claude(&world, "");
    let terminal = AgentTerminal::start(&world);
    terminal.submit("let three agents do it");
    let mut seen: Vec<String> = Vec::new();
    wait_for("the end of all agents", || {
        let session = world.only_session(SessionSelection::Live);
        let running = session["background_tasks"].as_array().map_or(0, Vec::len);
        let what = format!("{} with {running}", state_of(&session));
        if seen.last() != Some(&what) {
            seen.push(what);
        }
        match seen.len() > 2 && seen.last().is_some_and(|what| what == "completed/ok with 0") {
            true => Ok(()),
            false => Err(format!("{seen:#?}\n{}", terminal.tmux.screen())),
        }
    });
    seen.retain(|what| what != "completed with 0");
    let expected =
        [3, 2, 1, 0].map(|left| ["working with 0".into(), format!("completed/ok with {left}")]);
    assert_eq!(seen, expected.concat());
    assert_eq!(wait_for_answers(&world, &terminal, 4), answers);
    service.thread_of("Agent \"subtask-c\" finished");
    let threads = service.slack.threads();
    let told: Vec<_> =
        threads.iter().map(|thread| (thread.parent.text.as_str(), texts(thread))).collect();
    let parents = [
        "let three agents do it",
        "Agent \"subtask-a\" finished",
        "Agent \"subtask-b\" finished",
        "Agent \"subtask-c\" finished",
    ];
    let expected: Vec<_> = parents.into_iter().zip(answers.map(|answer| vec![answer])).collect();
    assert_eq!(told, expected);
    terminal.exit();
    service.assert_no_problems();
}

/// A sub-agent works in the background: the turn that has started it may be over, and its end
/// begins another one.
#[test]
fn a_dialog_of_a_sub_agent_is_one_of_the_session_and_ends_with_its_approval() {
    let Some(claude) = gates::slow() else { return };
    let bash = ModelReply::tool("Bash", json!({"command": "touch begun; sleep 3; touch ended"}));
    let script = Script::new()
        .then(ModelReply::tool("Agent", task("subtask-a")))
        .then(ModelReply::text("The agent is at it."))
        .then(ModelReply::text("The agent is done."))
        .on("subtask-a", vec![bash, ModelReply::text("Touched.")]);
    let world = ApiWorld::new(claude, script);
    let terminal = AgentTerminal::start(&world);
    terminal.submit("let an agent do it");
    terminal.tmux.wait_for("The agent is at it.", TIMEOUT);
    let waiting = terminal.wait_for_dialog();
    assert_eq!(waiting["waiting_for"], json!(["Bash"]));
    terminal.assert_stays("waiting_user");
    let approved = terminal.press_and_time("Enter", "completed/ok");
    note(&format!("approval of a sub-agent's dialog → what the session does itself: {approved:?}"));
    let session = world.only_session(SessionSelection::Live);
    assert_eq!(session["background_tasks"], json!(["subtask-a"]), "{session:#}");
    let ended = world.hermetic.project().join("ended");
    assert!(!ended.exists(), "the dialog is closed only with the tool's end");
    let answers = wait_for_answers(&world, &terminal, 2);
    assert_eq!(answers, ["The agent is at it.", "The agent is done."]);
    assert!(ended.exists());
    let session = terminal.wait_for_state("completed/ok");
    assert_eq!(session["background_tasks"], json!([]), "{session:#}");
    terminal.exit();
    world.assert_no_problems();
}

/// The events of the second agent and its parent after the approval do not concern the first one's
/// dialog.
#[test]
fn an_approved_dialog_stays_closed_while_others_go_on() {
    let Some(claude) = gates::slow() else { return };
    let script = Script::new()
        .then(ModelReply::tool("Agent", task("subtask-a")).and_tool("Agent", task("subtask-b")))
        .then(ModelReply::text("Both are at it."))
        .on("subtask-a", vec![ModelReply::tool("Bash", json!({"command": "touch begun; sleep 6"}))])
        .on("subtask-b", vec![ModelReply::tool("Bash", json!({"command": "sleep 4"}))]);
    let world = ApiWorld::new(claude, script);
    let terminal = AgentTerminal::start(&world);
    terminal.submit("let two agents do it");
    terminal.tmux.wait_for("Both are at it.", TIMEOUT);
    terminal.wait_for_dialog();
    terminal.press_and_time("Enter", "completed/ok");
    let mut seen: Vec<String> = Vec::new();
    wait_for("the end of both agents", || {
        let session = world.only_session(SessionSelection::Live);
        let what = format!("{} after {}", state_of(&session), text_of(&session["last_event"]));
        if seen.last() != Some(&what) {
            seen.push(what);
        }
        match state_of(&session) == "completed/ok" && session["background_tasks"] == json!([]) {
            true => Ok(()),
            false => Err(format!("{seen:#?}\n{}", terminal.tmux.screen())),
        }
    });
    assert!(!seen.iter().any(|what| what.starts_with("waiting_user")), "{seen:#?}");
    terminal.exit();
    world.assert_no_problems();
}

/// Waits for this many finished turns of the only session, and returns their answers.
#[track_caller]
pub fn wait_for_answers(world: &ApiWorld, terminal: &AgentTerminal, count: usize) -> Vec<String> {
    wait_for(&format!("{count} turns"), || {
        let session = world.only_session(SessionSelection::Live);
        let shown = world.show(text_of(&session["session_id"]));
        let turns = shown["turns"].as_array().cloned().unwrap_or_default();
        match turns.len() >= count {
            true => Ok(turns.iter().map(|turn| text_of(&turn["answer"]).to_owned()).collect()),
            false => Err(format!("{turns:#?}\n{}", terminal.tmux.screen())),
        }
    })
}

/// Returns the input of the tool `Agent` for a sub-agent with this prompt.
pub fn task(prompt: &str) -> Value {
    json!({"description": prompt, "prompt": prompt, "subagent_type": "general-purpose"})
}

/// Returns one message with two calls of Read, for files that it creates.
#[track_caller]
fn read_both(first: &Path, second: &Path) -> ModelReply {
    for path in [first, second] {
        fs::write(path, "text\n").expect("write a file to read");
    }
    ModelReply::tool("Read", json!({"file_path": first}))
        .and_tool("Read", json!({"file_path": second}))
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Waits until tvine has this status with this event.
#[track_caller]
fn wait_for_tvine(world: &ApiWorld, terminal: &AgentTerminal, wanted: &str) {
    wait_for(&format!("`{wanted}` for tvine"), || {
        let messages = pairs(&world.tvine.messages(), "status", "event");
        match messages.iter().any(|message| message == wanted) {
            true => Ok(()),
            false => Err(format!("{messages:?}\n{}", terminal.tmux.screen())),
        }
    });
}
