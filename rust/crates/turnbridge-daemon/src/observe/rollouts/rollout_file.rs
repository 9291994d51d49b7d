//! Reads one followed rollout from its last position on, and keeps the thread's state at that
//! position.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::SystemTime;

use turnbridge_core::agents::codex::rollout::{RolloutEvent, RolloutThread};
use turnbridge_core::agents::codex::rollout_wire::{RolloutLine, RolloutReader, RolloutRecord};
use turnbridge_core::notices::notice::Notice;
use turnbridge_core::session::event::{Event, EventKind};
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::state::codex_offsets::RolloutOffset;

use super::notice_policy::{self, NoticePolicy};

/// The limit of a session_meta line: the instructions in it are some 20 KB.
const LONGEST_META: u64 = 4 << 20;

pub struct RolloutFile {
    pub home: PathBuf,
    pub path: PathBuf,
    /// The inode of the file, once it was read.
    inode: Option<u64>,
    pub place: Position,
    /// The offset of the last byte read: beyond `place.offset` if the last line is incomplete.
    read_to: u64,
    reader: RolloutReader,
    /// The thread's state. It is `None` until it is needed, and then computed from the file.
    thread: Option<FollowedThread>,
    /// Events up to this time have been handled, wherever they are in the file.
    pub silent_until: Timestamp,
    /// The first pass after the open: its events may have been handled before.
    pub is_catching_up: bool,
    /// A notice that later lines may invalidate.
    pub held: Option<HeldNotice>,
    /// Its session may have a process.
    pub is_live: bool,
    /// Its writer was seen to hold the thread's lock, which it removes at its exit.
    pub was_held: bool,
    /// The length and modification time at the last read.
    pub seen: (u64, SystemTime),
}

/// A position between two lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    pub offset: u64,
    /// The offset of the line that began the last turn.
    pub turn_offset: u64,
    /// The time of the last line before the position.
    pub last_at: Timestamp,
}

/// A notice that waits, because a later line may invalidate it.
pub struct HeldNotice {
    pub notice: Notice,
    pub at: Timestamp,
    /// The position before its line.
    pub place: Position,
}

/// The state of a thread at the read position.
#[derive(Default)]
pub struct FollowedThread {
    pub rollout: RolloutThread,
    /// The time of the user's last message: it names a turn without an id.
    pub said_at: Option<Timestamp>,
    /// Its records include the begin of turns.
    has_tasks: bool,
}

/// The consequences of one line.
pub struct RolloutStep {
    /// The position before the line.
    pub place: Position,
    pub event: Event,
    pub notice: Option<Notice>,
}

impl RolloutFile {
    pub fn new(home: PathBuf, path: PathBuf, place: Position) -> RolloutFile {
        RolloutFile {
            home,
            path,
            inode: None,
            place,
            read_to: place.offset,
            reader: RolloutReader::default(),
            thread: None,
            silent_until: Timestamp::from_micros(i64::MIN),
            is_catching_up: true,
            held: None,
            is_live: false,
            was_held: false,
            seen: (place.offset, SystemTime::UNIX_EPOCH),
        }
    }

    pub fn remembered(home: PathBuf, place: RolloutOffset) -> RolloutFile {
        let position = Position {
            offset: place.offset,
            turn_offset: place.turn_offset.min(place.offset),
            last_at: Timestamp::from_micros(place.last_at),
        };
        let (inode, was_held) = (Some(place.inode), place.was_held);
        RolloutFile { inode, was_held, ..RolloutFile::new(home, place.path, position) }
    }

    pub fn to_remember(&self) -> RolloutOffset {
        // A held notice would be lost at an exit.
        let place = self.held.as_ref().map_or(self.place, |held| held.place);
        RolloutOffset {
            path: self.path.clone(),
            inode: self.inode.unwrap_or_default(),
            offset: place.offset,
            turn_offset: place.turn_offset,
            last_at: place.last_at.as_micros(),
            was_held: self.was_held,
        }
    }

    /// Returns whether all of the known length has been handled.
    pub fn is_read(&self) -> bool {
        self.place.offset >= self.seen.0 && self.read_to == self.place.offset && self.held.is_none()
    }

    pub fn has_changed(&self, metadata: &Metadata) -> bool {
        self.seen != seen(metadata) || self.is_another(metadata)
    }

    fn is_another(&self, metadata: &Metadata) -> bool {
        self.inode.is_some_and(|known| known != inode(metadata))
    }

    /// Records the file's identity and length. Another or a shorter file is read from its
    /// beginning: the old file's lines have been reported.
    pub fn note(&mut self, metadata: &Metadata) {
        if self.is_another(metadata) || metadata.len() < self.read_to {
            self.silent_until = self.silent_until.max(self.place.last_at);
            self.rewind(Position { last_at: self.place.last_at, ..Position::default() });
        }
        self.inode = Some(inode(metadata));
        self.seen = seen(metadata);
    }

    /// Moves the reader to `place`.
    pub fn rewind(&mut self, place: Position) {
        self.place = place;
        self.read_to = place.offset;
        self.forget_thread();
        self.held = None;
        self.is_catching_up = true;
        self.seen = (place.offset, SystemTime::UNIX_EPOCH);
    }

