//! Pushes changes of sessions and replies to open pages within a moment of a hook. A file watcher
//! reports changed files, and a rescan finds changes that it misses. Without an open page it reads
//! no files.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use serde_json::{Value, json};
use turnbridge_core::ids::SessionKey;
use turnbridge_core::text::texts::Language;
use turnbridge_store::files::atomic_file::make_private_folder;
use turnbridge_store::paths::{StatePaths, session_of_file, session_of_turns_file};
use turnbridge_store::state::session_store;

use super::{board_replies, cards};

/// A complete event of a stream, shared by all subscribers.
pub type Frame = Arc<str>;
pub type Frames = Receiver<Frame>;

/// The delay that merges the several files of one hook into one change.
const SETTLED: Duration = Duration::from_millis(8);
/// The interval of rescans, for file systems without change events, such as some network disks.
const RESCAN: Duration = Duration::from_secs(30);
/// The limit of unsent events per page. A slower page is disconnected; it reconnects and gets a new
/// snapshot.
const BACKLOG: usize = 512;

enum LiveCommand {
    Subscribe(SyncSender<Frame>, Language),
    Touched(Vec<PathBuf>),
    /// The watcher has lost events.
    LookAtAll,
    Stop,
}

/// The handle of the thread that pushes changes.
pub struct LiveUpdates {
    orders: Mutex<Sender<LiveCommand>>,
}

impl LiveUpdates {
    pub fn start(paths: StatePaths) -> io::Result<LiveUpdates> {
        let (orders, incoming) = mpsc::channel();
        let watcher = watch(&paths, orders.clone());
        let mut watch =
            LiveLoop { paths, pages: Vec::new(), cards: BTreeMap::new(), replies: BTreeMap::new() };
        let work = move || {
            watch.run(&incoming);
            drop(watcher);
        };
        thread::Builder::new().name("board-watch".to_owned()).stack_size(512 << 10).spawn(work)?;
        Ok(LiveUpdates { orders: Mutex::new(orders) })
    }

    /// Subscribes a page: a snapshot, then every change. The stream ends if the page is too slow,
    /// or with the board.
    pub fn subscribe(&self, language: Language) -> Frames {
        let (page, frames) = mpsc::sync_channel(BACKLOG);
        self.order(LiveCommand::Subscribe(page, language));
        frames
    }

    pub fn stop(&self) {
        self.order(LiveCommand::Stop);
    }

    fn order(&self, order: LiveCommand) {
        let _ = self.orders.lock().unwrap_or_else(PoisonError::into_inner).send(order);
    }
}

/// Starts the watcher. Without one, only the rescans find changes.
fn watch(paths: &StatePaths, orders: Sender<LiveCommand>) -> Option<RecommendedWatcher> {
    let handler = move |result: notify::Result<notify::Event>| {
        let order = match result {
            Ok(event) if event.kind.is_access() => return,
            Ok(event) if event.need_rescan() => LiveCommand::LookAtAll,
            Ok(event) => LiveCommand::Touched(event.paths),
            Err(_) => LiveCommand::LookAtAll,
        };
        let _ = orders.send(order);
    };
    let mut watcher = notify::recommended_watcher(handler).ok()?;
    let folders = [paths.sessions_dir(), paths.turns_dir(), paths.inbox_dir(), paths.state_dir()];
    for folder in folders {
        let _ = make_private_folder(&folder);
        let _ = watcher.watch(&folder, RecursiveMode::NonRecursive);
    }
    Some(watcher)
}

struct LiveLoop {
    paths: StatePaths,
    pages: Vec<SyncSender<Frame>>,
    /// The hash of the last sent card: most hooks change nothing visible.
    cards: BTreeMap<SessionKey, u64>,
    replies: BTreeMap<String, u64>,
}

/// The merged result of a burst of changes.
#[derive(Default)]
struct ChangedCards {
    sessions: BTreeSet<SessionKey>,
    has_replies: bool,
    is_all: bool,
}

