//! Tests `turnbridge demo`: its sessions, its answers to replies, and that it leaves no file, no
//! process and no change behind.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::wait_until;

use crate::board::site::{BoardSite, TIMEOUT};
use crate::support::world::World;

const REPLY: &str = "11111111-2222-4333-8444-555555555551";

/// A running demo, and its board.
struct Demo {
    child: Child,
    site: BoardSite,
    /// All files of its user before the start.
    before: BTreeMap<PathBuf, Vec<u8>>,
}

impl Demo {
    #[track_caller]
    fn start() -> Demo {
        let world = World::new();
        let before = contents(world.hermetic.root());
        let mut command = world.command("turnbridge");
        command.args(["demo", "--no-open"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
        Demo { child, site: BoardSite::at(world, &url), before }
    }

    #[track_caller]
    fn cards(&self) -> Vec<Value> {
        self.site.get("/api/sessions").json()["sessions"].as_array().unwrap().clone()
    }

    /// Waits for such a session, and returns its id.
    #[track_caller]
    fn wait_for(&self, tool: &str, state: &str, detail: &Value) -> String {
        wait_until(TIMEOUT, &format!("a session of {tool}: {state} {detail}"), || {
            let is_it = |card: &Value| {
                card["tool"] == tool && card["state"] == state && card["detail"] == *detail
            };
            let card = self.cards().into_iter().find(is_it)?;
            Some(card["session_id"].as_str().unwrap().to_owned())
        })
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Returns the folders that demos have created.
    fn folders(&self) -> Vec<PathBuf> {
        let temporary = self.site.world.hermetic.root().join("tmp");
        fs::read_dir(temporary).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

/// Ends the demo before its user's home is removed.
impl Drop for Demo {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.signal(Signal::TERM);
            let _ = self.child.wait();
        }
    }
}

#[test]
fn cards_of_both_agents_are_in_every_state() {
    let demo = Demo::start();
    for tool in ["claude", "codex"] {
        demo.wait_for(tool, "working", &Value::Null);
        demo.wait_for(tool, "waiting_user", &Value::Null);
        demo.wait_for(tool, "completed", &json!("ok"));
    }
    demo.wait_for("claude", "completed", &json!("failed"));
    demo.wait_for("claude", "completed", &json!("interrupted"));
}

#[test]
fn a_reply_is_answered_by_either_agent_with_its_own_words_and_the_card_stays() {
    let demo = Demo::start();
    // The second goes by standard input.
    for (tool, number, text) in [("claude", 1, "is it you?"), ("codex", 2, "one\n<two>")] {
        let session = demo.wait_for(tool, "waiting_user", &Value::Null);
        let id = format!("{}{number}", &REPLY[..REPLY.len() - 1]);
        let order = json!({ "id": id, "tool": tool, "session_id": session, "text": text });
        assert_eq!(demo.site.post("/api/replies", &order).json()["accepted"], true);
        let shown = || demo.site.get(&format!("/api/sessions/{tool}/{session}")).json();
        wait_until(TIMEOUT, "a reply that is done", || {
            (shown()["replies"][0]["state"] == "done").then_some(())
        });
        let shown = shown();
        let turn = shown["turns"].as_array().unwrap().last().unwrap();
        assert_eq!(turn["prompt"], text);
        let quoted = format!("You wrote:\n\n> {}\n", text.replace('\n', "\n> "));
        let answer = turn["answer"].as_str().unwrap();
        assert!(answer.starts_with(&quoted) && answer.contains("demo agent"), "{answer}");
        // Its own agent plays no more, but still lives.
        let card = demo.cards().into_iter().find(|card| card["session_id"] == *session).unwrap();
        assert_eq!((&card["state"], &card["detail"]), (&json!("completed"), &json!("ok")));
    }
}

#[test]
fn nothing_is_left_of_it_and_nothing_of_the_users_has_changed() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut demo = Demo::start();
        let root = demo.site.world.hermetic.root().to_owned();
        let session = demo.wait_for("claude", "waiting_user", &Value::Null);
        let order =
            json!({ "id": REPLY, "tool": "claude", "session_id": session, "text": "go on" });
        demo.site.post("/api/replies", &order).json();
        // In the middle of an answer.
        wait_until(TIMEOUT, "a run", || {
            let shown = demo.site.get(&format!("/api/sessions/claude/{session}")).json();
            (shown["open_turn"]["prompt"] == "go on").then_some(())
        });
        assert_eq!(demo.folders().len(), 1);
        if cfg!(target_os = "linux") {
            // The demo, its daemon, seven players, a runner and its agent.
            assert!(processes(&root).len() >= 11, "{:?}", processes(&root));
        }
        demo.signal(signal);
        let status = demo.child.wait().unwrap();
        assert!(status.success(), "{signal:?}: {status:?}");
        assert_eq!(processes(&root), BTreeSet::new(), "{signal:?}");
        assert_eq!(demo.folders(), [""; 0].map(PathBuf::from), "{signal:?}");
        assert_eq!(contents(&root), demo.before, "{signal:?}");
        // The compared files include the user's own config.
        assert_eq!(demo.before.len(), 1);
    }
}

#[test]
fn its_daemon_and_its_agents_end_even_when_it_is_killed() {
    let mut demo = Demo::start();
    let root = demo.site.world.hermetic.root().to_owned();
    demo.wait_for("codex", "working", &Value::Null);
    demo.signal(Signal::KILL);
    demo.child.wait().unwrap();
    wait_until(TIMEOUT, "the end of all", || processes(&root).is_empty().then_some(()));
    assert!(std::net::TcpStream::connect(("127.0.0.1", demo.site.port)).is_err());
}

#[test]
fn after_its_seconds_it_prints_the_sessions_and_a_folder_that_was_named_stays() {
    let world = World::new();
    let folder = world.hermetic.root().join("mine");
    let run = || {
        let mut command = world.command("turnbridge");
        command.args(["demo", "--no-open", "--seconds", "3", "--state"]).arg(&folder);
        command.output().unwrap()
    };
    let output = run();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("http://127.0.0.1:"), "{text}");
    assert!(text.contains("release-notes") && text.contains("search-index"), "{text}");
    assert!(folder.join("state/turnbridge/sessions").is_dir());
    let again = run();
    assert_eq!(again.status.code(), Some(1));
    let errors = world.without_paths(&String::from_utf8(again.stderr).unwrap());
    insta::assert_snapshot!(errors, @"
    error: `~/mine` is not empty
    hint: name an empty folder, or one that does not exist yet
    ");
}

#[test]
fn its_agents_are_nothing_outside_of_it() {
    let world = World::new();
    let output = world.command("turnbridge").args(["demo-agent", "infra"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let link = world.hermetic.root().join("claude");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_turnbridge"), &link).unwrap();
    let output = world.hermetic.command(&link).arg("--version").output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("turnbridge "));
    assert_eq!(world.sessions(), Vec::<Value>::new());
}

/// Returns every file below a folder, with its content.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

/// Returns the processes whose environment contains this folder, which includes all in a hermetic
/// home or in a demo there. Only Linux allows this check.
fn processes(root: &Path) -> BTreeSet<String> {
    let root = root.to_str().unwrap().as_bytes();
    let mut found = BTreeSet::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let environment = fs::read(process.path().join("environ")).unwrap_or_default();
        if environment.windows(root.len()).any(|part| part == root) {
            let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            found.insert(format!("{} {}", process.file_name().display(), name.trim()));
        }
    }
    found
}
