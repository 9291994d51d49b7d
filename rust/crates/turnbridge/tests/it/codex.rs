//! Tests `turnbridge codex` and Codex's hooks: the state of a thread as Codex's own files, its lock
//! and its hooks show it.

use std::fs;
use std::io::Write;

use serde_json::{Value, json};

use crate::support::world::{World, lines_of};

const ROLLOUTS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../turnbridge-core/testdata/codex/rollouts");

fn rollout(name: &str) -> String {
    format!("{ROLLOUTS}/{name}.jsonl")
}

#[test]
fn every_recorded_rollout_shows_its_state() {
    let world = World::new();
    let states = fs::read_to_string(format!("{ROLLOUTS}/FINAL-STATES.txt")).unwrap();
    for (name, expected) in states.lines().filter_map(|line| line.split_once(' ')) {
        let shown = world.turnbridge(&["codex", "state", &format!("{ROLLOUTS}/{name}")]);
        assert_eq!(shown, format!("{expected}\n"), "{name}");
    }
}

#[test]
fn json_names_the_thread_its_root_and_its_prompt() {
    let world = World::new();
    let state = |name: &str| -> Value {
        serde_json::from_str(&world.turnbridge(&["codex", "state", "--json", &rollout(name)]))
            .unwrap()
    };
    assert_eq!(
        state("err500"),
        json!({
            "version": 1,
            "state": "failed",
            "live": null,
            "error": "internal_server_error",
            "thread_id": "01a1e176-ae20-78d1-8f3a-b37611a5645c",
            "root_id": "01a1e176-ae20-78d1-8f3a-b37611a5645c",
            "kind": "user",
            "cli_version": "0.166.0",
            "cwd": "/home/user/project",
            "turn_id": "01a1e176-ae54-7951-8c11-207923e8dcab",
            "prompt": "[[err500]] hi",
            "answer": null,
        })
    );
    let child = state("spawn-sub1");
    assert_eq!(child["kind"], "subagent");
    assert_eq!(child["root_id"], state("spawn")["thread_id"]);
    assert_ne!(child["root_id"], child["thread_id"]);
}

#[test]
fn the_trace_shows_which_line_made_the_state() {
    let world = World::new();
    let trace = world.turnbridge(&["codex", "state", "--trace", &rollout("ask")]);
    insta::assert_snapshot!(trace.replace('\t', " "), @"
    1 session_meta none
    2 task_started working
    3 message working
    4 message working
    5 world_state working
    6 turn_context working
    7 thread_settings_applied working
    8 message working
    9 item_completed working
    10 function_call waiting_user
    11 token_usage_record waiting_user
    12 function_call_output working
    13 token_count working
    14 item_completed working
    15 message working
    16 token_usage_record working
    17 token_count working
    18 task_complete completed
    completed
    ");
    let json = world.turnbridge(&["codex", "state", "--trace", "--json", &rollout("ask")]);
    let lines = lines_of(&json);
    assert_eq!(lines[9], json!({"line": 10, "record": "function_call", "state": "waiting_user"}));
    assert_eq!(lines.last().unwrap()["state"], "completed");
}

#[test]
fn a_thread_is_found_by_its_id_also_when_it_is_archived() {
    let world = World::new();
    let id = "01a1e176-ae20-78d1-8f3a-b37611a5645c";
    for folder in ["sessions/2026/11/15", "archived_sessions"] {
        let home = world.hermetic.codex_home();
        let folder = home.join(folder);
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join(format!("rollout-2026-11-15T23-06-53-{id}.jsonl"));
        fs::copy(rollout("err500"), &file).unwrap();
        assert_eq!(world.turnbridge(&["codex", "state", id]), "failed\n");
        fs::remove_file(file).unwrap();
    }
    let output = world.command("turnbridge").args(["codex", "state", id]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.starts_with("error: no rollout of thread"), "{error}");
    assert!(error.contains("hint: "), "{error}");

    let output = world.command("turnbridge").args(["codex", "state", "../x"]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.starts_with("error: there is no file `../x`"), "{error}");
}

#[test]
fn json_tells_whether_a_codex_has_the_thread_open() {
    let world = World::new();
    let home = world.hermetic.codex_home();
    let id = "01a1e176-ae20-78d1-8f3a-b37611a5645c";
    let folder = home.join("sessions/2026/11/15");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("rollout-2026-11-15T23-06-53-{id}.jsonl"));
    fs::copy(rollout("err500"), &file).unwrap();
    let live = |thread: &str| {
        let shown = world.turnbridge(&["codex", "state", "--json", thread]);
        serde_json::from_str::<Value>(&shown).unwrap()["live"].clone()
    };
    assert_eq!(live(id), Value::Null, "a Codex that makes no locks");
    let locks = home.join("thread-writer-locks");
    fs::create_dir(&locks).unwrap();
    assert_eq!(live(id), false);
    let owner = fs::File::create(locks.join(format!("{id}.lock"))).unwrap();
    owner.try_lock().unwrap();
    // Under wine the check is impossible, because every process can read a locked file.
    let expected = if cfg!(windows) { live(id) } else { json!(true) };
    assert_ne!(expected, false);
    assert_eq!(live(id), expected);
    assert_eq!(live(file.to_str().unwrap()), expected, "a file in its home");
    assert_eq!(live(&rollout("err500")), Value::Null, "a file elsewhere");
    assert_eq!(world.turnbridge(&["codex", "state", id]), "failed\n");
}

