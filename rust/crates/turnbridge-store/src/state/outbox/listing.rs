//! Lists the notices that wait in the outbox, and reads no more of them than the caller needs.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use turnbridge_core::ids::ChannelName;
use turnbridge_core::notices::notice::{Notice, is_notice_id};
use turnbridge_core::notices::notice_wire::{channels_in, created_at_in, read_notice};
use turnbridge_core::notices::progress::NoticeProgress;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_core::version_wire::is_newer;

use super::OutboxEntry;
use super::notice_files::NoticeFiles;
use crate::paths::StatePaths;
use crate::state::folder_trust::read_own;

/// The number of first bytes that contain the time and the channels of a notice.
const HEAD: u64 = 1_024;

/// A notice that waits on one channel, and its progress there, without its texts.
#[derive(Debug, Clone)]
pub struct Waiting {
    pub id: String,
    pub channel: ChannelName,
    pub progress: NoticeProgress,
}

/// Returns the ids of all notices that wait, in no order, from the names of the files alone.
pub fn ids(paths: &StatePaths) -> io::Result<Vec<String>> {
    Ok(list(paths)?.waiting.into_iter().collect())
}

/// Returns the progress of each notice on each of its channels. Reads the progress files and the
/// first bytes of each notice. Leaves out those of a newer version.
pub fn schedules(paths: &StatePaths) -> io::Result<Vec<Waiting>> {
    let names = list(paths)?;
    let mut waiting = Vec::new();
    for id in names.waiting {
        let Ok(files) = NoticeFiles::of(paths, &id) else { continue };
        for channel in channels_of(&files) {
            let progress = match names.progress.contains(&id) {
                true => files.read_progress(&channel),
                false => Some(NoticeProgress::default()),
            };
            let Some(progress) = progress.filter(|progress| !progress.has_arrived) else {
                continue;
            };
            let progress = NoticeProgress { messages: Vec::new(), ..progress };
            waiting.push(Waiting { id: id.clone(), channel, progress });
        }
    }
    Ok(waiting)
}

/// Sorts ids by the time of their notices, oldest first. Reads the first bytes of each file.
pub fn in_order(paths: &StatePaths, ids: Vec<String>) -> Vec<String> {
    let mut times: Vec<_> = ids.into_iter().map(|id| (created_at(paths, &id), id)).collect();
    times.sort();
    times.into_iter().map(|(_, id)| id).collect()
}

/// Returns all notices that wait, oldest first, read one at a time. Leaves out files that cannot be
/// read, or are for a newer version.
pub fn oldest_first(paths: &StatePaths) -> io::Result<impl Iterator<Item = OutboxEntry>> {
    let ids = in_order(paths, ids(paths)?);
    Ok(ids.into_iter().flat_map(|id| read(paths, &id)))
}

/// Returns one notice with all of its texts, for each channel on which it has not arrived. Returns
/// no entry if it has arrived, cannot be read, is another user's, or is for a newer version.
pub fn read(paths: &StatePaths, id: &str) -> Vec<OutboxEntry> {
    let Ok(files) = NoticeFiles::of(paths, id) else { return Vec::new() };
    let notice = read_own(&files.notice()).and_then(|bytes| read_notice(&bytes));
    let Some(notice) = notice.filter(|notice| notice.id == id && !files.done().exists()) else {
        return Vec::new();
    };
    let entry = |channel: &ChannelName| {
        let progress = files.read_progress(channel).filter(|progress| !progress.has_arrived)?;
        Some(OutboxEntry { notice: notice.clone(), channel: channel.clone(), progress })
    };
    notice.channels().filter_map(entry).collect()
}

/// Returns one notice for one of its channels.
pub fn read_for(paths: &StatePaths, id: &str, channel: &ChannelName) -> Option<OutboxEntry> {
    read(paths, id).into_iter().find(|entry| entry.channel == *channel)
}

/// Returns the progress files that exist but cannot be read. Their notices wait for the user.
pub fn unreadable_progress(paths: &StatePaths) -> io::Result<Vec<PathBuf>> {
    let names = list(paths)?;
    let begun = names.waiting.intersection(&names.progress);
    let files = begun.filter_map(|id| NoticeFiles::of(paths, id).ok());
    let unreadable = files.flat_map(|files| {
        let channels = channels_of(&files);
        channels.into_iter().filter_map(move |channel| files.unreadable_progress(&channel))
    });
    Ok(unreadable.collect())
}

