use testkit::Hermetic;
use turnbridge_core::session::event::ProcessKey;
use turnbridge_core::session::session_wire::write_session;
use turnbridge_store::files::atomic_file::write_atomically;
use turnbridge_store::process::identify;

use super::*;
use crate::commands::watch::sample::{NOW, key, session};

struct World {
    hermetic: Hermetic,
    paths: StatePaths,
}

impl World {
    fn new() -> World {
        let hermetic = Hermetic::new();
        World { paths: StatePaths::below(&hermetic.root().join("state")), hermetic }
    }

    fn follower(&self) -> Follower {
        Follower::new(self.paths.clone(), Some(self.hermetic.claude_config_dir()))
    }

    /// As the hook of such a process would.
    fn write(&self, mut session: Session, process: ProcessKey) {
        session.runs[0].process = process;
        let path = self.paths.session_file(session.tool, &session.id);
        write_atomically(&path, &write_session(&session)).unwrap();
    }
}

fn us() -> ProcessKey {
    identify(std::process::id())
}

fn told(changes: &[Change]) -> Vec<String> {
    let name = |change: &Change| match change {
        Change::Session(session) => {
            format!("{} {}", session.project().unwrap_or("-"), session.state().as_str())
        }
        Change::Removed((tool, _)) => format!("removed {tool}"),
    };
    changes.iter().map(name).collect()
}

/// Until the folder's time is old enough to be trusted.
fn settle(follower: &mut Follower) {
    testkit::wait_until(Duration::from_secs(60), "a folder that is settled", || {
        let changes = follower.list(NOW);
        assert_eq!(told(&changes), [""; 0]);
        follower.folder.map(|_| ())
    });
}

#[test]
fn every_file_is_told_once_until_it_changes() {
    let world = World::new();
    let mut follower = world.follower();
    assert_eq!(told(&follower.list(NOW)), [""; 0], "there is no folder yet");
    world.write(session(1, "alpha", State::Working, 9), us());
    world.write(session(2, "beta", State::Completed, 9), us());
    let mut first = told(&follower.list(NOW));
    first.sort();
    assert_eq!(first, ["alpha working", "beta completed"]);
    settle(&mut follower);
    world.write(session(2, "beta", State::WaitingUser, 9), us());
    assert_eq!(told(&follower.list(NOW)), ["beta waiting_user"]);
    fs::remove_file(world.paths.session_file(Tool::Claude, &key(1).1)).unwrap();
    assert_eq!(told(&follower.list(NOW)), ["removed claude"]);
}

#[test]
fn one_file_can_be_told_of_by_name() {
    let world = World::new();
    let mut follower = world.follower();
    let mut read = |number| told(&Vec::from_iter(follower.read(&key(number), NOW)));
    assert_eq!(read(1), [""; 0]);
    world.write(session(1, "alpha", State::Working, 9), us());
    assert_eq!(read(1), ["alpha working"]);
    assert_eq!(read(1), [""; 0]);
    // A file that is broken for a moment takes nothing away.
    let path = world.paths.session_file(Tool::Claude, &key(1).1);
    fs::write(&path, "{").unwrap();
    assert_eq!(read(1), [""; 0]);
    fs::remove_file(path).unwrap();
    assert_eq!(read(1), ["removed claude"]);
}

#[test]
fn a_process_that_is_gone_is_seen_and_nothing_is_written() {
    let world = World::new();
    let mut follower = world.follower();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .arg("--list")
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let process = identify(child.id());
    // Alive or a zombie, it is not gone until it has been waited for.
    world.write(session(1, "alpha", State::Completed, 9), us());
    world.write(session(2, "beta", State::Working, 9), us());
    world.write(session(4, "delta", State::Working, 9), process);
    follower.list(NOW);
    child.kill().ok();
    child.wait().unwrap();
    let before = fs::read(world.paths.session_file(Tool::Claude, &key(4).1)).unwrap();
    let mut seen = Vec::new();
    for _ in 0..TURNS {
        seen.extend(told(&follower.look(NOW)));
    }
    assert!(seen.len() <= 1, "{seen:?}");
    let known = &follower.known[&key(4)];
    assert_eq!(known.now.state(), State::Stopped);
    assert_eq!(known.written.state(), State::Working);
    assert_eq!(follower.known[&key(1)].now.state(), State::Completed);
    assert_eq!(follower.known[&key(2)].now.state(), State::Working);
    let after = fs::read(world.paths.session_file(Tool::Claude, &key(4).1)).unwrap();
    assert_eq!(before, after);
}

#[test]
fn esc_is_seen_in_the_transcript() {
    let world = World::new();
    let mut follower = world.follower();
    let transcript = world.hermetic.root().join("transcript.jsonl");
    let mut working = session(1, "alpha", State::Working, 60);
    working.transcript_path = transcript.to_str().map(str::to_owned);
    world.write(working, us());
    assert_eq!(told(&follower.list(NOW)), ["alpha working"]);
    assert_eq!(told(&follower.look(NOW)), [""; 0]);
    let at = NOW.minus(Duration::from_secs(5));
    let line = format!(
        r#"{{"type":"user","timestamp":"{at}","message":{{"role":"user","content":[{{"type":"text","text":"[Request interrupted by user]"}}]}}}}"#
    );
    fs::write(&transcript, line + "\n").unwrap();
    assert_eq!(told(&follower.look(NOW)), ["alpha completed"]);
    assert_eq!(told(&follower.look(NOW)), [""; 0]);
}
