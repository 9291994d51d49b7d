//! Helpers of the follower's tests: temporary homes, a clock of each test, and lines as Codex
//! writes them.

mod live;
mod old_files;
mod order;
mod places;
mod real_codex;
mod replay;

use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tempfile::TempDir;
use turnbridge_core::agents::codex::rollout::ThreadState;
use turnbridge_core::ids::{Agent, SessionId, SessionKey};
use turnbridge_core::notices::notice::Notice;
use turnbridge_core::session::Session;
use turnbridge_core::session::turn_record::TurnRecord;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::files::file_lock;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::{session_store, turn_store};

use super::{Follower, FollowerSettings, RolloutEffect};

const THREAD: &str = "01a1e18e-2062-79f1-b187-979e8f997b9c";
const OTHER: &str = "01a1e190-0000-7000-8000-000000000000";

thread_local! {
    /// The test's clock; each test has its own thread.
    static NOW: Cell<Timestamp> = Cell::new(real_now());
}

fn real_now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap())
}

fn now() -> Timestamp {
    NOW.get()
}

fn pass(span: Duration) {
    NOW.set(now().plus(span));
}

const SECOND: Duration = Duration::from_secs(1);

/// The path at which Codex has its lock.
fn lock_path(home: &Path, thread: &str) -> PathBuf {
    home.join("thread-writer-locks").join(format!("{thread}.lock"))
}

fn is_held(home: &Path, thread: &str) -> Option<bool> {
    let path = lock_path(home, thread);
    path.exists().then(|| file_lock::is_held(&path))
}

struct RolloutWorld {
    _folder: TempDir,
    root: PathBuf,
    paths: StatePaths,
    homes: Vec<PathBuf>,
    waiting: bool,
}

impl RolloutWorld {
    fn new() -> RolloutWorld {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let paths = StatePaths::below(&root.join("state"));
        let homes = vec![root.join("codex")];
        RolloutWorld { _folder: folder, root, paths, homes, waiting: false }
    }

    /// Returns the follower after it has handled the existing files.
    fn open(&self) -> Follower {
        self.open_telling().0
    }

    fn open_telling(&self) -> (Follower, Vec<Notice>) {
        let (follower, happenings) = Follower::open(FollowerSettings {
            homes: self.homes.clone(),
            paths: self.paths.clone(),
            is_held,
            waiting: self.waiting,
            now,
        });
        (follower, notices(happenings))
    }

    fn rollout(&self, thread: &str) -> PathBuf {
        self.rollout_on("2026/11/15", thread)
    }

    fn rollout_on(&self, day: &str, thread: &str) -> PathBuf {
        let name = format!("rollout-2026-11-15T18-22-08-{thread}.jsonl");
        self.homes[0].join("sessions").join(day).join(name)
    }

    fn session(&self, thread: &str) -> Option<Session> {
        session_store::read(
            &self.paths,
            &SessionKey::new(Agent::Codex, SessionId::parse(thread).unwrap()),
        )
    }

    fn state(&self, thread: &str) -> &'static str {
        self.session(thread).map_or("none", |session| ThreadState::of(&session).as_str())
    }

    fn turns(&self, thread: &str) -> Vec<TurnRecord> {
        turn_store::read_turns(
            &self.paths,
            &SessionKey::new(Agent::Codex, SessionId::parse(thread).unwrap()),
        )
    }

    fn sessions(&self) -> usize {
        session_store::read_all(&self.paths).unwrap().len()
    }
}

#[track_caller]
fn notices(happenings: Vec<RolloutEffect>) -> Vec<Notice> {
    let notice = |happening| match happening {
        RolloutEffect::Notice(notice) => Some(*notice),
        RolloutEffect::Changed(_) => None,
        RolloutEffect::Problem(problem) => panic!("{problem}"),
    };
    happenings.into_iter().filter_map(notice).collect()
}

fn ids(notices: &[Notice]) -> Vec<&str> {
    notices.iter().map(|notice| notice.id.as_str()).collect()
}

fn append(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file: File = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(bytes.as_ref()).unwrap();
}

fn line(kind: &str, payload: &str) -> String {
    format!(r#"{{"timestamp":"{}","type":"{kind}","payload":{payload}}}"#, now()) + "\n"
}

fn meta(thread: &str) -> String {
    let payload = r#"{"id":"ID","session_id":"ID","cwd":"/p","source":"exec",
        "cli_version":"0.166.0","history_mode":"paginated"}"#;
    line("session_meta", &payload.replace("ID", thread).replace('\n', ""))
}

fn turn_id(number: u32) -> String {
    format!("01a1e191-0000-7000-8000-{number:012}")
}

fn notice_id(thread: &str, number: u32) -> String {
    format!("codex-{thread}-{}", turn_id(number))
}

fn started(number: u32) -> String {
    let turn = turn_id(number);
    let said = format!(
        r#"{{"type":"item_completed","turn_id":"{turn}","item":{{"type":"UserMessage",
        "content":[{{"type":"text","text":"ask {number}"}}]}}}}"#
    );
    line("event_msg", &format!(r#"{{"type":"task_started","turn_id":"{turn}"}}"#))
        + &line("event_msg", &said.replace('\n', ""))
}

fn ended(number: u32) -> String {
    let turn = turn_id(number);
    let answer = format!("answer {number}");
    let end =
        format!(r#"{{"type":"task_complete","turn_id":"{turn}","last_agent_message":"{answer}"}}"#);
    line("event_msg", &end)
}

fn turn(number: u32) -> String {
    started(number) + &ended(number)
}

fn call(tool: &str, id: &str) -> String {
    let call = format!(r#"{{"type":"function_call","name":"{tool}","call_id":"{id}"}}"#);
    line("response_item", &call)
}

fn answered(id: &str) -> String {
    line("response_item", &format!(r#"{{"type":"function_call_output","call_id":"{id}"}}"#))
}

#[test]
fn the_loop_may_have_a_thread_of_its_own() {
    fn can_be_sent<T: Send>() {}
    can_be_sent::<Follower>();
    can_be_sent::<RolloutEffect>();
}
