//! The owner of all that is known of Codex's rollouts. Driven by calls; see `rollouts`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use turnbridge_core::ids::{SessionId, is_uuid};
use turnbridge_core::notices::notice::Notice;
use turnbridge_core::session::Host;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::files::bounded_file;
use turnbridge_store::paths::{StatePaths, session_of_file};
use turnbridge_store::state::codex_offsets::{self, Offsets};
use turnbridge_store::state::newer_files;

use super::folders::{ARCHIVED, SESSIONS, thread_of_path, walk, walk_home};
use super::followed::{Followed, Position};
use super::recorder::Recorder;
use super::telling::Telling;
use super::turn_search::turn_start;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A file that is not remembered had been silent for a day: whatever is newer than half of that is
/// new, even if clocks disagree.
const HALF_A_DAY: Duration = Duration::from_secs(12 * 60 * 60);

/// A thread that has said nothing for so long need not be kept in memory.
const AT_REST: Duration = Duration::from_secs(10 * 60);

/// How long a notice is held back that the next line may make untrue.
const HELD: Duration = Duration::from_secs(2);

const SAVE_INTERVAL: Duration = Duration::from_secs(1);
const BUFFER: usize = 64 << 10;

pub struct Settings {
    /// As `homes` gives them.
    pub homes: Vec<PathBuf>,
    pub paths: StatePaths,
    /// Whether somebody holds the writer lock of a thread in a home. `None`: there is no such lock,
    /// or it cannot be told.
    pub is_held: fn(&Path, &str) -> Option<bool>,
    /// `[notify] waiting`.
    pub waiting: bool,
    pub now: fn() -> Timestamp,
}

/// What the loop has to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// The file of a session has been written.
    Changed(SessionId),
    /// To be queued, if anybody wants it. The same may come again, with the same id.
    Notice(Box<Notice>),
    /// For the log.
    Problem(String),
}

pub struct Follower {
    settings: Settings,
    recorder: Recorder,
    files: BTreeMap<PathBuf, Followed>,
    /// What is not in `files` had been seen to its end then.
    seen_at: Timestamp,
    /// Homes that nobody has looked at before: what lies in them is old.
    new_homes: BTreeSet<PathBuf>,
    buffer: Vec<u8>,
    is_dirty: bool,
    saved_at: Option<Instant>,
}

impl Follower {
    /// Goes on where the last one stopped. The first one ever takes what is there for old: of the
    /// threads of the last day the state is noted, and nothing is told.
    pub fn open(settings: Settings) -> (Follower, Vec<Happening>) {
        let now = (settings.now)();
        let remembered = codex_offsets::read(&settings.paths);
        let is_first = remembered.is_none();
        let offsets = remembered.unwrap_or_default();
        let is_new = |home: &&PathBuf| !offsets.homes.contains(home);
        let mut follower = Follower {
            new_homes: settings.homes.iter().filter(is_new).cloned().collect(),
            // A clock that was ahead must not hide what happens from now on.
            seen_at: Timestamp::from_micros(offsets.seen_at).min(now),
            recorder: Recorder::new(settings.paths.clone(), settings.now),
            settings,
            files: BTreeMap::new(),
            buffer: vec![0; BUFFER],
            is_dirty: true,
            saved_at: None,
        };
        let living = follower.living_threads();
        for place in offsets.files {
            if let Some(home) = follower.home_of(&place.path) {
                follower.files.insert(place.path.clone(), Followed::remembered(home, place));
            }
        }
        follower.look_around(&living);
        // After a crash right now, the next one must not take for old what comes from here on.
        if is_first && let Err(error) = follower.write() {
            follower.recorder.complain(format!("codex-offsets.json: {error}"));
        }
        let happenings = follower.recorder.take_happenings();
        (follower, happenings)
    }

    /// Something about this path has changed, as `watch` says.
    pub fn changed(&mut self, path: &Path) -> Vec<Happening> {
        if let Some(home) = self.home_of(path) {
            match fs::metadata(path) {
                Ok(metadata) if metadata.is_dir() => {
                    walk(path, &mut |path, metadata| {
                        if self.is_worth_a_look(&home, &path, metadata) {
                            self.look(&home, &path);
                        }
                    });
                }
                Ok(_) if thread_of_path(path).is_some() => self.look(&home, path),
                Ok(_) => {}
                Err(_) => self.follow_rename(path),
            }
        }
        self.recorder.take_happenings()
    }

    /// Looks at all that is there.
    pub fn rescan(&mut self) -> Vec<Happening> {
        self.look_around(&BTreeSet::new());
        self.recorder.take_happenings()
    }

    /// Looks whether the writers of threads that are open, or rest, still live. A turn is never over
    /// because nothing was heard of it (KT-51, KT-52); it is when nobody can write it any more.
    /// Also tells what was held back for a moment. For every few seconds.
    pub fn check_liveness(&mut self) -> Vec<Happening> {
        let living = self.files.values().filter(|file| file.is_live);
        let living: Vec<_> = living.map(|file| (file.home.clone(), file.path.clone())).collect();
        for (home, path) in living {
            if !self.is_gone(&path) {
                continue;
            }
            // All that it wrote before it went; then again, for another may have come meanwhile.
            self.look(&home, &path);
            if self.is_gone(&path)
                && thread_of_path(&path).is_some_and(|thread| self.recorder.end_run(thread))
                && let Some(file) = self.files.get_mut(&path)
            {
                (file.is_live, file.was_held) = (false, false);
                self.is_dirty = true;
            }
        }
        self.release_held();
        self.recorder.take_happenings()
    }

