//! Tests hooks that are killed, or whose session's lock another process holds: the turn still makes
//! one notice and one record, as soon as any process recovers it.

use std::fs;
use std::path::PathBuf;
use std::process::Output;
use std::time::Duration;

use serde_json::{Value, json};
use turnbridge_store::files::file_lock::FileLock;

use crate::support::world::{SESSION, World, assert_silent_success, feed, lines_of, payload};

const TIMEOUT: Duration = Duration::from_secs(30);

/// Every point at which a Stop hook may be killed after its first write, in order.
const PLACES: [&str; 11] = [
    "announced",
    "judged",
    "locked",
    "applied",
    "notice written",
    "notice linked",
    "notice queued",
    "recorded",
    "saved",
    "woken",
    "settled",
];

const CONFIG: &str = "[slack]
bot_token = \"xoxb-loopback-bot\"
[destinations.dm]
enabled = true
target_user_id = \"U0OWNER\"
[gate]
enabled = false
";

/// A world whose turns make notices, which no process delivers.
struct Killing {
    world: World,
    /// Hooks see a running daemon, and start no notifier.
    _daemon: FileLock,
}

impl Killing {
    fn new() -> Killing {
        let world = World::new();
        world.configure(CONFIG);
        let lock = world.hermetic.state_dir().join("daemon.lock");
        let daemon = FileLock::acquire(&lock, TIMEOUT).unwrap();
        Killing { world, _daemon: daemon }
    }

    fn prompt(&self) {
        let prompt = json!({"prompt": "fix it", "prompt_id": "p1"});
        self.world.status(&payload("UserPromptSubmit", prompt));
    }

    fn stop(&self, origin: &str, kill_at: Option<&str>) -> Output {
        let mut command = self.world.command("turnbridge-stop-gate");
        command.args(["--origin", origin]);
        if let Some(place) = kill_at {
            command.env("TURNBRIDGE_TEST_KILL_AT", place);
        }
        let stop = json!({"last_assistant_message": "It is fixed.", "prompt_id": "p1"});
        feed(command, payload("Stop", stop).to_string().as_bytes())
    }

    #[track_caller]
    fn kill_stop_at(&self, place: &str) {
        let output = self.stop("plugin", Some(place));
        assert_ne!(output.status.code(), Some(0), "not killed at `{place}`");
    }

    /// Returns prompts and answers of the waiting notices.
    fn notices(&self) -> Vec<Value> {
        let list = self.world.turnbridge(&["outbox", "--json"]);
        let list: Value = serde_json::from_str(&list).unwrap();
        let ids = list["notices"].as_array().unwrap().clone();
        let show = |notice: &Value| {
            let id = notice["id"].as_str().unwrap();
            let shown = self.world.turnbridge(&["outbox", "show", id, "--json"]);
            let shown: Value = serde_json::from_str(&shown).unwrap();
            json!([shown["notice"]["prompt"], shown["notice"]["answers"]])
        };
        ids.iter().map(show).collect()
    }

    fn records(&self) -> Vec<Value> {
        let turns = self.world.hermetic.state_dir().join("turns");
        let path = turns.join(format!("claude-{SESSION}.jsonl"));
        let records = lines_of(&fs::read_to_string(path).unwrap_or_default());
        records.iter().map(|record| json!([record["prompt"], record["answer"]])).collect()
    }

    #[track_caller]
    fn assert_told_and_recorded_once(&self, what: &str) {
        assert_eq!(self.notices(), [json!(["fix it", ["It is fixed."]])], "{what}");
        assert_eq!(self.records(), [json!(["fix it", "It is fixed."])], "{what}");
        let pending = fs::read_dir(self.world.hermetic.state_dir().join("pending")).unwrap();
        assert_eq!(pending.count(), 0, "{what}");
    }

    /// Returns the file of the only notice in the outbox.
    fn notice_file(&self) -> PathBuf {
        let outbox = self.world.hermetic.state_dir().join("outbox");
        let mut files = fs::read_dir(outbox).unwrap().map(|file| file.unwrap().path());
        files.find(|path| path.extension().is_some_and(|end| end == "json")).unwrap()
    }

    fn state(&self) -> Value {
        self.world.sessions()[0]["state"].clone()
    }
}

#[test]
fn a_stop_hook_killed_at_any_point_is_made_up_for_by_whoever_looks_next() {
    for place in PLACES {
        let killing = Killing::new();
        killing.prompt();
        killing.kill_stop_at(place);
        assert_eq!(killing.state(), "completed", "{place}");
        killing.assert_told_and_recorded_once(place);
    }
}

