//! Notices that have not arrived yet. Each is a file of its own; whoever delivers holds the
//! outbox's lock. What has arrived leaves an empty `<id>.done` for a day, so that a second report
//! of the same event makes no second notice. Texts are read one notice at a time: all of them
//! together may be larger than the memory.

mod listing;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use turnbridge_core::notices::notice_wire::{Notice, Progress, is_notice_id};
use turnbridge_core::version_wire::VERSION;

use crate::files::atomic_file::write_atomically;
use crate::files::file_lock::FileLock;
use crate::kill_point::kill_point;
use crate::paths::StatePaths;
use crate::state::folder_trust::read_own;

pub use listing::{Waiting, ids, in_order, oldest_first, read, schedules};

/// A notice and how far it has come.
#[derive(Debug, Clone)]
pub struct Entry {
    pub notice: Notice,
    pub progress: Progress,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queued {
    New,
    /// Somebody has reported this event already.
    Known,
}

/// How long an event is remembered after its notice has arrived.
const REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);

pub fn queue(paths: &StatePaths, notice: &Notice) -> io::Result<Queued> {
    let place = Place::of(paths, &notice.id)?;
    if place.done.exists() || place.notice.exists() {
        return Ok(Queued::Known);
    }
    let bytes = serde_json::to_vec(notice)?;
    // Written whole beside it, then linked: of two that report at once one wins.
    let whole = place.notice.with_extension(format!("{}.new", std::process::id()));
    write_atomically(&whole, &bytes)?;
    kill_point("notice written");
    put_in_place(&whole, &place.notice)
}

/// Links the whole file to its name, or renames it where the file system has no links.
fn put_in_place(whole: &Path, notice: &Path) -> io::Result<Queued> {
    let queued = match fs::hard_link(whole, notice) {
        Ok(()) => Queued::New,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Queued::Known,
        // Somebody has adopted it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Queued::Known),
        Err(_) if notice.exists() => Queued::Known,
        Err(_) => {
            return match fs::rename(whole, notice) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Queued::Known),
                renamed => renamed.map(|()| Queued::New),
            };
        }
    };
    kill_point("notice linked");
    match fs::remove_file(whole) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(queued),
    }
}

/// Puts notices in their place whose writers were killed before they could: `.new` files are
/// whole. Returns how many.
pub fn adopt(paths: &StatePaths) -> io::Result<usize> {
    let files = match fs::read_dir(paths.outbox_dir()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        files => files?,
    };
    let mut adopted = 0;
    for file in files {
        let path = file?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with('.') || !name.ends_with(".new") {
            continue;
        }
        let notice = read_own(&path).and_then(|bytes| read_notice(&bytes));
        let Some(notice) = notice else { continue };
        let place = Place::of(paths, &notice.id)?;
        if place.done.exists() || place.notice.exists() {
            let _ = fs::remove_file(&path);
        } else {
            adopted += usize::from(put_in_place(&path, &place.notice)? == Queued::New);
        }
    }
    Ok(adopted)
}

/// Returns `None` if it is not whole, has no usable id, or a newer version has written it.
fn read_notice(bytes: &[u8]) -> Option<Notice> {
    let notice: Notice = serde_json::from_slice(bytes).ok()?;
    (notice.version <= VERSION && is_notice_id(&notice.id)).then_some(notice)
}

pub fn save_progress(paths: &StatePaths, id: &str, progress: &Progress) -> io::Result<()> {
    write_atomically(&Place::of(paths, id)?.progress, &serde_json::to_vec(progress)?)
}

/// It has arrived, or the user does not want it: it is not to be reported again.
pub fn finish(paths: &StatePaths, id: &str) -> io::Result<()> {
    let place = Place::of(paths, id)?;
    write_atomically(&place.done, b"")?;
    place.clear()
}

/// What became of a notice that was queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Waiting,
    Arrived,
    /// It will not arrive by itself.
    Held,
    /// Nobody knows of it.
    Unknown,
}

pub fn fate(paths: &StatePaths, id: &str) -> io::Result<Fate> {
    let place = Place::of(paths, id)?;
    if place.done.exists() {
        return Ok(Fate::Arrived);
    }
    Ok(match read(paths, id) {
        Some(entry) if entry.progress.held => Fate::Held,
        Some(_) => Fate::Waiting,
        // It may have arrived while we looked: its mark is there before its file goes.
        None if place.done.exists() => Fate::Arrived,
        None => Fate::Unknown,
    })
}

/// Only who holds it delivers. `None`: somebody else does.
pub fn lock(paths: &StatePaths) -> io::Result<Option<FileLock>> {
    FileLock::try_acquire(&paths.outbox_dir().join("deliver.lock"))
}

