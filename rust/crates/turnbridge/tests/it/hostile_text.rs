//! Tests texts of users, models, projects and other programs that could control a terminal, in
//! every field that may contain them. None may reach stdout or stderr unescaped.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::json;
use turnbridge_core::ids::{ChannelName, SessionKey};
use turnbridge_core::notices::notice::Notice;
use turnbridge_core::notices::progress::NoticeProgress;
use turnbridge_core::notices::route::Route;
use turnbridge_core::replies::reply::{Reply, ReplyTo};
use turnbridge_core::text::visible_text::visible;
use turnbridge_store::clock;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::{inbox, outbox, routes, turn_store};

use crate::support::world::{SESSION, World, payload};

/// An escape sequence, C1 controls, line ends, direction marks, zero-width characters, and a forged
/// line.
const HOSTILE: &str = "a\u{1b}]0;x\u{7}\u{9b}31m\u{85}\u{202e}\u{2066}\u{200f}\u{61c}\u{200b}\u{feff}\u{2060}\u{e0041}\u{2028}\r\u{7f}\nhint: forged";

fn hostile_project(world: &World) -> PathBuf {
    let project = world.hermetic.root().join(format!("project {HOSTILE}"));
    fs::create_dir_all(project.join(".claude")).unwrap();
    project
}

fn play_turns(world: &World) {
    let project = hostile_project(world);
    let call =
        json!({"tool_name": HOSTILE, "tool_use_id": "c1", "tool_input": {"command": HOSTILE}});
    for (event, more) in [
        ("SessionStart", json!({"source": "startup", "model": HOSTILE})),
        ("UserPromptSubmit", json!({"prompt": HOSTILE, "prompt_id": "q1"})),
        ("StopFailure", json!({"error": HOSTILE, "prompt_id": "q1"})),
        ("UserPromptSubmit", json!({"prompt": HOSTILE, "prompt_id": "q2"})),
        ("Stop", json!({"last_assistant_message": HOSTILE, "prompt_id": "q2"})),
        ("UserPromptSubmit", json!({"prompt": HOSTILE, "prompt_id": "q3"})),
        ("PreToolUse", call.clone()),
        ("PermissionRequest", call.clone()),
    ] {
        let mut payload = payload(event, more);
        payload["cwd"] = json!(project);
        payload["permission_mode"] = json!(HOSTILE);
        payload["transcript_path"] = json!(format!("/t/{HOSTILE}"));
        world.status(&payload);
    }
}

fn fill_queues(world: &World) {
    let paths = StatePaths::below(&world.hermetic.state_dir());
    let now = clock::now();
    let key = SessionKey::of("claude", SESSION).unwrap();
    let turns = turn_store::read_turns(&paths, &key);
    let notice = Notice::of_turn("claude-n1".to_owned(), &turns[0], Some(HOSTILE.to_owned()));
    outbox::queue(&paths, &notice).unwrap();
    let progress =
        NoticeProgress { last_error: Some(HOSTILE.to_owned()), ..NoticeProgress::default() };
    outbox::save_progress(&paths, "claude-n1", &ChannelName::SLACK, &progress).unwrap();
    let uuid = "0b7c4e6a-51a5-4d0e-9c3e-3f1f8f2f5a01".to_owned();
    let to = ReplyTo { key: key.clone(), cwd: Some(HOSTILE.to_owned()) };
    inbox::accept(&paths, &Reply::from_board(uuid, HOSTILE.to_owned(), to, now), now).unwrap();
    let route = Route {
        turn_id: Some(HOSTILE.to_owned()),
        cwd: Some(HOSTILE.to_owned()),
        machine: Some(HOSTILE.to_owned()),
        ..Route::new("D1", "1700000000.000100", key, now)
    };
    routes::append(&paths, &route).unwrap();
    let entry = json!({"ts": now.to_string(), "level": "warn", "message": HOSTILE, "cwd": HOSTILE});
    let garbage = HOSTILE.replace('\n', " ");
    fs::write(paths.daemon_log(), format!("{entry}\n{garbage}\n")).unwrap();
}