    /// Drops the thread's state to save memory at rest.
    pub fn forget_thread(&mut self) {
        if self.read_to == self.place.offset {
            self.reader = RolloutReader::default();
            self.thread = None;
        }
    }

    /// Computes the thread's state at the position from the file's first line and its last turn.
    fn prepare(&mut self, file: &mut File, buffer: &mut [u8]) -> io::Result<()> {
        if self.thread.is_some() {
            return Ok(());
        }
        let mut thread = FollowedThread::default();
        let Position { offset, turn_offset, .. } = self.place;
        if turn_offset > 0 {
            let mut is_first = true;
            lines_between(file, 0, LONGEST_META, buffer, |line| {
                if std::mem::take(&mut is_first) {
                    thread.read_line(line);
                }
                is_first
            })?;
        }
        lines_between(file, turn_offset, offset, buffer, |line| {
            thread.read_line(line);
            true
        })?;
        self.thread = Some(thread);
        self.reader = RolloutReader::default();
        self.read_to = offset;
        Ok(())
    }

    /// Reads at most one buffer. Returns `None` at the end of the file.
    pub fn read_some(
        &mut self,
        file: &mut File,
        buffer: &mut [u8],
        policy: NoticePolicy,
    ) -> io::Result<Option<Vec<RolloutStep>>> {
        // Most files have no new lines at the start: their state is not needed.
        if self.thread.is_none() && self.seen.0 <= self.read_to {
            return Ok(None);
        }
        self.prepare(file, buffer)?;
        file.seek(SeekFrom::Start(self.read_to))?;
        let length = file.read(buffer)?;
        if length == 0 {
            return Ok(None);
        }
        let mut steps = Vec::new();
        let mut rest = &buffer[..length];
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let mut whole = None;
            self.reader.feed(&rest[..=end], |line| whole = Some(line));
            rest = &rest[end + 1..];
            self.read_to += end as u64 + 1;
            if let Some(line) = whole {
                self.read_line(line, policy, &mut steps);
            }
            self.place.offset = self.read_to;
        }
        self.reader.feed(rest, |_| {});
        self.read_to += rest.len() as u64;
        Ok(Some(steps))
    }

    fn read_line(&mut self, line: RolloutLine, policy: NoticePolicy, steps: &mut Vec<RolloutStep>) {
        let Some(thread) = &mut self.thread else { return };
        let before = self.place;
        let is_end_record = matches!(line.record, RolloutRecord::TaskComplete { .. });
        let begins_turn = matches!(line.record, RolloutRecord::TaskStarted { .. });
        let line_at = line.at;
        let events = thread.read_line(line);
        let is_prompt = |event: &EventKind| matches!(event, EventKind::PromptSubmitted { .. });
        if begins_turn || (!thread.has_tasks && events.iter().any(|event| is_prompt(&event.kind))) {
            self.place.turn_offset = before.offset;
        }
        self.place.last_at = line_at.unwrap_or(before.last_at).max(before.last_at);
        for event in events {
            // Any later event invalidates the held notice.
            self.held = None;
            let at = event.at;
            if at <= self.silent_until {
                continue;
            }
            let told = policy.notice_of(thread, &event, &self.path);
            let can_wait = notice_policy::may_turn_out_untrue(&event.kind, is_end_record);
            let Some(mut event) = thread.rollout.session_event(event) else { continue };
            event.facts.transcript_path =
                self.path.to_str().filter(|_| event.agent_id.is_none()).map(str::to_owned);
            let notice = match told {
                Some(notice) if can_wait => {
                    self.held = Some(HeldNotice { notice, at, place: before });
                    None
                }
                notice => notice,
            };
            steps.push(RolloutStep { place: before, event, notice });
        }
    }
}

impl FollowedThread {
    fn read_line(&mut self, line: RolloutLine) -> Vec<RolloutEvent> {
        match &line.record {
            RolloutRecord::TaskStarted { .. } => {
                self.has_tasks = true;
                self.said_at = None;
            }
            RolloutRecord::TaskComplete { .. } => self.has_tasks = true,
            RolloutRecord::UserText { text, .. } if !text.trim().is_empty() => {
                self.said_at = line.at
            }
            _ => {}
        }
        self.rollout.read_line(line)
    }
}

/// Passes the whole lines between two offsets to `each`, until it returns `false`.
fn lines_between(
    file: &mut File,
    from: u64,
    to: u64,
    buffer: &mut [u8],
    mut each: impl FnMut(RolloutLine) -> bool,
) -> io::Result<()> {
    file.seek(SeekFrom::Start(from))?;
    let mut reader = RolloutReader::default();
    let mut left = to - from;
    let mut goes_on = true;
    while goes_on && left > 0 {
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let length = file.read(&mut buffer[..wanted])?;
        if length == 0 {
            break;
        }
        left -= length as u64;
        reader.feed(&buffer[..length], |line| goes_on = goes_on && each(line));
    }
    Ok(())
}

fn seen(metadata: &Metadata) -> (u64, SystemTime) {
    (metadata.len(), metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH))
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

/// Codex never replaces a rollout; on this system the length must suffice.
#[cfg(not(unix))]
fn inode(_metadata: &Metadata) -> u64 {
    0
}
