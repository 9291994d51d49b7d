//! Stores the notices that have not arrived yet. Each is a separate file, with one progress file
//! for each of its channels; the process that delivers holds the outbox's lock. A notice that has
//! arrived leaves an empty `<id>.done` for a day, so that a second report of the same event makes
//! no second notice. Texts are read one notice at a time: all of them together may be larger than
//! the memory.

mod listing;
mod notice_files;

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use turnbridge_core::ids::ChannelName;
use turnbridge_core::notices::notice::Notice;
use turnbridge_core::notices::notice_wire::{read_notice, write_notice};
use turnbridge_core::notices::progress::NoticeProgress;
use turnbridge_core::notices::retry_plan::time_until_due;

use crate::clock;
use crate::files::atomic_file::write_atomically;
use crate::files::file_lock::FileLock;
use crate::kill_point::kill_point;
use crate::paths::StatePaths;
use crate::state::folder_trust::read_own;

use notice_files::NoticeFiles;

pub use listing::{
    Waiting, ids, in_order, oldest_first, read, read_for, schedules, unreadable,
    unreadable_progress,
};

/// A notice, and its progress on one channel.
#[derive(Debug, Clone)]
pub struct OutboxEntry {
    pub notice: Notice,
    pub channel: ChannelName,
    pub progress: NoticeProgress,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queued {
    New,
    /// This event was reported before.
    Known,
}

/// How long an event is remembered after its notice has arrived.
const REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);
/// A notice that is due sooner than this may become due during a check.
const SOON: Duration = Duration::from_secs(10);

/// Stores a notice, unless its event was reported before.
pub fn queue(paths: &StatePaths, notice: &Notice) -> io::Result<Queued> {
    let files = NoticeFiles::of(paths, &notice.id)?;
    if files.done().exists() || files.notice().exists() {
        return Ok(Queued::Known);
    }
    let bytes = write_notice(notice);
    // The file is written whole beside it, then linked: of two parallel reports one wins.
    let whole = files.notice().with_extension(format!("{}.new", std::process::id()));
    write_atomically(&whole, &bytes)?;
    kill_point("notice written");
    put_in_place(&whole, &files.notice())
}

/// Links the whole file to its name, or renames it where the file system has no links.
fn put_in_place(whole: &Path, notice: &Path) -> io::Result<Queued> {
    let queued = match fs::hard_link(whole, notice) {
        Ok(()) => Queued::New,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Queued::Known,
        // Another process has adopted it.
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

/// Puts notices in their place whose writers were killed before that: `.new` files are whole.
/// Returns their number.
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
        let files = NoticeFiles::of(paths, &notice.id)?;
        if files.done().exists() || files.notice().exists() {
            let _ = fs::remove_file(&path);
        } else {
            adopted += usize::from(put_in_place(&path, &files.notice())? == Queued::New);
        }
    }
    Ok(adopted)
}

pub fn save_progress(
    paths: &StatePaths,
    id: &str,
    channel: &ChannelName,
    progress: &NoticeProgress,
) -> io::Result<()> {
    NoticeFiles::of(paths, id)?.save_progress(channel, progress)
}

/// Makes the notice due immediately, on every channel on which it has not arrived. A channel
/// without progress is due anyway.
pub fn retry_now(paths: &StatePaths, id: &str) -> io::Result<()> {
    let files = NoticeFiles::of(paths, id)?;
    let own_turn = lock(paths)?;
    for OutboxEntry { channel, mut progress, .. } in read(paths, id) {
        // Another process delivers, and it alone may write the progress of a notice that is due.
        let left = time_until_due(&progress, clock::now());
        if own_turn.is_none() && left.is_some_and(|left| left < SOON) {
            continue;
        }
        progress.retry_now();
        files.replace_progress(&channel, &progress)?;
    }
    Ok(())
}