/// Under wine the holder of a lock is unknown.
#[cfg(not(windows))]
#[test]
fn an_open_turn_that_is_older_than_what_holds_its_thread_is_stopped() {
    let world = World::new();
    let home = world.hermetic.codex_home();
    let id = "01a1e176-ae20-78d1-8f3a-b37611a5645c";
    let folder = home.join("sessions/2026/11/15");
    fs::create_dir_all(&folder).unwrap();
    let text = fs::read_to_string(rollout("err500")).unwrap();
    let open: Vec<&str> = text.lines().take_while(|line| !line.contains("task_complete")).collect();
    let file = folder.join(format!("rollout-2026-11-15T23-06-53-{id}.jsonl"));
    fs::write(&file, open.join("\n") + "\n").unwrap();
    let locks = home.join("thread-writer-locks");
    fs::create_dir(&locks).unwrap();
    let owner = fs::File::create(locks.join(format!("{id}.lock"))).unwrap();
    let shown = || world.turnbridge(&["codex", "state", id]);
    assert_eq!(shown(), "working\n", "killed, and nobody has it open");
    owner.try_lock().unwrap();
    assert_eq!(shown(), "stopped\n");
    let trace = world.turnbridge(&["codex", "state", id, "--trace"]);
    assert!(trace.trim_end().ends_with("\tworking\nstopped"), "what the lines say: {trace}");
    // This time is that of the process that began the turn.
    owner.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(shown(), "working\n");
    // An ended turn cannot be abandoned.
    fs::write(&file, text).unwrap();
    owner.set_modified(std::time::SystemTime::now()).unwrap();
    assert_eq!(shown(), "failed\n");
}

#[test]
fn damage_is_read_over() {
    let world = World::new();
    let path = world.hermetic.root().join("damaged.jsonl");
    let shown = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        world.turnbridge(&["codex", "state", path.to_str().unwrap()])
    };
    assert_eq!(shown(b""), "none\n");
    assert_eq!(shown(b"\n\xff\xfe\n{\"type\":\n"), "none\n");
    let text = fs::read(rollout("plain")).unwrap();
    let first = text.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    assert_eq!(shown(&text[..first]), "none\n");
    let half = text.windows(13).position(|window| window == b"task_complete").unwrap();
    assert_eq!(shown(&text[..half]), "working\n");
    assert_eq!(shown(text.trim_ascii_end()), "completed\n", "its last line has no line break");
}

