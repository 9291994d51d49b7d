//! Tests that a follower reports new, changed, unreadable and removed session files, killed
//! processes and Esc, with the schedule of the daemon and with that of `turnbridge watch`.

use turnbridge_core::session::event::ProcessKey;
use turnbridge_core::session::session_wire::write_session;
use turnbridge_core::session::{Activity, Detail, RunEnvironment, SessionEnd, Turn, Wait};
use turnbridge_store::files::atomic_file::write_atomically;
use turnbridge_store::process::identify;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

struct FollowerWorld {
    folder: tempfile::TempDir,
    paths: StatePaths,
}

impl FollowerWorld {
    fn new() -> FollowerWorld {
        let folder = tempfile::tempdir().unwrap();
        FollowerWorld { paths: StatePaths::below(&folder.path().join("state")), folder }
    }

    fn follower(&self, schedule: Schedule) -> SessionFollower {
        let config_dir = self.folder.path().join("claude");
        SessionFollower::new(self.paths.clone(), Some(config_dir), schedule)
    }

    /// Writes the session as the hook of such a process would.
    fn write(&self, mut session: Session, process: ProcessKey) {
        session.runs[0].process = process;
        let path = self.paths.session_file(&session.key);
        write_atomically(&path, &write_session(&session)).unwrap();
    }

    fn file(&self, key: &SessionKey) -> PathBuf {
        self.paths.session_file(key)
    }
}

fn us() -> ProcessKey {
    identify(std::process::id())
}

fn claude(number: u32) -> SessionKey {
    SessionKey::of("claude", &format!("825c8529-ee09-4cb8-8902-{number:012}")).unwrap()
}

/// Returns the nth session, of a project, in its state for a minute.
fn session(number: u32, project: &str, state: State) -> Session {
    let since = NOW.minus(Duration::from_secs(60));
    let mut session = Session::new(claude(number), since);
    session.cwd = Some(format!("/home/user/{project}"));
    session.runs.push(Run {
        process: ProcessKey::UNKNOWN,
        started_at: since,
        activity: match state {
            State::Completed => Activity::Completed(Some(Detail::Ok)),
            _ => Activity::Working,
        },
        waits: if state == State::WaitingUser { vec![Wait::default()] } else { Vec::new() },
        calls: Vec::new(),
        since,
        last_event: "Stop".to_owned(),
        last_at: since,
        sequence: 1,
        turn: Turn::default(),
        background_tasks: Vec::new(),
        host: RunEnvironment::default(),
        ended: (state == State::Stopped)
            .then(|| SessionEnd { at: since, reason: "other".to_owned() }),
    });
    session
}

fn told(changes: &[SessionChange]) -> Vec<String> {
    let name = |change: &SessionChange| match change {
        SessionChange::Session(session) => {
            format!("{} {}", session.project().unwrap_or("-"), session.state().as_str())
        }
        SessionChange::Removed(key) => format!("removed {}", key.agent),
    };
    changes.iter().map(name).collect()
}

/// Waits until the folder's time is old enough to be trusted.
fn settle(follower: &mut SessionFollower) {
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    while follower.folder.is_none() {
        assert!(std::time::Instant::now() < deadline, "the folder does not settle");
        std::thread::sleep(Duration::from_millis(10));
        assert_eq!(told(&follower.changes(NOW)), [""; 0]);
    }
}

#[test]
fn every_file_is_told_once_until_it_changes() {
    let world = FollowerWorld::new();
    let mut follower = world.follower(Schedule::WATCH);
    assert_eq!(told(&follower.changes(NOW)), [""; 0], "there is no folder yet");
    world.write(session(1, "alpha", State::Working), us());
    world.write(session(2, "beta", State::Completed), us());
    let mut first = told(&follower.changes(NOW));
    first.sort();
    assert_eq!(first, ["alpha working", "beta completed"]);
    settle(&mut follower);
    world.write(session(2, "beta", State::WaitingUser), us());
    assert_eq!(told(&follower.changes(NOW)), ["beta waiting_user"]);
    world.write(session(2, "beta", State::Stopped), us());
    assert_eq!(told(&follower.changes(NOW)), ["beta stopped"]);
    fs::remove_file(world.file(&claude(1))).unwrap();
    assert_eq!(told(&follower.changes(NOW)), ["removed claude"]);
}

#[test]
fn one_file_can_be_told_of_by_name() {
    let world = FollowerWorld::new();
    let mut follower = world.follower(Schedule::WATCH);
    let mut read = |number| told(&Vec::from_iter(follower.read(&claude(number), NOW)));
    assert_eq!(read(1), [""; 0]);
    world.write(session(1, "alpha", State::Working), us());
    assert_eq!(read(1), ["alpha working"]);
    assert_eq!(read(1), [""; 0]);
    // A file that is broken for a moment removes no session.
    let path = world.file(&claude(1));
    fs::write(&path, "{").unwrap();
    assert_eq!(read(1), [""; 0]);
    fs::remove_file(path).unwrap();
    assert_eq!(read(1), ["removed claude"]);
}