/// Records that the notice has arrived on one channel. With the last of its channels it is done.
pub fn finish_on(paths: &StatePaths, entry: &OutboxEntry) -> io::Result<()> {
    let files = NoticeFiles::of(paths, &entry.notice.id)?;
    let mut others = entry.notice.channels().filter(|channel| **channel != entry.channel);
    let has_arrived =
        |channel: &ChannelName| files.read_progress(channel).is_some_and(|it| it.has_arrived);
    if others.all(has_arrived) {
        return finish(paths, &entry.notice.id);
    }
    let progress = NoticeProgress { has_arrived: true, ..entry.progress.clone() };
    files.save_progress(&entry.channel, &progress)
}

/// Finishes a notice that has arrived everywhere, or that the user does not want. It must not be
/// reported again.
pub fn finish(paths: &StatePaths, id: &str) -> io::Result<()> {
    let files = NoticeFiles::of(paths, id)?;
    let channels = listing::channels_of(&files);
    write_atomically(&files.done(), b"")?;
    files.clear(&channels)
}

/// The state of a notice that was queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeOutcome {
    Waiting,
    Arrived,
    /// It will not arrive by itself.
    Held,
    /// There is no such notice.
    Unknown,
}

/// Returns whether the notice is queued and has not arrived, by the names of its files alone: a hook need not
/// contain the code that reads a notice.
pub fn is_queued(paths: &StatePaths, id: &str) -> bool {
    let files = NoticeFiles::of(paths, id);
    files.is_ok_and(|files| files.notice().exists() && !files.done().exists())
}

pub fn notice_outcome(paths: &StatePaths, id: &str) -> io::Result<NoticeOutcome> {
    let files = NoticeFiles::of(paths, id)?;
    if files.done().exists() {
        return Ok(NoticeOutcome::Arrived);
    }
    let entries = read(paths, id);
    Ok(match entries.as_slice() {
        // It may have arrived during the check: its mark exists before its file is removed.
        [] if files.done().exists() => NoticeOutcome::Arrived,
        // It, or its progress, cannot be read.
        [] if files.notice().exists() => NoticeOutcome::Held,
        [] => NoticeOutcome::Unknown,
        entries if entries.iter().all(|entry| entry.progress.held) => NoticeOutcome::Held,
        _ => NoticeOutcome::Waiting,
    })
}

/// Takes the lock that the delivering process holds. Returns `None` if another one holds it.
pub fn lock(paths: &StatePaths) -> io::Result<Option<FileLock>> {
    FileLock::try_acquire(&paths.outbox_dir().join("deliver.lock"))
}

