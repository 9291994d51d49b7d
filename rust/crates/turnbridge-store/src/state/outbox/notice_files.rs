//! Reads and writes the files of one notice. Each channel has a separate progress file,
//! `<id>.<channel>.progress`.
//!
//! Version 0.1 knew one channel and named its file `<id>.progress`. That name is read as Slack's. A
//! process that writes Slack's progress under the new name also writes a held progress under the
//! old one, so that a running 0.1 does not deliver the notice a second time.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use turnbridge_core::ids::ChannelName;
use turnbridge_core::notices::notice::is_notice_id;
use turnbridge_core::notices::notice_wire::{read_progress, write_progress};
use turnbridge_core::notices::progress::NoticeProgress;
use turnbridge_core::version_wire::is_newer;

use crate::files::atomic_file::write_atomically;
use crate::paths::StatePaths;
use crate::state::folder_trust::read_own;

/// The error that a 0.1 shows for a notice that this version delivers.
const LEFT_TO_NEWER: &str = "a newer version of Turnbridge delivers it";

/// The content of a progress file.
enum FileState {
    Absent,
    Known(NoticeProgress),
    /// A newer version has written it.
    Newer,
    Unreadable,
}

impl FileState {
    fn read(path: &Path) -> FileState {
        let bytes = match read_own(path) {
            Some(bytes) => bytes,
            None if path.exists() => return FileState::Unreadable,
            None => return FileState::Absent,
        };
        match read_progress(&bytes) {
            _ if is_newer(&bytes) => FileState::Newer,
            Some(progress) => FileState::Known(progress),
            // The power failed before the text was on the disk: the first message may have arrived.
            None if bytes.is_empty() => {
                FileState::Known(NoticeProgress { intent: true, ..NoticeProgress::default() })
            }
            None => FileState::Unreadable,
        }
    }
}

fn held_for_0_1() -> NoticeProgress {
    let last_error = Some(LEFT_TO_NEWER.to_owned());
    NoticeProgress { held: true, last_error, ..NoticeProgress::default() }
}

/// The paths of one notice's files.
pub struct NoticeFiles {
    folder: PathBuf,
    id: String,
}

impl NoticeFiles {
    /// Returns an error if the id cannot be part of a name.
    pub fn of(paths: &StatePaths, id: &str) -> io::Result<NoticeFiles> {
        if !is_notice_id(id) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        Ok(NoticeFiles { folder: paths.outbox_dir(), id: id.to_owned() })
    }

    fn file(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.id))
    }

    pub fn notice(&self) -> PathBuf {
        self.file("json")
    }

    pub fn done(&self) -> PathBuf {
        self.file("done")
    }

    pub fn progress(&self, channel: &ChannelName) -> PathBuf {
        self.file(&format!("{channel}.progress"))
    }

    fn progress_of_0_1(&self) -> PathBuf {
        self.file("progress")
    }

    /// Returns the progress on a channel. Returns `None` if a newer version has written it, or if
    /// it exists but cannot be read: a restart from the beginning would send messages twice.
    pub fn read_progress(&self, channel: &ChannelName) -> Option<NoticeProgress> {
        match self.state_of(channel).0 {
            FileState::Absent => Some(NoticeProgress::default()),
            FileState::Known(progress) => Some(progress),
            FileState::Newer | FileState::Unreadable => None,
        }
    }

    /// Returns the progress file that exists but cannot be read. One of a newer version does not
    /// count.
    pub fn unreadable_progress(&self, channel: &ChannelName) -> Option<PathBuf> {
        let (state, path) = self.state_of(channel);
        matches!(state, FileState::Unreadable).then_some(path)
    }

    /// Returns the valid progress, and the file that contains it.
    fn state_of(&self, channel: &ChannelName) -> (FileState, PathBuf) {
        let path = self.progress(channel);
        if *channel != ChannelName::SLACK {
            return (FileState::read(&path), path);
        }
        // The old name is read first. A process that writes both begins with the new one, so that a
        // held one under the old name is never read without the other.
        let old_path = self.progress_of_0_1();
        let old = FileState::read(&old_path);
        match (FileState::read(&path), old) {
            // A 0.1 has continued it: this version was killed before it could hold it.
            (FileState::Known(own), FileState::Known(old))
                if old.posted.len() > own.posted.len() =>
            {
                (FileState::Known(old), old_path)
            }
            // The other file is gone: a process is removing the notice.
            (FileState::Absent, FileState::Known(old)) if old == held_for_0_1() => {
                let progress = NoticeProgress { intent: true, ..NoticeProgress::default() };
                (FileState::Known(progress), old_path)
            }
            (FileState::Absent, old) => (old, old_path),
            (own, _) => (own, path),
        }
    }

    /// Writes the progress on a channel, and for Slack the held progress for a 0.1.
    pub fn save_progress(
        &self,
        channel: &ChannelName,
        progress: &NoticeProgress,
    ) -> io::Result<()> {
        write_atomically(&self.progress(channel), &write_progress(progress))?;
        if *channel == ChannelName::SLACK { self.hold_for_0_1() } else { Ok(()) }
    }

    /// Writes the held progress each time, and not with the first progress alone, because that
    /// writer may have been killed before this step.
    fn hold_for_0_1(&self) -> io::Result<()> {
        let held = write_progress(&held_for_0_1());
        if read_own(&self.progress_of_0_1()).as_ref() == Some(&held) {
            return Ok(());
        }
        write_atomically(&self.progress_of_0_1(), &held)
    }

    /// Replaces progress where it is stored, if there is any: a 0.1 must find the progress that it
    /// has begun.
    pub fn replace_progress(
        &self,
        channel: &ChannelName,
        progress: &NoticeProgress,
    ) -> io::Result<()> {
        if self.progress(channel).exists() {
            return self.save_progress(channel, progress);
        }
        match *channel == ChannelName::SLACK && self.progress_of_0_1().exists() {
            true => write_atomically(&self.progress_of_0_1(), &write_progress(progress)),
            // No process has begun it.
            false => Ok(()),
        }
    }

    /// Removes the files, the notice last: while it exists, the next process removes the rest.
    pub fn clear(&self, channels: &[ChannelName]) -> io::Result<()> {
        let progress = channels.iter().map(|channel| self.progress(channel));
        for path in progress.chain([self.progress_of_0_1(), self.notice()]) {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}
