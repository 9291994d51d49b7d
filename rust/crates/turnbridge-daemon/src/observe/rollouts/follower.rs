//! Follows Codex's rollouts: reads new lines, records them, stores the read positions, and finds
//! out when a writer has ended. It owns all state about rollouts and has no thread; see `rollouts`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use turnbridge_core::ids::{SessionId, is_uuid};
use turnbridge_core::notices::notice::Notice;
use turnbridge_core::session::RunEnvironment;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::files::bounded_file;
use turnbridge_store::paths::{StatePaths, session_of_file};
use turnbridge_store::state::codex_offsets::{self, Offsets};
use turnbridge_store::state::newer_files;

use super::folders::{ARCHIVED, SESSIONS, thread_of_path, walk, walk_home};
use super::notice_policy::NoticePolicy;
use super::recorder::Recorder;
use super::rollout_file::{Position, RolloutFile};
use super::turn_search::turn_start;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A file without a stored position had no writes for a day. Its lines newer than half a day are
/// therefore new, even if clocks disagree.
const HALF_A_DAY: Duration = Duration::from_secs(12 * 60 * 60);

/// The rest period after which a thread's state leaves the memory.
const AT_REST: Duration = Duration::from_secs(10 * 60);

/// How long a notice is held that the next line may invalidate.
const HELD: Duration = Duration::from_secs(2);

const SAVE_INTERVAL: Duration = Duration::from_secs(1);
const BUFFER: usize = 64 << 10;

pub struct FollowerSettings {
    /// Codex's homes from the config.
    pub homes: Vec<PathBuf>,
    pub paths: StatePaths,
    /// Returns whether a process holds the writer lock of a thread in a home. Returns `None` if
    /// there is no such lock or it cannot be checked.
    pub is_held: fn(&Path, &str) -> Option<bool>,
    /// `[notify] waiting`.
    pub waiting: bool,
    pub now: fn() -> Timestamp,
}

/// A result for the daemon's loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RolloutEffect {
    /// The session file was written.
    Changed(SessionId),
    /// A notice to queue if a channel wants it. It may come again with the same id.
    Notice(Box<Notice>),
    /// A problem for the log.
    Problem(String),
}

/// The followed rollouts, and their read positions.
pub struct Follower {
    settings: FollowerSettings,
    recorder: Recorder,
    files: BTreeMap<PathBuf, RolloutFile>,
    /// Files that are not in `files` had been read to their end at this time.
    seen_at: Timestamp,
    /// Homes that are not in the stored positions: their content is old.
    new_homes: BTreeSet<PathBuf>,
    buffer: Vec<u8>,
    is_dirty: bool,
    saved_at: Option<Instant>,
}