impl LiveLoop {
    fn run(&mut self, orders: &Receiver<LiveCommand>) {
        let mut rescan_at = Instant::now() + RESCAN;
        loop {
            let mut touched = ChangedCards::default();
            match orders.recv_timeout(rescan_at.saturating_duration_since(Instant::now())) {
                Ok(order) => {
                    if !self.handle(order, &mut touched) {
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout) => touched.is_all = true,
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let settled_at = Instant::now() + SETTLED;
            while let Ok(order) =
                orders.recv_timeout(settled_at.saturating_duration_since(Instant::now()))
            {
                if !self.handle(order, &mut touched) {
                    return;
                }
            }
            if touched.is_all {
                rescan_at = Instant::now() + RESCAN;
            }
            self.tell(touched);
        }
    }

    /// Processes an order. Returns `false` to stop.
    fn handle(&mut self, order: LiveCommand, touched: &mut ChangedCards) -> bool {
        match order {
            LiveCommand::Stop => return false,
            LiveCommand::LookAtAll => touched.is_all = true,
            LiveCommand::Subscribe(page, language) => self.welcome(page, language),
            LiveCommand::Touched(paths) => {
                for path in paths {
                    if path == self.paths.panes_file() {
                        touched.is_all = true;
                    } else if path.starts_with(self.paths.inbox_dir()) {
                        touched.has_replies = true;
                    } else {
                        touched.sessions.extend(session_of(&path));
                    }
                }
            }
        }
        true
    }

    fn welcome(&mut self, page: SyncSender<Frame>, language: Language) {
        if self.pages.is_empty() {
            self.cards.clear();
            self.replies = board_replies::all(&self.paths).iter().map(known_reply).collect();
        }
        let snapshot = cards::snapshot(&self.paths, language);
        for card in snapshot["sessions"].as_array().into_iter().flatten() {
            self.cards.extend(key_of(card).map(|key| (key, hash_of(card))));
        }
        if page.try_send(frame("snapshot", &snapshot)).is_ok() {
            self.pages.push(page);
        }
    }

    fn tell(&mut self, mut touched: ChangedCards) {
        if self.pages.is_empty() {
            return;
        }
        if touched.is_all {
            let sessions = session_store::read_all(&self.paths).unwrap_or_default();
            touched.sessions.extend(sessions.into_iter().map(|session| session.key));
            touched.sessions.extend(self.cards.keys().cloned());
        }
        for key in touched.sessions {
            self.tell_session(key);
        }
        if touched.has_replies || touched.is_all {
            self.tell_replies();
        }
    }

    fn tell_session(&mut self, key: SessionKey) {
        match cards::current(&self.paths, &key) {
            Some(card) => {
                let hash = hash_of(&card);
                if self.cards.insert(key, hash) != Some(hash) {
                    self.send(&frame("session", &card));
                }
            }
            None => {
                if self.cards.remove(&key).is_some() {
                    let gone = json!({ "tool": key.agent.as_str(), "session_id": key.id.as_str() });
                    self.send(&frame("gone", &gone));
                }
            }
        }
    }

    fn tell_replies(&mut self) {
        let all = board_replies::all(&self.paths);
        let known: BTreeMap<String, u64> = all.iter().map(known_reply).collect();
        let is_new = |reply: &&Value| {
            let (id, hash) = known_reply(reply);
            self.replies.get(&id) != Some(&hash)
        };
        let frames: Vec<Frame> =
            all.iter().filter(is_new).map(|reply| frame("reply", reply)).collect();
        self.replies = known;
        frames.iter().for_each(|frame| self.send(frame));
    }

    fn send(&mut self, frame: &Frame) {
        self.pages.retain(|page| page.try_send(Arc::clone(frame)).is_ok());
    }
}

fn known_reply(reply: &Value) -> (String, u64) {
    (reply["id"].as_str().unwrap_or_default().to_owned(), hash_of(reply))
}

fn key_of(card: &Value) -> Option<SessionKey> {
    SessionKey::of(card["tool"].as_str()?, card["session_id"].as_str()?)
}

fn hash_of(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.to_string().hash(&mut hasher);
    hasher.finish()
}

/// Formats an event. JSON contains no raw line breaks, so that the data is one line of the stream.
fn frame(event: &str, data: &Value) -> Frame {
    format!("event: {event}\ndata: {data}\n\n").into()
}

/// Returns the session of a session file or a turns file.
fn session_of(path: &Path) -> Option<SessionKey> {
    let name = path.file_name()?.to_str()?;
    session_of_file(name).or_else(|| session_of_turns_file(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_its_session_and_what_lies_beside_it_does_not() {
        let id = "825c8529-ee09-4cb8-8902-dd785b12ca0a";
        let key = |name: &str| session_of(&Path::new("/state/sessions").join(name));
        for name in [format!("codex-{id}.json"), format!("codex-{id}.jsonl")] {
            assert_eq!(key(&name), SessionKey::of("codex", id));
        }
        for name in [
            format!("codex-{id}.lock"),
            format!(".codex-{id}.json.7.tmp"),
            format!("codex-{id}.7.prompt"),
            "pruned".to_owned(),
            "rm-x.json".to_owned(),
        ] {
            assert!(key(&name).is_none(), "{name}");
        }
    }
}