#[test]
fn a_line_of_fifty_megabytes_is_read_over() {
    let world = World::new();
    let path = world.hermetic.root().join("huge.jsonl");
    let text = fs::read_to_string(rollout("plain")).unwrap();
    let end = text.lines().position(|line| line.contains("\"task_complete\"")).unwrap();
    let mut file = fs::File::create(&path).unwrap();
    for (number, line) in text.lines().enumerate() {
        if number == end {
            file.write_all(
                br#"{"type":"response_item","payload":{"type":"function_call_output","output":""#,
            )
            .unwrap();
            file.write_all(&vec![b'x'; 50 << 20]).unwrap();
            file.write_all(b"\"}}\n").unwrap();
        }
        writeln!(file, "{line}").unwrap();
    }
    drop(file);
    let trace = world.turnbridge(&["codex", "state", "--trace", path.to_str().unwrap()]);
    let huge = format!("{}\tfunction_call_output\tworking\n", end + 1);
    assert!(trace.contains(&huge), "{trace}");
    assert!(trace.ends_with("\ncompleted\n"), "{trace}");
}

#[test]
fn a_command_line_is_told_by_what_it_starts() {
    let world = World::new();
    let classify = |argv: &[&str]| world.turnbridge(&[&["codex", "classify", "--"], argv].concat());
    assert_eq!(classify(&["codex", "fix it"]), "tui\n");
    assert_eq!(classify(&["codex", "--", "exec"]), "tui\n");
    assert_eq!(classify(&["vim", "resume"]), "other\n", "KT-59");
    assert_eq!(classify(&["codex", "-m", "gpt-5", "exec", "fix it"]), "other\n");
    let id = "01a1e176-ae20-78d1-8f3a-b37611a5645c";
    let shown =
        world.turnbridge(&["codex", "classify", "--json", "--", "codex", "resume", id, "--search"]);
    assert_eq!(
        serde_json::from_str::<Value>(&shown).unwrap(),
        json!({"version": 1, "tui": true, "subcommand": "resume", "session_id": id})
    );
}

const HOOKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../turnbridge-core/testdata/codex/hooks");

/// Sends a recorded payload to the status hook, as Codex's plugin calls it.
fn hook(world: &World, recording: &str) {
    let payload = fs::read(format!("{HOOKS}/{recording}.json")).unwrap();
    world.hook("turnbridge-status", &["--tool", "codex", "--origin", "plugin"], &payload);
}

#[test]
fn hooks_of_codex_drive_the_same_status_writer() {
    let world = World::new();
    let state = || {
        let list: Value =
            serde_json::from_str(&world.turnbridge(&["sessions", "--json", "--all"])).unwrap();
        let session = &list["sessions"][0];
        assert_eq!(session["tool"], "codex");
        let detail = session["detail"].as_str().unwrap_or("-");
        format!("{}/{detail}", session["state"].as_str().unwrap())
    };
    hook(&world, "UserPromptSubmit");
    assert_eq!(state(), "working/-");
    hook(&world, "Stop");
    assert_eq!(state(), "completed/ok");
    // A sub-agent's event changes neither its own nor its parent's session.
    hook(&world, "PreModelRequest-in-subagent");
    hook(&world, "SubagentStop");
    assert_eq!(state(), "completed/ok");
    let id = "01a1e179-830d-7bf0-87aa-f7dbab72cc73";
    let shown: Value =
        serde_json::from_str(&world.turnbridge(&["sessions", "show", id, "--json"])).unwrap();
    let [turn] = shown["turns"].as_array().unwrap().as_slice() else { panic!("{shown:#}") };
    assert_eq!(turn["prompt"], "[[web]] hi");
    assert_eq!(turn["answer"], "Searched the web.");
    assert_eq!(turn["turn_id"], "01a1e179-8344-7402-a5ca-d7b80f696b26");
}