#[test]
fn a_file_that_cannot_be_read_is_kept_by_a_reader_and_left_alone_by_a_writer() {
    let world = FollowerWorld::new();
    let process = ProcessKey { pid: std::process::id(), start: 1 };
    let mut daemon = world.follower(Schedule::DAEMON);
    let mut watch = world.follower(Schedule::WATCH);
    world.write(session(1, "alpha", State::Working), us());
    assert_eq!(daemon.due(NOW), [claude(1)]);
    assert_eq!(told(&watch.changes(NOW)), ["alpha working"]);
    fs::write(world.file(&claude(1)), "{").unwrap();
    let later = NOW.plus(2 * THOROUGH);
    assert_eq!(daemon.due(later), []);
    assert_eq!(daemon.pulse(later), ObservedPace::None);
    assert_eq!(told(&watch.changes(later)), [""; 0]);
    assert!(watch.live.contains_key(&claude(1)));
    // It is another process's now, which has ended.
    world.write(session(1, "alpha", State::Working), process);
    let later = NOW.plus(4 * THOROUGH);
    assert_eq!(daemon.due(later), [claude(1)]);
    assert_eq!(told(&watch.changes(later)), ["alpha stopped"]);
}

#[test]
fn sessions_without_a_process_and_those_of_codex_are_not_read_again() {
    let world = FollowerWorld::new();
    world.write(session(1, "gone", State::Stopped), ProcessKey::UNKNOWN);
    fs::write(world.paths.sessions_dir().join("codex-x.json"), "{}").unwrap();
    let noise = world.paths.sessions_dir().join("claude-noise.json");
    fs::write(&noise, "{").unwrap();
    let mut follower = world.follower(Schedule::DAEMON);
    for second in 0..20 {
        assert_eq!(follower.due(NOW.plus(Duration::from_secs(second))), []);
    }
    assert!(follower.live.is_empty());
    assert_eq!(follower.files.len(), 2);
    // A file that is removed is forgotten.
    fs::remove_file(noise).unwrap();
    follower.due(NOW.plus(Duration::from_secs(40)));
    assert_eq!(follower.files.len(), 1);
}

#[test]
fn a_process_that_is_gone_is_seen_and_nothing_is_written() {
    let world = FollowerWorld::new();
    let mut follower = world.follower(Schedule::WATCH);
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .arg("--list")
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let process = identify(child.id());
    // Alive or a zombie, the process is not gone until it has been reaped.
    world.write(session(1, "alpha", State::Completed), us());
    world.write(session(2, "beta", State::Working), us());
    world.write(session(4, "delta", State::Working), process);
    world.write(session(5, "epsilon", State::Completed), process);
    follower.changes(NOW);
    child.kill().ok();
    child.wait().unwrap();
    let before = fs::read(world.file(&claude(4))).unwrap();
    let mut seen = told(&follower.changes(NOW));
    // A thorough pass finds an idle one.
    seen.extend(told(&follower.changes(NOW.plus(THOROUGH))));
    assert!(seen.len() <= 2, "{seen:?}");
    let state = |number| follower.live[&claude(number)].session().state();
    assert_eq!([1, 2].map(state), [State::Completed, State::Working]);
    assert_eq!([4, 5].map(state), [State::Stopped; 2]);
    assert_eq!(follower.live[&claude(4)].written.state(), State::Working);
    let after = fs::read(world.file(&claude(4))).unwrap();
    assert_eq!(before, after);
}

#[test]
fn esc_is_seen_in_the_transcript() {
    let world = FollowerWorld::new();
    let mut follower = world.follower(Schedule::WATCH);
    let transcript = world.folder.path().join("transcript.jsonl");
    let mut working = session(1, "alpha", State::Working);
    working.transcript_path = transcript.to_str().map(str::to_owned);
    world.write(working, us());
    assert_eq!(told(&follower.changes(NOW)), ["alpha working"]);
    assert_eq!(told(&follower.changes(NOW)), [""; 0]);
    let at = NOW.minus(Duration::from_secs(5));
    let line = format!(
        r#"{{"type":"user","timestamp":"{at}","message":{{"role":"user","content":[{{"type":"text","text":"[Request interrupted by user]"}}]}}}}"#
    );
    fs::write(&transcript, line + "\n").unwrap();
    assert_eq!(told(&follower.changes(NOW)), ["alpha completed"]);
    assert_eq!(told(&follower.changes(NOW)), [""; 0]);
}
