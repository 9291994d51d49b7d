//! Tests that threads of Codex are bound to panes, that a launch or a prompt stops the session that
//! a pane showed, and that two parallel writers lose nothing.

use std::fs;

use turnbridge_core::ids::{Agent, SessionId, SessionKey};
use turnbridge_core::session::event::{Event, EventFacts, EventKind, ProcessKey, SessionSource};
use turnbridge_core::session::{RunEnvironment, State};

use super::*;
use crate::clock;

const THREAD: &str = "825c8529-ee09-4cb8-8902-dd785b12ca0a";
const OTHER: &str = "925c8529-ee09-4cb8-8902-dd785b12ca0a";

struct PaneStoreWorld {
    folder: tempfile::TempDir,
    paths: StatePaths,
}

impl PaneStoreWorld {
    fn new() -> PaneStoreWorld {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(&folder.path().join("state"));
        PaneStoreWorld { folder, paths }
    }

    fn homes(&self) -> Vec<PathBuf> {
        vec![self.folder.path().join("absent"), self.folder.path().join("codex")]
    }

    fn rollout(&self, thread: &str, cwd: &str) -> PathBuf {
        self.rollout_of(thread, cwd, clock::now())
    }

    fn rollout_of(&self, thread: &str, cwd: &str, at: Timestamp) -> PathBuf {
        let folder = self.folder.path().join("codex/sessions/2026/11/16");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("rollout-2026-11-16T10-00-00-{thread}.jsonl"));
        let meta = format!(
            r#"{{"timestamp":"{at}","type":"session_meta","payload":{{"id":"{thread}","cwd":"{cwd}","source":"cli"}}}}"#
        );
        fs::write(&path, meta + "\n").unwrap();
        path
    }

    fn launch(&self, pane: &str, line: &str) -> LeftPane {
        let words: Vec<&str> = line.split(' ').collect();
        let agent = Agent::parse(words[0]).unwrap();
        loop {
            let env = [("KAWAII_PANE_ID".to_owned(), "p".to_owned())].into();
            let (cwd, at) = ("/p".to_owned(), clock::now());
            let started = PaneLaunch { agent, argv: words.clone(), cwd, env, at };
            match launch(&self.paths, &self.homes(), &PaneId::new(pane), started) {
                // On a busy machine other processes may hold the lock for long.
                Err(error) if error.kind() == std::io::ErrorKind::TimedOut => {}
                left => return left.unwrap(),
            }
        }
    }

    fn leave(&self, pane: &str) -> Vec<String> {
        let why = PaneEnd::PromptReturned;
        let left =
            leave(&self.paths, &self.homes(), &PaneId::new(pane), why, clock::now()).unwrap();
        assert!(left.problems.is_empty(), "{:?}", left.problems);
        left.sessions.iter().map(SessionId::to_string).collect()
    }

    fn shown(&self) -> String {
        let panes = settle(&self.paths, &self.homes()).unwrap();
        let sessions = session_store::read_all(&self.paths).unwrap();
        let show = |binding: &turnbridge_core::terminals::panes::Binding| {
            format!("{} {}", binding.pane, binding.session_id)
        };
        panes.bindings(&sessions).iter().map(show).collect::<Vec<_>>().join(", ")
    }

    fn begin_session(&self, agent: Agent, id: &str, window: &str) {
        let event = Event {
            session: SessionKey::new(agent, SessionId::parse(id).unwrap()),
            at: clock::now(),
            process: ProcessKey::UNKNOWN,
            name: "SessionStart".to_owned(),
            agent_id: None,
            facts: EventFacts::default(),
            host: Some(RunEnvironment {
                env: [("KITTY_WINDOW_ID".to_owned(), window.to_owned())].into(),
                ..RunEnvironment::default()
            }),
            kind: EventKind::SessionStarted { source: SessionSource::Fresh },
        };
        session_store::update(Some(&self.paths), &event, None).unwrap();
    }

    fn state(&self, agent: Agent, id: &str) -> State {
        let id = SessionId::parse(id).unwrap();
        session_store::read(&self.paths, &SessionKey::new(agent, id.clone())).unwrap().state()
    }
}

#[test]
fn kt_67_72_a_resumed_thread_is_bound_once_it_is_seen_and_stopped_by_the_prompt() {
    let world = PaneStoreWorld::new();
    world.launch("kitty:1", &format!("codex resume {THREAD}"));
    assert_eq!(world.shown(), "");
    world.rollout(THREAD, "/elsewhere");
    assert_eq!(world.shown(), format!("kitty:1 {THREAD}"));
    world.begin_session(Agent::Codex, THREAD, "");
    assert!(world.leave("kitty:2").is_empty());
    assert_eq!(world.leave("kitty:1"), [THREAD]);
    assert_eq!(world.state(Agent::Codex, THREAD), State::Stopped);
    assert_eq!(world.shown(), "");
}

#[test]
fn kt_69_a_marker_gets_the_next_thread_of_its_folder_and_no_older_one() {
    let world = PaneStoreWorld::new();
    world.rollout_of(OTHER, "/p", clock::now().minus(Duration::from_secs(1)));
    world.launch("kitty:1", "codex");
    assert_eq!(world.shown(), "");
    let path = world.rollout(THREAD, "/p");
    let panes = settle_with(&world.paths, &path).unwrap();
    assert_eq!(panes.codex.thread_of(&PaneId::new("kitty:1")).unwrap().as_str(), THREAD);
    assert_eq!(read(&world.paths), panes);
    world.launch("kitty:1", "codex exec hi");
    assert_eq!(world.shown(), "", "an `exec` shows that the shell was back (KT-66)");
}

#[test]
fn a_launch_ends_what_the_pane_showed_before() {
    let world = PaneStoreWorld::new();
    world.begin_session(Agent::Claude, "a", "1");
    world.begin_session(Agent::Claude, "b", "2");
    assert_eq!(world.shown(), "kitty:1 a, kitty:2 b");
    let left = world.launch("kitty:1", "claude");
    assert_eq!(left.sessions.len(), 1);
    assert_eq!(world.state(Agent::Claude, "a"), State::Stopped);
    assert_eq!(world.shown(), "kitty:2 b");
}

#[test]
fn a_prompt_where_nothing_is_shown_writes_nothing() {
    let world = PaneStoreWorld::new();
    assert!(world.leave("kitty:1").is_empty());
    assert!(!world.paths.state_dir().exists());
    world.begin_session(Agent::Claude, "a", "1");
    world.leave("kitty:9");
    assert!(!world.paths.panes_lock().exists() && !world.paths.panes_file().exists());
}

#[test]
fn two_that_write_at_once_lose_nothing() {
    let world = PaneStoreWorld::new();
    std::thread::scope(|scope| {
        for number in 0..16 {
            let world = &world;
            scope.spawn(move || world.launch(&format!("kitty:{number}"), "codex"));
        }
    });
    assert_eq!(read(&world.paths).launches.len(), 16);
}
