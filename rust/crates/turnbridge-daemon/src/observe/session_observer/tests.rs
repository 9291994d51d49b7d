//! Tests that Esc, approvals, dialogs and killed processes reach the session file, with sessions
//! made by hand and files that Claude would leave.

use std::fs;
#[cfg(target_os = "linux")]
use std::time::Duration;

use super::*;
use turnbridge_core::ids::{Agent, SessionId, SessionKey};
use turnbridge_core::session::RunEnvironment;
use turnbridge_core::session::event::{EventFacts, EventKind, ProcessKey};

struct ObserverWorld {
    _folder: tempfile::TempDir,
    root: PathBuf,
    paths: StatePaths,
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + seconds * 1_000)
}

fn id(name: &str) -> SessionId {
    SessionId::parse(name).unwrap()
}

impl ObserverWorld {
    fn new() -> ObserverWorld {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_owned();
        ObserverWorld { paths: StatePaths::below(&root.join("state")), root, _folder: folder }
    }

    fn observer(&self) -> SessionObserver {
        SessionObserver::new(self.paths.clone(), Some(self.root.join("claude")))
    }

    fn transcript(&self) -> PathBuf {
        self.root.join("transcript.jsonl")
    }

    /// Records an event as a hook would.
    fn hook(&self, session: &str, process: ProcessKey, when: Timestamp, kind: EventKind) {
        let transcript = self.transcript().to_str().map(str::to_owned);
        let env = [("KAWAII_PANE_ID", "7".to_owned()), ("KAWAII_NOTIFY_PATH", self.sink())];
        let env = env.map(|(name, value)| (name.to_owned(), value));
        let event = Event {
            session: SessionKey::new(Agent::Claude, id(session)),
            at: when,
            process,
            name: "UserPromptSubmit".to_owned(),
            agent_id: None,
            facts: EventFacts { transcript_path: transcript, ..EventFacts::default() },
            host: Some(RunEnvironment { env: env.into(), ..RunEnvironment::default() }),
            kind,
        };
        session_store::update(Some(&self.paths), &event, None).unwrap();
    }

    fn prompt(&self, session: &str, process: ProcessKey, when: Timestamp) {
        self.hook(session, process, when, EventKind::PromptSubmitted { prompt: "x".to_owned() });
    }

    fn sink(&self) -> String {
        self.root.join("sink.jsonl").to_str().unwrap().to_owned()
    }

    fn state(&self, session: &str) -> String {
        let session =
            session_store::read(&self.paths, &SessionKey::new(Agent::Claude, id(session))).unwrap();
        let detail = session.detail().map_or("", |detail| detail.as_str());
        format!("{} {detail}", session.state().as_str()).trim_end().to_owned()
    }

    fn interrupt(&self, when: Timestamp) {
        let record = format!(
            r#"{{"type":"user","timestamp":"{when}","message":{{"content":[{{"type":"text","text":"[Request interrupted by user]"}}]}}}}"#
        );
        fs::write(self.transcript(), record + "\n").unwrap();
    }
}

#[test]
fn x31_esc_reaches_the_session_file_and_the_sinks_that_it_names() {
    let world = ObserverWorld::new();
    let mut observer = world.observer();
    assert_eq!(observer.check(at(0)), []);
    world.prompt("a", ProcessKey::UNKNOWN, at(1));
    assert_eq!(observer.check(at(2)), []);
    assert_eq!(world.state("a"), "working");
    world.interrupt(at(3));
    // Between two thorough passes.
    assert_eq!(observer.check(at(4)), [RolloutEffect::Changed(id("a"))]);
    assert_eq!(world.state("a"), "completed interrupted");
    let sink = fs::read_to_string(world.sink()).unwrap();
    assert_eq!(sink.lines().count(), 2, "{sink}");
    assert_eq!(observer.check(at(5)), []);
    // The next turn ignores the old record.
    world.prompt("a", ProcessKey::UNKNOWN, at(6));
    assert_eq!(observer.check(at(7)), []);
    assert_eq!(observer.check(at(20)), []);
    assert_eq!(world.state("a"), "working");
}

/// Returns the process key that hooks use.
#[cfg(target_os = "linux")]
fn process(pid: u32) -> ProcessKey {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields = stat.rsplit_once(')').unwrap().1;
    ProcessKey { pid, start: fields.split_whitespace().nth(19).unwrap().parse().unwrap() }
}