/// Returns the files of notices, and of their progress, that cannot be read, except those of a
/// newer version. Reads every notice, one at a time.
pub fn unreadable(paths: &StatePaths) -> io::Result<Vec<PathBuf>> {
    let mut unreadable = unreadable_progress(paths)?;
    let files = match fs::read_dir(paths.outbox_dir()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(unreadable),
        files => files?,
    };
    for file in files {
        let path = file?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let bytes = match read_own(&path) {
                Some(bytes) => bytes,
                // A delivery has ended meanwhile.
                None if !path.exists() => continue,
                None => Vec::new(),
            };
            let is_of_its_id = |notice: &Notice| path.file_stem() == Some(notice.id.as_ref());
            if !read_notice(&bytes).as_ref().is_some_and(is_of_its_id) && !is_newer(&bytes) {
                unreadable.push(path);
            }
        }
    }
    unreadable.sort();
    Ok(unreadable)
}

/// Returns the channels of a notice, from the first bytes of its file, or from all of it if a user
/// has changed their order.
pub(super) fn channels_of(files: &NoticeFiles) -> Vec<ChannelName> {
    let path = files.notice();
    let of_notice = |notice: Notice| notice.channels().cloned().collect();
    let read = || read_own(&path).and_then(|bytes| read_notice(&bytes)).map(of_notice);
    let head = head_of(&path).unwrap_or_default();
    channels_in(&head).or_else(read).unwrap_or_else(|| vec![ChannelName::SLACK])
}

fn created_at(paths: &StatePaths, id: &str) -> Option<Timestamp> {
    let path = NoticeFiles::of(paths, id).ok()?.notice();
    match created_at_in(&head_of(&path).ok()?) {
        Some(created_at) => Some(created_at),
        None => read_notice(&fs::read(path).ok()?)?.created_at,
    }
}

fn head_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD).read_to_end(&mut head)?;
    Ok(head)
}

#[derive(Default)]
struct OutboxFiles {
    waiting: BTreeSet<String>,
    /// The notices that have progress, on any channel.
    progress: BTreeSet<String>,
}

fn list(paths: &StatePaths) -> io::Result<OutboxFiles> {
    let files = match fs::read_dir(paths.outbox_dir()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(OutboxFiles::default()),
        files => files?,
    };
    let mut names = OutboxFiles::default();
    let mut done = Vec::new();
    for file in files {
        let name = file?.file_name();
        let Some((id, extension)) = name.to_str().and_then(|name| name.rsplit_once('.')) else {
            continue;
        };
        // A long id is one only without the channel's name behind it.
        let id = if extension == "progress" { notice_of_progress(id) } else { id };
        match extension {
            _ if !is_notice_id(id) => {}
            "json" => drop(names.waiting.insert(id.to_owned())),
            "progress" => drop(names.progress.insert(id.to_owned())),
            "done" => done.push(id.to_owned()),
            _ => {}
        }
    }
    for id in done {
        if names.waiting.remove(&id) {
            // It has arrived, and the process that delivered it was killed before the last step.
            let files = NoticeFiles::of(paths, &id);
            let _ = files.and_then(|files| files.clear(&channels_of(&files)));
        }
    }
    Ok(names)
}

/// Returns whether the name is that of a progress file whose notice is gone: a 0.1 that ended the
/// notice did not know the file, or a delivery wrote it after the notice was dropped.
pub(super) fn is_progress_without_notice(paths: &StatePaths, name: &str) -> bool {
    let Some(stem) = name.strip_suffix(".progress") else { return false };
    let id = notice_of_progress(stem);
    // Of a name that is no id there is no notice either.
    let has_notice = |id| NoticeFiles::of(paths, id).is_ok_and(|files| files.notice().exists());
    is_notice_id(id) && !has_notice(stem) && !has_notice(id)
}

/// Returns the id in `<id>.<channel>.progress`, or in 0.1's `<id>.progress`, without the extension.
/// No id ends in a dot and a channel's name.
fn notice_of_progress(stem: &str) -> &str {
    let channel =
        stem.rsplit_once('.').filter(|(_, channel)| ChannelName::parse(channel).is_some());
    channel.map_or(stem, |(id, _)| id)
}