/// Writes other programs' files, and the files that the user edits.
fn write_files(world: &World) -> PathBuf {
    let settings = world.hermetic.claude_config_dir().join("settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let shown_raw = HOSTILE.replace(|c: char| c < ' ', "");
    fs::write(settings, format!("{{\n  \"{shown_raw}\": 1\n}}\n")).unwrap();
    let codex = world.hermetic.codex_home().join("config.toml");
    fs::create_dir_all(codex.parent().unwrap()).unwrap();
    let in_toml = shown_raw.replace('\u{7f}', "");
    fs::write(codex, format!("notify = [\"{in_toml}\"]\n\"{in_toml}\" = 1\n")).unwrap();
    world.configure(&format!(
        "[gate]\nenabled = false\n\"{in_toml}\" = 1\n[voice]\nen = \"\u{202e}\u{200b}\"\n"
    ));
    let rollout = world.hermetic.root().join("rollout.jsonl");
    let meta = json!({"type": "session_meta", "payload": {"id": HOSTILE, "cwd": HOSTILE, "cli_version": HOSTILE}});
    let said =
        json!({"type": "event_msg", "payload": {"type": "user_message", "message": HOSTILE}});
    let other = json!({"type": HOSTILE, "payload": {"type": HOSTILE}});
    let event = json!({"type": "event_msg", "payload": {"type": HOSTILE}});
    fs::write(&rollout, format!("{meta}\n{said}\n{other}\n{event}\n")).unwrap();
    rollout
}

#[track_caller]
fn check_printed(arguments: &[&str], stream: &str, bytes: &[u8]) {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    assert_eq!(text, visible(&text), "{stream} of {arguments:?}");
    let is_forged = text.lines().any(|line| line.starts_with("hint: forged"));
    assert!(!is_forged, "{stream} of {arguments:?}: {text}");
}

#[test]
fn no_text_of_others_acts_on_a_terminal() {
    let world = World::new();
    play_turns(&world);
    let rollout = write_files(&world);
    fill_queues(&world);
    let rollout = rollout.to_str().unwrap();
    let project = hostile_project(&world);
    fs::write(project.join(".claude/settings.json"), r#"{"sandbox":{"enabled":true}}"#).unwrap();
    let mut shows_something = 0;
    for arguments in [
        &["sessions"][..],
        &["sessions", "--all", "--json"],
        &["sessions", "--format-each", "{tool} {project} {state} {prompt}"],
        &["sessions", "show", &SESSION[..8]],
        &["sessions", "show", &SESSION[..8], "--json"],
        &["sessions", "show", HOSTILE],
        &["focus", &SESSION[..8], "--print"],
        &["focus", &SESSION[..8], "--print", "--json"],
        &["focus", HOSTILE],
        &["outbox"],
        &["outbox", "--json"],
        &["outbox", "show", "n1"],
        &["outbox", "show", "n1", "--json"],
        &["outbox", "show", HOSTILE],
        &["inbox"],
        &["inbox", "--json"],
        &["inbox", "drop", HOSTILE],
        &["routes"],
        &["routes", "--json"],
        &["logs"],
        &["logs", "--json"],
        &["pane", "list"],
        &["codex", "state", rollout, "--trace"],
        &["codex", "state", rollout, "--trace", "--json"],
        &["codex", "state", HOSTILE],
        &["codex", "classify", "--json", "--", "codex", "resume", HOSTILE],
        &["codex", "notify"],
        &["codex", "notify", "apply", "--dry-run"],
        &["hooks", "apply", "--form", "exec", "--dry-run"],
        &["hooks", "status", "--form", "exec"],
        &["gate"],
        &["gate", "explain"],
        &["gate", "explain", "--json"],
        &["voice"],
        &["voice", "--json"],
        &["doctor", "--offline"],
        &["doctor", "--offline", "--json"],
        &["run", "--", HOSTILE],
        &["speak", "--output", "/nowhere/\u{202e}/x.wav", HOSTILE],
    ] {
        let mut command = world.command("turnbridge");
        let output = command.args(arguments).current_dir(&project).output().unwrap();
        check_printed(arguments, "stdout", &output.stdout);
        check_printed(arguments, "stderr", &output.stderr);
        let printed = [output.stdout, output.stderr].concat();
        shows_something += usize::from(String::from_utf8_lossy(&printed).contains("\\u202e"));
    }
    // Otherwise the texts would have been in the wrong places.
    assert!(shows_something > 25, "{shows_something}");
}

#[test]
fn every_change_that_watch_tells_is_free_of_them_too() {
    let world = World::new();
    play_turns(&world);
    let mut command = world.command("turnbridge");
    command.args(["watch", "--json"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines: Vec<_> = BufReader::new(child.stdout.take().unwrap()).lines().take(1).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    let line = lines.into_iter().next().unwrap().unwrap();
    check_printed(&["watch", "--json"], "stdout", line.as_bytes());
    let told: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert!(told.to_string().contains("\u{202e}"), "{told}");
}