#[test]
fn the_next_hook_makes_up_for_a_killed_one_and_keeps_its_own_state() {
    for place in PLACES {
        let killing = Killing::new();
        killing.prompt();
        killing.kill_stop_at(place);
        let next = json!({"prompt": "and now that", "prompt_id": "p2"});
        killing.world.status(&payload("UserPromptSubmit", next));
        killing.assert_told_and_recorded_once(place);
        assert_eq!(killing.state(), "working", "{place}");
        let sessions = killing.world.sessions();
        assert_eq!(sessions[0]["prompt"], "and now that", "{place}: {sessions:?}");
    }
}

#[test]
fn the_other_registration_of_a_killed_hook_adds_nothing() {
    for place in PLACES {
        let killing = Killing::new();
        killing.prompt();
        killing.kill_stop_at(place);
        assert_silent_success(&killing.stop("settings", None));
        killing.assert_told_and_recorded_once(place);
        assert_eq!(killing.state(), "completed", "{place}");
    }
}

/// The agent treats a killed hook as a yes: the turn has ended.
#[test]
fn a_gate_that_was_killed_before_it_could_hold_the_turn_has_not_held_it() {
    for place in ["announced", "judged", "locked", "saved", "woken"] {
        let killing = Killing::new();
        killing.world.configure(&CONFIG.replace("enabled = false", "enabled = true"));
        killing.prompt();
        killing.kill_stop_at(place);
        assert_eq!(killing.state(), "completed", "{place}");
        killing.assert_told_and_recorded_once(place);
    }
}

#[test]
fn a_session_lock_that_is_held_costs_neither_the_notice_nor_the_record() {
    let killing = Killing::new();
    killing.prompt();
    let lock = killing.world.session_file(SESSION).with_extension("lock");
    let held = FileLock::acquire(&lock, TIMEOUT).unwrap();
    assert_silent_success(&killing.stop("plugin", None));
    assert_eq!(killing.notices(), [json!(["fix it", ["It is fixed."]])]);
    assert_eq!((killing.records().len(), killing.state()), (0, json!("working")));
    drop(held);
    assert_eq!(killing.state(), "completed");
    killing.assert_told_and_recorded_once("the lock is free");
}

/// Otherwise the next Stop would look like one whose notice was sent before.
#[test]
fn a_turn_that_cannot_be_noted_as_held_is_not_held() {
    let killing = Killing::new();
    killing.world.configure(&CONFIG.replace("enabled = false", "enabled = true"));
    killing.prompt();
    let lock = killing.world.session_file(SESSION).with_extension("lock");
    let held = FileLock::acquire(&lock, TIMEOUT).unwrap();
    assert_silent_success(&killing.stop("plugin", None));
    drop(held);
    assert_eq!(killing.state(), "completed");
    killing.assert_told_and_recorded_once("the lock is free");
}

/// Sent again from its beginning, what has arrived would arrive twice.
#[test]
fn a_notice_whose_progress_cannot_be_read_waits_for_a_person_and_is_listed() {
    let killing = Killing::new();
    killing.prompt();
    assert_silent_success(&killing.stop("plugin", None));
    let notice = killing.notice_file();
    let progress = notice.with_extension("slack.progress");
    fs::write(&progress, "{").unwrap();
    let shown = killing.world.turnbridge(&["outbox"]);
    let listed = format!("`{}` cannot be read, and its notice waits for you\n", progress.display());
    assert_eq!(shown, listed);
    let list = killing.world.turnbridge(&["outbox", "--json"]);
    let list: Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list["unreadable"], json!([progress]));
}

#[test]
fn a_whole_notice_that_is_not_in_its_place_is_adopted_and_half_of_one_is_not() {
    let killing = Killing::new();
    killing.prompt();
    assert_silent_success(&killing.stop("plugin", None));
    let notice = killing.notice_file();
    let outbox = notice.parent().unwrap();
    let bytes = fs::read(&notice).unwrap();
    // The state of a writer that was killed before it could link the file.
    fs::rename(&notice, notice.with_extension("123.new")).unwrap();
    fs::write(outbox.join("claude-half.124.new"), &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(killing.notices().len(), 0);
    killing.world.sessions();
    killing.assert_told_and_recorded_once("adopted");
    assert!(outbox.join("claude-half.124.new").exists());
}

/// No file is written before that point, and only the agent's transcript contains the end.
#[test]
fn a_hook_killed_before_it_could_write_anything_leaves_the_session_at_work() {
    let killing = Killing::new();
    killing.prompt();
    killing.kill_stop_at("received");
    assert_eq!((killing.records().len(), killing.state()), (0, json!("working")));
}

#[test]
fn an_answer_has_no_other_turns_prompt_when_the_hook_of_its_own_was_killed() {
    let killing = Killing::new();
    killing.prompt();
    // Esc; the next prompt's hook is killed; then its turn ends.
    let stop = json!({"last_assistant_message": "Something else.", "prompt_id": "p2"});
    killing.world.status(&payload("Stop", stop));
    assert_eq!(killing.records(), [json!([null, "Something else."])]);
    assert_eq!(killing.notices(), [json!([null, ["Something else."]])]);
}