/// Forgets what arrived long ago, and files of writers that were killed.
pub fn prune(paths: &StatePaths, now: SystemTime) -> io::Result<()> {
    let Ok(files) = fs::read_dir(paths.outbox_dir()) else { return Ok(()) };
    for file in files {
        let path = file?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_old = || {
            let modified = path.metadata().and_then(|metadata| metadata.modified());
            let age = modified.ok().and_then(|at| now.duration_since(at).ok());
            age.is_some_and(|age| age > REMEMBERED)
        };
        let is_passing = [".done", ".new", ".tmp"].iter().any(|end| name.ends_with(end));
        if is_passing && is_old() {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// The files of one notice.
struct Place {
    notice: PathBuf,
    progress: PathBuf,
    done: PathBuf,
}

impl Place {
    fn of(paths: &StatePaths, id: &str) -> io::Result<Place> {
        if !is_notice_id(id) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        let file = |extension: &str| paths.outbox_dir().join(format!("{id}.{extension}"));
        Ok(Place { notice: file("json"), progress: file("progress"), done: file("done") })
    }

    /// The notice goes last: while it is there, whoever comes next clears the rest away.
    fn clear(&self) -> io::Result<()> {
        for path in [&self.progress, &self.notice] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnbridge_core::notices::notice_wire::NoticeKind;

    fn notice(id: &str, created_at: &str) -> Notice {
        Notice {
            version: 1,
            id: id.to_owned(),
            kind: NoticeKind::Turn,
            created_at: created_at.to_owned(),
            agent: "claude".to_owned(),
            session_id: "s".to_owned(),
            turn_id: None,
            cwd: None,
            transcript_path: None,
            prompt: Some("go".to_owned()),
            answers: vec!["done".to_owned()],
            subject: None,
            thread: None,
        }
    }

    #[test]
    fn an_event_makes_one_notice_however_often_it_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        assert!(ids(&paths).unwrap().is_empty());
        assert_eq!(queue(&paths, &notice("b", "2")).unwrap(), Queued::New);
        assert_eq!(queue(&paths, &notice("b", "3")).unwrap(), Queued::Known);
        assert_eq!(queue(&paths, &notice("a", "1")).unwrap(), Queued::New);
        let waiting = |paths: &StatePaths| in_order(paths, ids(paths).unwrap());
        assert_eq!(waiting(&paths), ["a", "b"]);
        assert_eq!(fate(&paths, "b").unwrap(), Fate::Waiting);
        finish(&paths, "b").unwrap();
        assert_eq!(fate(&paths, "b").unwrap(), Fate::Arrived);
        assert_eq!(fate(&paths, "c").unwrap(), Fate::Unknown);
        let held = Progress { held: true, ..Progress::default() };
        save_progress(&paths, "a", &held).unwrap();
        assert_eq!(fate(&paths, "a").unwrap(), Fate::Held);
        assert_eq!(waiting(&paths), ["a"]);
        assert_eq!(queue(&paths, &notice("b", "4")).unwrap(), Queued::Known);
        let names = fs::read_dir(paths.outbox_dir()).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 3, "{names:?}");
        let later = SystemTime::now() + REMEMBERED + Duration::from_secs(1);
        prune(&paths, later).unwrap();
        assert_eq!(queue(&paths, &notice("b", "5")).unwrap(), Queued::New);
    }

    #[test]
    fn progress_is_kept_and_a_kill_before_the_last_step_repeats_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        queue(&paths, &notice("a", "1")).unwrap();
        let progress = Progress { version: 1, posted: vec!["1.0".into()], ..Progress::default() };
        save_progress(&paths, "a", &progress).unwrap();
        assert_eq!(read(&paths, "a").unwrap().progress, progress);
        // Killed between the mark and the removal.
        write_atomically(&paths.outbox_dir().join("a.done"), b"").unwrap();
        assert!(ids(&paths).unwrap().is_empty());
        assert!(!paths.outbox_dir().join("a.json").exists());
    }

    #[test]
    fn a_kill_while_a_notice_is_cleared_away_leaves_no_progress_without_it() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        queue(&paths, &notice("a", "1")).unwrap();
        // Something that cannot be removed stops it half-way, as a kill does.
        let progress = paths.outbox_dir().join("a.progress");
        fs::create_dir(&progress).unwrap();
        assert!(finish(&paths, "a").is_err());
        assert!(paths.outbox_dir().join("a.json").exists());
        fs::remove_dir(&progress).unwrap();
        assert_eq!(fate(&paths, "a").unwrap(), Fate::Arrived);
    }

    #[test]
    fn an_id_that_is_no_name_reaches_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        assert!(queue(&paths, &notice("../x", "1")).is_err());
        assert!(finish(&paths, "a/b").is_err());
    }
}