#[cfg(target_os = "linux")]
#[test]
fn x31_a_process_that_was_killed_has_stopped_whether_it_worked_or_not() {
    let world = ObserverWorld::new();
    let mut children: Vec<_> =
        (0..2).map(|_| std::process::Command::new("sleep").arg("600").spawn().unwrap()).collect();
    let [busy, at_rest] = [&children[0], &children[1]].map(|child| process(child.id()));
    world.prompt("busy", busy, at(1));
    world.prompt("rests", at_rest, at(1));
    let end = EventKind::TurnEnded {
        answer: None,
        background_tasks: Vec::new(),
        stop_hook_active: false,
    };
    world.hook("rests", at_rest, at(2), end);
    let mut observer = world.observer();
    assert_eq!(observer.check(at(3)), []);
    for child in &mut children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!(observer.check(at(5)), [RolloutEffect::Changed(id("busy"))]);
    assert_eq!(
        (world.state("busy"), world.state("rests")),
        ("stopped".into(), "completed ok".into())
    );
    assert_eq!(observer.check(at(8)), [RolloutEffect::Changed(id("rests"))]);
    assert_eq!(world.state("rests"), "stopped");
    assert_eq!(observer.check(at(20)), []);
    assert_eq!(observer.pulse(at(20)), ObservedPace::None);
}

#[cfg(target_os = "linux")]
#[test]
fn claudes_own_note_tells_of_an_approval_and_of_esc_once_it_has_settled() {
    let world = ObserverWorld::new();
    let own = process(std::process::id());
    world.prompt("a", own, at(1));
    let call =
        turnbridge_core::session::event::ToolCall { tool: "Bash".to_owned(), id: None, input: 3 };
    world.hook("a", own, at(2), EventKind::DialogOpened { call: Some(call) });
    let folder = world.root.join("claude/sessions");
    fs::create_dir_all(&folder).unwrap();
    let note = |status: &str, when: Timestamp| {
        let text = format!(
            r#"{{"pid":{},"sessionId":"a","procStart":"{}","status":"{status}","statusUpdatedAt":{}}}"#,
            own.pid,
            own.start,
            when.as_micros() / 1_000
        );
        fs::write(folder.join(format!("{}.json", own.pid)), text).unwrap();
    };
    let mut observer = world.observer();
    assert_eq!(observer.check(at(3)), []);
    assert_eq!(world.state("a"), "waiting_user");
    note("busy", at(4));
    let moment = Duration::from_millis(200);
    assert_eq!(observer.check(at(4).plus(moment)), [], "it may be the dialog's own");
    // No write has happened since, and the file is read again.
    assert_eq!(observer.check(at(4).plus(3 * moment)), [RolloutEffect::Changed(id("a"))]);
    assert_eq!(world.state("a"), "working");
    note("idle", at(6));
    assert_eq!(observer.check(at(6).plus(3 * moment)), [RolloutEffect::Changed(id("a"))]);
    assert_eq!(world.state("a"), "completed interrupted");
}

/// A message from another session is held, or a background agent waits for input.
#[cfg(target_os = "linux")]
#[test]
fn ask_11_a_dialog_without_a_hook_is_seen_while_the_agent_rests_and_leaves_it_as_it_was() {
    let world = ObserverWorld::new();
    let own = process(std::process::id());
    world.prompt("a", own, at(1));
    let end = EventKind::TurnEnded {
        answer: None,
        background_tasks: Vec::new(),
        stop_hook_active: false,
    };
    world.hook("a", own, at(2), end);
    let folder = world.root.join("claude/sessions");
    fs::create_dir_all(&folder).unwrap();
    let note = |status: &str, when: Timestamp| {
        let text = format!(
            r#"{{"pid":{},"sessionId":"a","procStart":"{}","status":{status},"statusUpdatedAt":{}}}"#,
            own.pid,
            own.start,
            when.as_micros() / 1_000
        );
        fs::write(folder.join(format!("{}.json", own.pid)), text).unwrap();
    };
    let mut observer = world.observer();
    assert_eq!(observer.pulse(at(3)), ObservedPace::None);
    assert_eq!(observer.check(at(3)), []);
    assert_eq!(observer.pulse(at(5)), ObservedPace::AtRest);
    note(r#""waiting","waitingFor":"permission prompt""#, at(5));
    let moment = Duration::from_millis(200);
    assert_eq!(observer.check(at(5).plus(moment)), [], "it has not settled");
    assert_eq!(observer.pulse(at(5).plus(moment)), ObservedPace::Busy);
    assert_eq!(observer.check(at(5).plus(3 * moment)), [RolloutEffect::Changed(id("a"))]);
    assert_eq!(world.state("a"), "waiting_user");
    note(r#""idle""#, at(7));
    assert_eq!(observer.check(at(7).plus(3 * moment)), [RolloutEffect::Changed(id("a"))]);
    assert_eq!(world.state("a"), "completed ok");
}