impl Follower {
    /// Resumes where the last follower stopped. The first one ever treats existing lines as old: it
    /// records the state of the last day's threads and makes no notices.
    pub fn open(settings: FollowerSettings) -> (Follower, Vec<RolloutEffect>) {
        let now = (settings.now)();
        let remembered = codex_offsets::read(&settings.paths);
        let is_first = remembered.is_none();
        let offsets = remembered.unwrap_or_default();
        let is_new = |home: &&PathBuf| !offsets.homes.contains(home);
        let mut follower = Follower {
            new_homes: settings.homes.iter().filter(is_new).cloned().collect(),
            // A clock that was ahead must not hide later events.
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
                follower.files.insert(place.path.clone(), RolloutFile::remembered(home, place));
            }
        }
        follower.look_around(&living);
        // Saves immediately: after a crash, the next follower must not treat later lines as old.
        if is_first && let Err(error) = follower.write() {
            follower.recorder.complain(format!("codex-offsets.json: {error}"));
        }
        let effects = follower.recorder.take_effects();
        (follower, effects)
    }

    /// Handles a change of this path, which `watch` reported.
    pub fn changed(&mut self, path: &Path) -> Vec<RolloutEffect> {
        if let Some(home) = self.home_of(path) {
            match fs::metadata(path) {
                Ok(metadata) if metadata.is_dir() => {
                    walk(path, &mut |path, metadata| {
                        if self.is_worth_a_look(&home, &path, metadata) {
                            self.read_file(&home, &path);
                        }
                    });
                }
                Ok(_) if thread_of_path(path).is_some() => self.read_file(&home, path),
                Ok(_) => {}
                Err(_) => self.follow_rename(path),
            }
        }
        self.recorder.take_effects()
    }

    /// Checks all files.
    pub fn rescan(&mut self) -> Vec<RolloutEffect> {
        self.look_around(&BTreeSet::new());
        self.recorder.take_effects()
    }

    /// Checks whether the writers of open and resting threads still live. Silence alone never ends
    /// a turn (KT-51, KT-52); a turn ends when no process can write it any more. Also releases held
    /// notices. The daemon calls it every few seconds.
    pub fn check_liveness(&mut self) -> Vec<RolloutEffect> {
        let living = self.files.values().filter(|file| file.is_live);
        let living: Vec<_> = living.map(|file| (file.home.clone(), file.path.clone())).collect();
        for (home, path) in living {
            if !self.is_gone(&path) {
                continue;
            }
            // Reads all that it wrote before its exit, and checks again, because another writer may
            // have started.
            self.read_file(&home, &path);
            if self.is_gone(&path)
                && thread_of_path(&path).is_some_and(|thread| self.recorder.end_run(thread))
                && let Some(file) = self.files.get_mut(&path)
            {
                (file.is_live, file.was_held) = (false, false);
                self.is_dirty = true;
            }
        }
        self.release_held();
        self.recorder.take_effects()
    }

    /// Sets the environments of threads that panes show.
    pub fn set_hosts(&mut self, hosts: BTreeMap<SessionId, RunEnvironment>) {
        self.recorder.set_hosts(hosts);
    }

    pub fn set_waiting(&mut self, waiting: bool) {
        self.settings.waiting = waiting;
    }

    /// Saves the positions, at most once a second. The caller must have handled all results so far:
    /// after a crash, lines behind the saved positions produce results again.
    pub fn save(&mut self) -> io::Result<()> {
        let is_due = self.saved_at.is_none_or(|at| at.elapsed() >= SAVE_INTERVAL);
        if self.is_dirty && is_due { self.write() } else { Ok(()) }
    }

    /// Saves the positions for the next follower.
    pub fn close(mut self) -> io::Result<()> {
        if self.is_dirty { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> io::Result<()> {
        // Success or not, the next write is at least a second later.
        self.saved_at = Some(Instant::now());
        let is_text = |path: &Path| path.to_str().is_some();
        let homes = self.settings.homes.iter().filter(|home| is_text(home));
        let files = self.files.values().filter(|file| is_text(&file.path));
        let offsets = Offsets {
            version: 1,
            seen_at: self.seen_at.as_micros(),
            homes: homes.cloned().collect(),
            files: files.map(RolloutFile::to_remember).collect(),
        };
        let written = codex_offsets::write(&self.settings.paths, &offsets);
        // A newer version's file stays untouched, and the error is reported once.
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

    /// Returns the threads whose session file names a live process, and in new homes those with a
    /// held writer lock.
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
                // Followed files are handled below: on Windows a folder's entry of an open file may
                // be stale.
                if !self.files.contains_key(&path)
                    && (self.is_worth_a_look(&home, &path, metadata) || is_living())
                {
                    self.read_file(&home, &path);
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
                        self.read_file(&home, &path);
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

    /// Returns whether the file was written since the last full check; in a new home, within a day.
    fn is_worth_a_look(&self, home: &Path, path: &Path, metadata: &Metadata) -> bool {
        let is_new = self.new_homes.contains(home);
        let since = if is_new { (self.settings.now)() } else { self.seen_at };
        let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
        self.files.contains_key(path) || modified > system_time(since.minus(DAY))
    }

    fn read_file(&mut self, home: &Path, path: &Path) {
        match self.try_read_file(home, path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                self.recorder.complain(format!("{}: {error}", path.display()));
            }
            _ => {}
        }
    }

    fn try_read_file(&mut self, home: &Path, path: &Path) -> io::Result<()> {
        let mut file = bounded_file::open(path)?.0;
        let metadata = file.metadata()?;
        let known = self.files.remove(path).or_else(|| self.take_renamed(home, path));
        let mut followed = match known {
            Some(followed) => followed,
            None => self.adopt(home, path, &mut file, &metadata)?,
        };
        followed.note(&metadata);
        let is_on = !self.new_homes.contains(home);
        let policy = NoticePolicy { is_on, waiting: self.settings.waiting };
        let read = self.read_on(&mut followed, &mut file, policy);
        let needs_lock = followed.is_live && !followed.was_held;
        self.files.insert(path.to_owned(), followed);
        if needs_lock {
            // A short-lived writer may exit before the next check.
            self.is_abandoned(path);
        }
        self.is_dirty = true;
        read
    }

    fn read_on(
        &mut self,
        followed: &mut RolloutFile,
        file: &mut File,
        policy: NoticePolicy,
    ) -> io::Result<()> {
        while let Some(steps) = followed.read_some(file, &mut self.buffer, policy)? {
            if let Err(place) = self.recorder.record(followed, steps, policy) {
                followed.rewind(place);
                return Ok(());
            }
        }
        followed.is_catching_up = false;
        Ok(())
    }

    /// Starts to follow a file without a stored position. Old lines only give the context of new
    /// ones.
    fn adopt(
        &self,
        home: &Path,
        path: &Path,
        file: &mut File,
        metadata: &Metadata,
    ) -> io::Result<RolloutFile> {
        let is_new_home = self.new_homes.contains(home);
        let old = self.seen_at.minus(HALF_A_DAY);
        let latest = if is_new_home { Timestamp::from_micros(i64::MAX) } else { old };
        let start = turn_start(file, metadata.len(), latest)?;
        let place = Position { offset: start, turn_offset: start, ..Position::default() };
        let mut followed = RolloutFile::new(home.to_owned(), path.to_owned(), place);
        if !is_new_home {
            followed.silent_until = old;
        }
        Ok(followed)
    }

    /// Returns the followed file that was renamed to this path.
    fn take_renamed(&mut self, home: &Path, path: &Path) -> Option<RolloutFile> {
        let is_it = |old: &&PathBuf| old.file_name() == path.file_name() && !old.exists();
        let old = self.files.keys().find(is_it)?.clone();
        let mut followed = self.files.remove(&old)?;
        followed.home = home.to_owned();
        followed.path = path.to_owned();
        Some(followed)
    }

    /// Follows the rename of `codex archive`. Other missing files are dropped only at the next full
    /// check.
    fn follow_rename(&mut self, path: &Path) {
        let (Some(file), Some(name)) = (self.files.get(path), path.file_name()) else { return };
        let home = file.home.clone();
        let archived = home.join(ARCHIVED).join(name);
        if archived.exists() {
            self.read_file(&home, &archived);
        }
    }

    /// Returns whether the run's writer has exited, whether or not another one has the thread open
    /// now.
    fn is_gone(&mut self, path: &Path) -> bool {
        self.is_abandoned(path)
            || thread_of_path(path).is_some_and(|thread| self.recorder.is_left(path, thread))
    }

    /// Returns whether no process holds the thread's lock any more. Codex removes the lock at its
    /// exit; if it is killed, the lock stays but is free. Versions without locks give no result.
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
            // A file with a lock, now or before, stays followed until its writer's end is seen.
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