/// Codex calls its PermissionRequest hooks also when it does not ask the user: its reviewer
/// decides, or the mode allows everything.
#[test]
fn a_request_that_codex_decides_about_without_the_user_waits_for_nobody() {
    for (reviewer, mode, expected) in [
        ("user", "default", "waiting_user"),
        ("auto_review", "default", "working"),
        ("user", "bypassPermissions", "working"),
    ] {
        let world = World::new();
        let path = world.hermetic.root().join("rollout.jsonl");
        let turn = |reviewer: &str| {
            let payload = json!({"turn_id": "t", "approvals_reviewer": reviewer});
            format!("{}\n", json!({"type": "turn_context", "payload": payload}))
        };
        // A command has printed much since the turn began.
        let noise =
            format!("{}\n", json!({"type": "response_item", "payload": "x".repeat(90_000)}));
        fs::write(&path, turn("other") + &turn(reviewer) + &noise).unwrap();
        for recording in ["UserPromptSubmit", "PermissionRequest-Bash"] {
            let payload = fs::read(format!("{HOOKS}/{recording}.json")).unwrap();
            let mut payload: Value = serde_json::from_slice(&payload).unwrap();
            payload["session_id"] = "01a1e17a-547e-7c90-8512-de702bb13cae".into();
            payload["transcript_path"] = path.to_str().unwrap().into();
            payload["permission_mode"] = mode.into();
            let arguments = ["--tool", "codex", "--origin", "plugin"];
            world.hook("turnbridge-status", &arguments, payload.to_string().as_bytes());
        }
        let list = world.turnbridge(&["sessions", "--json", "--all"]);
        let list: Value = serde_json::from_str(&list).unwrap();
        assert_eq!(list["sessions"][0]["state"], expected, "{reviewer} {mode}");
    }
}

/// Codex has no hook for a failed turn, and none for a kill.
#[test]
fn what_no_hook_of_codex_tells_is_seen_in_the_rollout_and_by_the_lock() {
    let world = World::new().with("TURNBRIDGE_NOW", "1700000000000000");
    let home = world.hermetic.codex_home();
    let id = "01a1e176-ae20-78d1-8f3a-b37611a5645c";
    let folder = home.join("sessions/2026/11/15");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("rollout-2026-11-15T23-06-53-{id}.jsonl"));
    let tell = |event: &str| {
        let payload = json!({
            "session_id": id, "turn_id": "01a1e176-ae54-7951-8c11-207923e8dcab",
            "hook_event_name": event, "transcript_path": path, "prompt": "go",
        });
        let arguments = ["--tool", "codex", "--origin", "plugin"];
        world.hook("turnbridge-status", &arguments, payload.to_string().as_bytes());
    };
    let shown = || {
        let list: Value =
            serde_json::from_str(&world.turnbridge(&["sessions", "--json", "--all"])).unwrap();
        let session = &list["sessions"][0];
        format!("{} {}", session["state"].as_str().unwrap(), session["error"])
    };
    tell("UserPromptSubmit");
    assert_eq!(shown(), "working null", "no rollout, no lock: nothing is known");
    // The recording is of a later day than the hook.
    fs::copy(rollout("err500"), &path).unwrap();
    assert_eq!(shown(), "completed \"internal_server_error\"");
    let open = fs::read_to_string(rollout("kill-tool")).unwrap();
    fs::write(&path, open).unwrap();
    assert_eq!(shown(), "working null");
    let locks = home.join("thread-writer-locks");
    fs::create_dir_all(&locks).unwrap();
    let lock = fs::File::create(locks.join(format!("{id}.lock"))).unwrap();
    lock.lock().unwrap();
    // The lock of the process that began the turn; then of another, which has opened the thread
    // since.
    lock.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(shown(), "working null");
    lock.set_modified(std::time::SystemTime::now()).unwrap();
    // Under wine the holder of a lock is unknown.
    let expected = if cfg!(windows) { "working null" } else { "stopped null" };
    assert_eq!(shown(), expected);
    lock.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(shown(), "working null");
    drop(lock);
    assert_eq!(shown(), "stopped null");
}