    /// The surroundings of threads that panes show.
    pub fn set_hosts(&mut self, hosts: BTreeMap<SessionId, Host>) {
        self.recorder.set_hosts(hosts);
    }

    pub fn set_waiting(&mut self, waiting: bool) {
        self.settings.waiting = waiting;
    }

    /// Remembers the places, at most once a second. Only for when all that was handed out so far has
    /// been dealt with: after a crash, what follows the remembered places is handed out again.
    pub fn save(&mut self) -> io::Result<()> {
        let is_due = self.saved_at.is_none_or(|at| at.elapsed() >= SAVE_INTERVAL);
        if self.is_dirty && is_due { self.write() } else { Ok(()) }
    }

    pub fn close(mut self) -> io::Result<()> {
        if self.is_dirty { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> io::Result<()> {
        // Whatever comes of it: not again within a second.
        self.saved_at = Some(Instant::now());
        let is_text = |path: &Path| path.to_str().is_some();
        let homes = self.settings.homes.iter().filter(|home| is_text(home));
        let files = self.files.values().filter(|file| is_text(&file.path));
        let offsets = Offsets {
            version: 1,
            seen_at: self.seen_at.as_micros(),
            homes: homes.cloned().collect(),
            files: files.map(Followed::to_remember).collect(),
        };
        let written = codex_offsets::write(&self.settings.paths, &offsets);
        // What a newer version remembers stays as it is: said once, not every second.
        let is_final = written.as_ref().err().is_none_or(newer_files::is_newer_error);
        self.is_dirty &= !is_final;
        written
    }

    fn home_of(&self, path: &Path) -> Option<PathBuf> {
        let is_in = |home: &&PathBuf| {
            path.strip_prefix(home)
                .is_ok_and(|rest| rest.starts_with(SESSIONS) || rest.starts_with(ARCHIVED))
        };
        self.settings.homes.iter().find(is_in).cloned()
    }

    /// Threads whose session has a process as far as its file says; and, in a home that is new to
    /// us, those that somebody writes.
    fn living_threads(&self) -> BTreeSet<String> {
        let thread_of_session = |name: &str| {
            let key = session_of_file(name).filter(|key| key.agent.tells_turns_by_rollouts())?;
            Some(key.id.to_string())
        };
        let mut living = names_in(&self.settings.paths.sessions_dir(), thread_of_session);
        living.retain(|thread| self.recorder.is_alive(thread));
        for home in &self.new_homes {
            let thread_of_lock = |name: &str| name.strip_suffix(".lock").map(str::to_owned);
            let mut locked = names_in(&home.join("thread-writer-locks"), thread_of_lock);
            locked.retain(|thread| {
                is_uuid(thread) && (self.settings.is_held)(home, thread) == Some(true)
            });
            living.append(&mut locked);
        }
        living
    }

    fn look_around(&mut self, living: &BTreeSet<String>) {
        let now = (self.settings.now)();
        for home in self.settings.homes.clone() {
            walk_home(&home, &mut |path, metadata| {
                let is_living = || thread_of_path(&path).is_some_and(|it| living.contains(it));
                // Those that are followed come below: what a folder says of a file that is open
                // may be old (Windows).
                if !self.files.contains_key(&path)
                    && (self.is_worth_a_look(&home, &path, metadata) || is_living())
                {
                    self.look(&home, &path);
                }
            });
        }
        for file in self.files.values_mut() {
            let thread = thread_of_path(&file.path);
            file.is_live |= thread.is_some_and(|thread| living.contains(thread));
        }
        let followed: Vec<_> =
            self.files.values().map(|file| (file.home.clone(), file.path.clone())).collect();
        for (home, path) in followed {
            match fs::metadata(&path) {
                Ok(metadata) => {
                    if self.files.get(&path).is_some_and(|file| file.has_changed(&metadata)) {
                        self.look(&home, &path);
                    }
                }
                Err(_) => {
                    self.follow_rename(&path);
                    self.is_dirty |= self.files.remove(&path).is_some();
                }
            }
        }
        self.new_homes.clear();
        self.seen_at = now;
        self.release_held();
        self.forget_old(now);
    }

    /// Whether it has been written to since all files were looked at; in a new home, within a day.
    fn is_worth_a_look(&self, home: &Path, path: &Path, metadata: &Metadata) -> bool {
        let is_new = self.new_homes.contains(home);
        let since = if is_new { (self.settings.now)() } else { self.seen_at };
        let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
        self.files.contains_key(path) || modified > system_time(since.minus(DAY))
    }

    fn look(&mut self, home: &Path, path: &Path) {
        match self.try_look(home, path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                self.recorder.complain(format!("{}: {error}", path.display()));
            }
            _ => {}
        }
    }

    fn try_look(&mut self, home: &Path, path: &Path) -> io::Result<()> {
        let mut file = bounded_file::open(path)?.0;
        let metadata = file.metadata()?;
        let known = self.files.remove(path).or_else(|| self.take_renamed(home, path));
        let mut followed = match known {
            Some(followed) => followed,
            None => self.adopt(home, path, &mut file, &metadata)?,
        };
        followed.note(&metadata);
        let is_on = !self.new_homes.contains(home);
        let telling = Telling { is_on, waiting: self.settings.waiting };
        let read = self.read_on(&mut followed, &mut file, telling);
        let needs_lock = followed.is_live && !followed.was_held;
        self.files.insert(path.to_owned(), followed);
        if needs_lock {
            // A short-lived writer may be gone before anybody asks.
            self.is_abandoned(path);
        }
        self.is_dirty = true;
        read
    }

    fn read_on(
        &mut self,
        followed: &mut Followed,
        file: &mut File,
        telling: Telling,
    ) -> io::Result<()> {
        while let Some(steps) = followed.read_some(file, &mut self.buffer, telling)? {
            if let Err(place) = self.recorder.record(followed, steps, telling) {
                followed.rewind(place);
                return Ok(());
            }
        }
        followed.is_catching_up = false;
        Ok(())
    }

    /// A file that is not remembered. What is old in it serves to understand what is new.
    fn adopt(
        &self,
        home: &Path,
        path: &Path,
        file: &mut File,
        metadata: &Metadata,
    ) -> io::Result<Followed> {
        let is_new_home = self.new_homes.contains(home);
        let old = self.seen_at.minus(HALF_A_DAY);
        let latest = if is_new_home { Timestamp::from_micros(i64::MAX) } else { old };
        let start = turn_start(file, metadata.len(), latest)?;
        let place = Position { offset: start, turn_offset: start, ..Position::default() };
        let mut followed = Followed::new(home.to_owned(), path.to_owned(), place);
        if !is_new_home {
            followed.silent_until = old;
        }
        Ok(followed)
    }

    /// The file that is followed under another path, which is no more.
    fn take_renamed(&mut self, home: &Path, path: &Path) -> Option<Followed> {
        let is_it = |old: &&PathBuf| old.file_name() == path.file_name() && !old.exists();
        let old = self.files.keys().find(is_it)?.clone();
        let mut followed = self.files.remove(&old)?;
        followed.home = home.to_owned();
        followed.path = path.to_owned();
        Some(followed)
    }

    /// `codex archive` moves a file. Forgotten it is only at the next look around.
    fn follow_rename(&mut self, path: &Path) {
        let (Some(file), Some(name)) = (self.files.get(path), path.file_name()) else { return };
        let home = file.home.clone();
        let archived = home.join(ARCHIVED).join(name);
        if archived.exists() {
            self.look(&home, &archived);
        }
    }

    /// The writer of the run is no more, whether or not another one has the thread open now.
    fn is_gone(&mut self, path: &Path) -> bool {
        self.is_abandoned(path)
            || thread_of_path(path).is_some_and(|thread| self.recorder.is_left(path, thread))
    }

    /// Nobody holds the thread's lock any more. Codex removes it when it goes; if it is killed, the
    /// lock stays behind, and nobody has it. Versions that know no locks leave it open.
    fn is_abandoned(&mut self, path: &Path) -> bool {
        let Some(file) = self.files.get_mut(path) else { return false };
        let held = thread_of_path(path).and_then(|it| (self.settings.is_held)(&file.home, it));
        self.is_dirty |= held == Some(true) && !file.was_held;
        file.was_held |= held == Some(true);
        held == Some(false) || (held.is_none() && file.was_held)
    }

    fn release_held(&mut self) {
        let now = (self.settings.now)();
        for file in self.files.values_mut() {
            if let Some(held) = file.held.take_if(|held| now.since(held.at) >= HELD) {
                self.recorder.tell(held.notice);
                self.is_dirty = true;
            }
        }
    }

    fn forget_old(&mut self, now: Timestamp) {
        let is_held = self.settings.is_held;
        let (at_rest, old) = (system_time(now.minus(AT_REST)), system_time(now.minus(DAY)));
        let before = self.files.len();
        self.files.retain(|path, file| {
            if file.seen.1 < at_rest && file.is_read() {
                file.forget_thread();
            }
            // Its writer has a lock, or had one: its end is still to be seen.
            let has_writer = || {
                let held = thread_of_path(path).and_then(|thread| is_held(&file.home, thread));
                file.is_live && (file.was_held || held.is_some())
            };
            file.seen.1 >= old || !file.is_read() || has_writer()
        });
        self.is_dirty |= before != self.files.len();
    }
}

fn system_time(at: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(u64::try_from(at.as_micros()).unwrap_or_default())
}

/// Returns what `parse` makes of the names of a folder's files.
fn names_in(folder: &Path, parse: impl Fn(&str) -> Option<String>) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| parse(entry.file_name().to_str()?)).collect()
}
