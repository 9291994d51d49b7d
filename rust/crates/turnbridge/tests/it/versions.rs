//! Tests executables of two versions on one state folder: files of an older version are read and
//! continued; files of a newer version stay unchanged, with a message. Also tests `--version
//! --json`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::schemas;
use crate::support::world::{PROGRAMS, SESSION, World, lines_of, payload};

const NEWER: &str = "written by a newer version of Turnbridge, and left as it is";

impl World {
    /// Writes a file into the state folder; returns its path.
    fn keep(&self, name: &str, text: &str) -> PathBuf {
        let path = self.hermetic.state_dir().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn log(&self, name: &str) -> Vec<Value> {
        let path = self.hermetic.state_dir().join("logs").join(name);
        lines_of(&fs::read_to_string(path).unwrap_or_default())
    }

    /// Returns the output of a command that fails.
    #[track_caller]
    fn fails(&self, arguments: &[&str]) -> String {
        let output = self.command("turnbridge").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    }
}

#[track_caller]
fn assert_text(path: &Path, expected: &str) {
    assert_eq!(fs::read_to_string(path).unwrap(), expected);
}

#[test]
fn all_four_tell_their_version_to_programs() {
    let world = World::new();
    for program in PROGRAMS {
        let output = world.command(program).args(["--version", "--json"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        schemas::check("version", &told);
        let expected = json!({
            "version": 1,
            "name": program,
            "program_version": env!("CARGO_PKG_VERSION"),
            "state_version": 1,
            "os": std::env::consts::OS,
            "arch": std::env::consts::ARCH,
        });
        assert_eq!(told, expected);
        let output = world.command(program).arg("--version").output().unwrap();
        let plain = format!("{program} {}\n", env!("CARGO_PKG_VERSION"));
        assert_eq!(String::from_utf8(output.stdout).unwrap(), plain);
    }
    assert!(!world.command("turnbridge").arg("--json").output().unwrap().status.success());
}

#[test]
fn a_session_of_a_newer_version_is_left_alone_and_hosts_are_told_all_the_same() {
    let world = World::new();
    let host = world.hermetic.root().join("host");
    let world =
        world.with("TVINE_PROJECT_DIR", host.to_str().unwrap()).with("TVINE_SESSION_ID", "s");
    let newer = format!(r#"{{"version":2,"tool":"claude","session_id":"{SESSION}","runs":{{}}}}"#);
    let path = world.keep(&format!("sessions/claude-{SESSION}.json"), &newer);
    world.status(&payload("UserPromptSubmit", json!({"prompt": "x"})));
    world.status(&payload("Stop", json!({"last_assistant_message": "y"})));
    assert_text(&path, &newer);
    assert!(!world.hermetic.state_dir().join("turns").exists());
    let status = fs::read(host.join("sessions/s/status.json")).unwrap();
    let status: Value = serde_json::from_slice(&status).unwrap();
    assert_eq!((&status["status"], &status["event"]), (&json!("Idle"), &json!("Stop")));
    let log = world.hooks_log();
    assert_eq!(log.len(), 2, "{log:#?}");
    assert!(log.iter().all(|entry| entry.to_string().contains(NEWER)), "{log:#?}");
    // Other files in the same folder are read as before.
    world.status(&payload("UserPromptSubmit", json!({"prompt": "x", "session_id": "other"})));
    assert_eq!(world.sessions().len(), 1);
}

#[test]
fn panes_and_what_settings_were_before_are_not_lost_to_an_older_version() {
    let world = World::new();
    let panes = r#"{"version":2,"panes":{"a":1}}"#;
    let path = world.keep("panes.json", panes);
    assert!(world.turnbridge(&["pane", "list", "--json"]).contains("\"panes\":[]"));
    let said = world.fails(&["pane", "launch", "--pane", "kitty:1", "--", "codex"]);
    assert!(said.contains(NEWER), "{said}");
    assert_text(&path, panes);

    let settings = world.hermetic.claude_config_dir().join("settings.json");
    fs::write(&settings, "{}\n").unwrap();
    world.turnbridge(&["hooks", "apply", "--form", "exec", "--yes"]);
    let applied = fs::read_to_string(&settings).unwrap();
    let records = fs::read_dir(world.hermetic.state_dir().join("foreign")).unwrap();
    let mut records = records.map(|file| file.unwrap().path());
    let record = records.find(|path| path.extension().is_some_and(|end| end == "json")).unwrap();
    let newer = fs::read_to_string(&record).unwrap().replace("\"version\":1", "\"version\":2");
    fs::write(&record, &newer).unwrap();
    for arguments in [&["hooks", "apply", "--gate", "--yes"][..], &["hooks", "remove", "--yes"]] {
        let said = world.fails(arguments);
        assert!(said.contains(NEWER), "{arguments:?}: {said}");
    }
    assert_text(&record, &newer);
    assert_text(&settings, &applied);
}

#[test]
fn a_notice_and_a_reply_of_a_newer_version_wait_for_it() {
    let world = World::new();
    world.configure("[slack]\nbot_token = 'xoxb-1'\n[destinations.dm]\ntarget_user_id = 'U1'\n");
    let world = world.with("TURNBRIDGE_SLACK_API_URL", "http://127.0.0.1:9/");
    let notice = r#"{"version":2,"id":"n1","kind":"turn"}"#;
    let notice_path = world.keep("outbox/n1.json", notice);
    let reply = r#"{"version":2,"id":"r1","text":"go"}"#;
    let reply_path = world.keep("inbox/r1.json", reply);
    world.hook("turnbridge-notify", &["--deliver"], b"");
    for (command, key) in [("outbox", "notices"), ("inbox", "replies")] {
        let list: Value = serde_json::from_str(&world.turnbridge(&[command, "--json"])).unwrap();
        assert_eq!(list[key], json!([]), "{list}");
    }
    assert!(world.fails(&["run-reply", "r1"]).contains("no reply `r1` waits"));
    let begun =
        r#"{"version":1,"id":"n2","kind":"turn","created_at":"","tool":"claude","session_id":"s"}"#;
    let begun_path = world.keep("outbox/n2.json", begun);
    world.keep("outbox/n2.slack.progress", r#"{"version":2}"#);
    for id in ["n1", "n2"] {
        assert!(world.fails(&["outbox", "drop", id]).contains("newer version"));
    }
    assert_text(&begun_path, begun);
    assert_text(&notice_path, notice);
    assert_text(&reply_path, reply);
    let log = world.log("notify.log");
    assert!(log.iter().any(|entry| entry.to_string().contains(NEWER)), "{log:#?}");
}

/// A later version may add fields and words within the same version of a file.
#[test]
fn what_is_unknown_in_a_file_of_this_version_is_skipped() {
    let world = World::new();
    world.status(&payload("UserPromptSubmit", json!({"prompt": "first"})));
    let path = world.session_file(SESSION);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("{\"version\":1", "{\"colour\":{\"a\":[1]},\"version\":1", 1))
        .unwrap();
    world.status(&payload("Stop", json!({"last_assistant_message": "done"})));
    let sessions = world.sessions();
    assert_eq!(sessions[0]["state"], "completed", "{sessions:#?}");
    assert_eq!(world.hooks_log(), Vec::<Value>::new());
}

/// A state folder of 0.1.0: one session in its second turn, a notice, a reply, routes and panes.
/// Every later version must read and continue it.
#[test]
fn the_files_of_0_1_0_are_read_and_gone_on_with() {
    let world = World::new();
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/state-0.1.0");
    copy(&recorded, &world.hermetic.state_dir());
    let json = |arguments: &[&str]| -> Value {
        serde_json::from_str(&world.turnbridge(arguments)).unwrap()
    };
    let shown = json(&["sessions", "show", SESSION, "--json"]);
    let turn = json!(["Make the retry policy one thing.", "Done: `Retry` is the only place."]);
    assert_eq!(json!([shown["turns"][0]["prompt"], shown["turns"][0]["answer"]]), turn);
    assert_eq!(json(&["outbox", "--json"])["notices"].as_array().unwrap().len(), 1);
    assert_eq!(json(&["inbox", "--json"])["replies"][0]["text"], "and the tests");
    assert_eq!(json(&["routes", "--json"])["routes"][0]["session_id"], SESSION);
    assert_eq!(json(&["pane", "list", "--json"])["panes"][0]["pane"], "kitty:7");
    world.status(&payload("UserPromptSubmit", json!({"prompt": "third", "prompt_id": "p3"})));
    world.status(&payload("Stop", json!({"last_assistant_message": "3", "prompt_id": "p3"})));
    let shown = json(&["sessions", "show", SESSION, "--json"]);
    assert_eq!(shown["session"]["state"], "completed", "{shown:#}");
    assert_eq!(shown["turns"].as_array().unwrap().len(), 2, "{shown:#}");
    assert_eq!(world.hooks_log(), Vec::<Value>::new());
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}