/// Removes the marks of notices that arrived long ago, and files of killed writers.
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
        let is_passing = [".done", ".new", ".tmp"].iter().any(|end| name.ends_with(end))
            || listing::is_progress_without_notice(paths, &name);
        if is_passing && is_old() {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use turnbridge_core::notices::notice_wire::read_progress;

    use super::*;
    use turnbridge_core::ids::SessionKey;
    use turnbridge_core::timestamp::Timestamp;

    fn notice(id: &str, second: i64) -> Notice {
        let key = SessionKey::of("claude", "s").unwrap();
        Notice {
            prompt: Some("go".to_owned()),
            answers: vec!["done".to_owned()],
            ..Notice::turn(id.to_owned(), key, Timestamp::from_millis(second * 1_000))
        }
    }

    #[test]
    fn an_event_makes_one_notice_however_often_it_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        assert!(ids(&paths).unwrap().is_empty());
        assert_eq!(queue(&paths, &notice("b", 2)).unwrap(), Queued::New);
        assert_eq!(queue(&paths, &notice("b", 3)).unwrap(), Queued::Known);
        assert_eq!(queue(&paths, &notice("a", 1)).unwrap(), Queued::New);
        let waiting = |paths: &StatePaths| in_order(paths, ids(paths).unwrap());
        assert_eq!(waiting(&paths), ["a", "b"]);
        assert_eq!(notice_outcome(&paths, "b").unwrap(), NoticeOutcome::Waiting);
        assert!(is_queued(&paths, "b") && !is_queued(&paths, "c"));
        finish(&paths, "b").unwrap();
        assert_eq!(notice_outcome(&paths, "b").unwrap(), NoticeOutcome::Arrived);
        assert!(!is_queued(&paths, "b"));
        assert_eq!(notice_outcome(&paths, "c").unwrap(), NoticeOutcome::Unknown);
        let held = NoticeProgress { held: true, ..NoticeProgress::default() };
        save_progress(&paths, "a", &ChannelName::SLACK, &held).unwrap();
        assert_eq!(notice_outcome(&paths, "a").unwrap(), NoticeOutcome::Held);
        assert_eq!(waiting(&paths), ["a"]);
        assert_eq!(queue(&paths, &notice("b", 4)).unwrap(), Queued::Known);
        let names = fs::read_dir(paths.outbox_dir()).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        // The notice, its progress under both names, and the mark of the other notice.
        assert_eq!(names.len(), 4, "{names:?}");
        let later = SystemTime::now() + REMEMBERED + Duration::from_secs(1);
        prune(&paths, later).unwrap();
        assert_eq!(queue(&paths, &notice("b", 5)).unwrap(), Queued::New);
    }

    #[test]
    fn progress_is_kept_and_a_kill_before_the_last_step_repeats_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        queue(&paths, &notice("a", 1)).unwrap();
        let progress = NoticeProgress { posted: vec!["1.0".into()], ..NoticeProgress::default() };
        save_progress(&paths, "a", &ChannelName::SLACK, &progress).unwrap();
        assert_eq!(read(&paths, "a")[0].progress, progress);
        // A kill between the mark and the removal.
        write_atomically(&paths.outbox_dir().join("a.done"), b"").unwrap();
        assert!(ids(&paths).unwrap().is_empty());
        assert!(!paths.outbox_dir().join("a.json").exists());
    }

    #[test]
    fn a_kill_while_a_notice_is_cleared_away_leaves_no_progress_without_it() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        queue(&paths, &notice("a", 1)).unwrap();
        // A path that cannot be removed stops it half-way, as a kill does.
        let progress = paths.outbox_dir().join("a.slack.progress");
        fs::create_dir(&progress).unwrap();
        assert!(finish(&paths, "a").is_err());
        assert!(paths.outbox_dir().join("a.json").exists());
        fs::remove_dir(&progress).unwrap();
        assert_eq!(notice_outcome(&paths, "a").unwrap(), NoticeOutcome::Arrived);
    }

    #[test]
    fn what_a_0_1_has_begun_goes_on_and_it_delivers_nothing_of_ours() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        queue(&paths, &notice("a", 1)).unwrap();
        let old = paths.outbox_dir().join("a.progress");
        write_atomically(&old, br#"{"version":1,"posted":["1.0"],"intent":true}"#).unwrap();
        let begun = read_for(&paths, "a", &ChannelName::SLACK).unwrap().progress;
        assert_eq!((begun.posted.len(), begun.intent), (1, true));
        assert_eq!(schedules(&paths).unwrap().len(), 1);
        // From now on it has the new name, and a 0.1 treats it as held.
        let further = NoticeProgress { posted: vec!["1.0".into(), "2.0".into()], ..begun };
        save_progress(&paths, "a", &ChannelName::SLACK, &further).unwrap();
        let of_0_1 = read_progress(&fs::read(&old).unwrap()).unwrap();
        assert!(of_0_1.held && of_0_1.posted.is_empty());
        assert_eq!(read_for(&paths, "a", &ChannelName::SLACK).unwrap().progress, further);
        finish(&paths, "a").unwrap();
        assert!(!old.exists() && !paths.outbox_dir().join("a.slack.progress").exists());
    }

    /// A running daemon of 0.1 ignores a held notice, and no process starts a notifier beside it.
    #[test]
    fn what_nobody_of_this_version_has_begun_is_left_to_a_0_1_also_if_the_user_wants_it_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        queue(&paths, &notice("a", 1)).unwrap();
        retry_now(&paths, "a").unwrap();
        assert!(!paths.outbox_dir().join("a.progress").exists());
        let old = paths.outbox_dir().join("a.progress");
        write_atomically(&old, br#"{"version":1,"posted":["1.0"],"held":true}"#).unwrap();
        retry_now(&paths, "a").unwrap();
        let of_0_1 = read_progress(&fs::read(&old).unwrap()).unwrap();
        assert_eq!((of_0_1.held, of_0_1.posted.len()), (false, 1));
        assert_eq!(read(&paths, "a")[0].progress, of_0_1);
        // Progress that this version has begun stays with it.
        save_progress(&paths, "a", &ChannelName::SLACK, &NoticeProgress { held: true, ..of_0_1 })
            .unwrap();
        retry_now(&paths, "a").unwrap();
        assert!(read_progress(&fs::read(&old).unwrap()).unwrap().held);
        assert!(!read(&paths, "a")[0].progress.held);
    }

    #[test]
    fn a_kill_before_the_held_progress_for_a_0_1_is_made_up_for() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        queue(&paths, &notice("a", 1)).unwrap();
        let progress = NoticeProgress { intent: true, ..NoticeProgress::default() };
        let save = || save_progress(&paths, "a", &ChannelName::SLACK, &progress).unwrap();
        save();
        let old = paths.outbox_dir().join("a.progress");
        fs::write(&old, br#"{"version":1,"intent":true}"#).unwrap();
        save();
        assert!(read_progress(&fs::read(&old).unwrap()).unwrap().held);
    }

    /// A 0.1 runs beside a new version that was killed between its two files.
    #[test]
    fn what_a_0_1_has_posted_since_is_not_posted_again() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        queue(&paths, &notice("a", 1)).unwrap();
        let begun = NoticeProgress { intent: true, ..NoticeProgress::default() };
        save_progress(&paths, "a", &ChannelName::SLACK, &begun).unwrap();
        let old = paths.outbox_dir().join("a.progress");
        fs::write(&old, br#"{"version":1,"posted":["1.0","2.0"]}"#).unwrap();
        assert_eq!(read(&paths, "a")[0].progress.posted, ["1.0", "2.0"]);
    }

    /// A reader may run between any two steps of a process that writes or removes the files.
    #[test]
    fn the_held_progress_for_a_0_1_alone_holds_nothing_here() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        queue(&paths, &notice("a", 1)).unwrap();
        save_progress(&paths, "a", &ChannelName::SLACK, &NoticeProgress::default()).unwrap();
        fs::remove_file(paths.outbox_dir().join("a.slack.progress")).unwrap();
        assert_eq!(notice_outcome(&paths, "a").unwrap(), NoticeOutcome::Waiting);
        assert!(read(&paths, "a")[0].progress.intent, "its parent may have arrived");
    }

    #[test]
    fn a_retry_leaves_alone_what_somebody_delivers_at_the_moment() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        let far = clock::now().plus(Duration::from_secs(600));
        let progress = |held, next_attempt_at| NoticeProgress {
            held,
            next_attempt_at,
            pause_seconds: 600,
            ..NoticeProgress::default()
        };
        let cases = [
            ("due", progress(false, None), true),
            ("later", progress(false, Some(far)), false),
            ("held", progress(true, None), false),
        ];
        for (id, progress, _) in &cases {
            queue(&paths, &notice(id, 1)).unwrap();
            save_progress(&paths, id, &ChannelName::SLACK, progress).unwrap();
        }
        let somebody = lock(&paths).unwrap();
        for (id, before, is_left) in &cases {
            retry_now(&paths, id).unwrap();
            let after = &read(&paths, id)[0].progress;
            assert_eq!(after == before, *is_left, "{id}");
        }
        drop(somebody);
        retry_now(&paths, "due").unwrap();
        assert_eq!(read(&paths, "due")[0].progress, NoticeProgress::default());
    }

    #[test]
    fn a_notice_whose_progress_cannot_be_read_is_not_begun_anew_and_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        for id in ["a", "b", "c", "d"] {
            queue(&paths, &notice(id, 1)).unwrap();
        }
        let file = |name: &str| paths.outbox_dir().join(name);
        // No user can read a folder as a file, not even root.
        fs::create_dir(file("a.slack.progress")).unwrap();
        fs::write(file("b.slack.progress"), r#"{"version":1,"posted":"x"}"#).unwrap();
        fs::write(file("c.slack.progress"), r#"{"version":2}"#).unwrap();
        // Its name was on the disk, but not its text, when the power failed.
        fs::write(file("d.slack.progress"), "").unwrap();
        let waiting = schedules(&paths).unwrap();
        assert_eq!(
            waiting.iter().map(|it| (&*it.id, it.progress.intent)).collect::<Vec<_>>(),
            [("d", true)]
        );
        for id in ["a", "b", "c"] {
            assert!(read(&paths, id).is_empty());
            assert_eq!(notice_outcome(&paths, id).unwrap(), NoticeOutcome::Held);
        }
        fs::write(file("e.json"), "{").unwrap();
        fs::write(file("no id.json"), "{").unwrap();
        let progress = [file("a.slack.progress"), file("b.slack.progress")];
        assert_eq!(unreadable_progress(&paths).unwrap(), progress);
        let mut all = unreadable(&paths).unwrap();
        all.sort();
        assert_eq!(all, [&progress[..], &[file("e.json"), file("no id.json")]].concat());
    }

    #[test]
    fn the_channels_of_a_file_that_a_person_has_sorted_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        let mail = ChannelName::parse("mail").unwrap();
        queue(&paths, &notice("a", 1).sent_to(vec![mail.clone()])).unwrap();
        let file = paths.outbox_dir().join("a.json");
        let value: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        fs::write(&file, serde_json::to_string_pretty(&value).unwrap()).unwrap();
        assert_eq!(schedules(&paths).unwrap()[0].channel, mail);
    }

    #[test]
    fn progress_without_its_notice_is_cleared_away_and_other_progress_never() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        queue(&paths, &notice("a", 1)).unwrap();
        let left = ["b.slack.progress", "b.progress", "a.slack.progress", "a.progress"];
        let left = left.map(|name| paths.outbox_dir().join(name));
        left.iter().for_each(|path| fs::write(path, b"{}").unwrap());
        prune(&paths, SystemTime::now()).unwrap();
        assert!(left.iter().all(|path| path.exists()), "its notice may be on its way");
        prune(&paths, SystemTime::now() + REMEMBERED + Duration::from_secs(1)).unwrap();
        assert_eq!(left.map(|path| path.exists()), [false, false, true, true]);
    }

    /// With the channel's name behind it, the longest id is longer than an id may be.
    #[test]
    fn the_progress_of_a_notice_with_the_longest_id_is_found_and_cleared_away() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        let id = "a".repeat(128);
        let mail = ChannelName::parse("mail").unwrap();
        queue(&paths, &notice(&id, 1).sent_to(vec![mail.clone()])).unwrap();
        let held = NoticeProgress { held: true, ..NoticeProgress::default() };
        save_progress(&paths, &id, &mail, &held).unwrap();
        let waiting = schedules(&paths).unwrap();
        assert_eq!(waiting.iter().map(|it| it.progress.held).collect::<Vec<_>>(), [true]);
        let progress = paths.outbox_dir().join(format!("{id}.mail.progress"));
        fs::write(&progress, "{").unwrap();
        assert_eq!(unreadable_progress(&paths).unwrap(), std::slice::from_ref(&progress));
        fs::remove_file(paths.outbox_dir().join(format!("{id}.json"))).unwrap();
        prune(&paths, SystemTime::now() + REMEMBERED + Duration::from_secs(1)).unwrap();
        assert!(!progress.exists());
    }

    #[test]
    fn an_id_that_is_no_name_reaches_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        assert!(queue(&paths, &notice("../x", 1)).is_err());
        assert!(finish(&paths, "a/b").is_err());
    }
}
