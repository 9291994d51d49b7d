//! One rollout that is followed: how far it has been read, and the thread as it stands there.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::SystemTime;

use turnbridge_core::agents::codex::rollout::{RolloutEvent, RolloutThread};
use turnbridge_core::agents::codex::rollout_wire::{Line, Record, RolloutReader};
use turnbridge_core::notices::notice::Notice;
use turnbridge_core::session::event::{Event, EventKind};
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::state::codex_offsets::Place;

use super::telling::{self, Telling};

/// No session_meta is longer: the instructions in it are some 20 KB.
const LONGEST_META: u64 = 4 << 20;

pub struct Followed {
    pub home: PathBuf,
    pub path: PathBuf,
    /// Which file of that name it is, once it was looked at.
    inode: Option<u64>,
    pub place: Position,
    /// How far bytes have been read: beyond `place.offset` when a line is not whole yet.
    read_to: u64,
    reader: RolloutReader,
    /// `None` until it is needed: it is made from the file then.
    thread: Option<Thread>,
    /// What is as old as this has been dealt with, wherever it stands.
    pub silent_until: Timestamp,
    /// What was read when the file was opened may have been dealt with before.
    pub is_catching_up: bool,
    /// A notice that what follows may make untrue.
    pub held: Option<Held>,
    /// Its session may have a process.
    pub is_live: bool,
    /// Its writer has been seen to hold the thread's lock, which it removes when it goes.
    pub was_held: bool,
    /// Length and time of change when it was looked at last.
    pub seen: (u64, SystemTime),
}

/// A place between two lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    pub offset: u64,
    /// Where the line begins that began the last turn.
    pub turn_offset: u64,
    /// The time of the last line before.
    pub last_at: Timestamp,
}

pub struct Held {
    pub notice: Notice,
    pub at: Timestamp,
    /// Before its line.
    pub place: Position,
}

#[derive(Default)]
pub struct Thread {
    pub rollout: RolloutThread,
    /// When the user spoke last: names a turn that has no id.
    pub said_at: Option<Timestamp>,
    /// It records when turns begin.
    has_tasks: bool,
}

/// What one line asks for.
pub struct Step {
    /// Before the line.
    pub place: Position,
    pub event: Event,
    pub notice: Option<Notice>,
}

impl Followed {
    pub fn new(home: PathBuf, path: PathBuf, place: Position) -> Followed {
        Followed {
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

    pub fn remembered(home: PathBuf, place: Place) -> Followed {
        let position = Position {
            offset: place.offset,
            turn_offset: place.turn_offset.min(place.offset),
            last_at: Timestamp::from_micros(place.last_at),
        };
        let (inode, was_held) = (Some(place.inode), place.was_held);
        Followed { inode, was_held, ..Followed::new(home, place.path, position) }
    }

    pub fn to_remember(&self) -> Place {
        // What is held back would be lost with us.
        let place = self.held.as_ref().map_or(self.place, |held| held.place);
        Place {
            path: self.path.clone(),
            inode: self.inode.unwrap_or_default(),
            offset: place.offset,
            turn_offset: place.turn_offset,
            last_at: place.last_at.as_micros(),
            was_held: self.was_held,
        }
    }

    /// All of it has been dealt with, as far as its length was known.
    pub fn is_read(&self) -> bool {
        self.place.offset >= self.seen.0 && self.read_to == self.place.offset && self.held.is_none()
    }

    pub fn has_changed(&self, metadata: &Metadata) -> bool {
        self.seen != seen(metadata) || self.is_another(metadata)
    }

    fn is_another(&self, metadata: &Metadata) -> bool {
        self.inode.is_some_and(|known| known != inode(metadata))
    }

    /// Notes what the file is now. One that is another, or shorter, is read anew: what stood in the
    /// old one has been told.
    pub fn note(&mut self, metadata: &Metadata) {
        if self.is_another(metadata) || metadata.len() < self.read_to {
            self.silent_until = self.silent_until.max(self.place.last_at);
            self.rewind(Position { last_at: self.place.last_at, ..Position::default() });
        }
        self.inode = Some(inode(metadata));
        self.seen = seen(metadata);
    }

    /// The next look begins at `place`.
    pub fn rewind(&mut self, place: Position) {
        self.place = place;
        self.read_to = place.offset;
        self.forget_thread();
        self.held = None;
        self.is_catching_up = true;
        self.seen = (place.offset, SystemTime::UNIX_EPOCH);
    }

    /// Threads at rest take no memory.
    pub fn forget_thread(&mut self) {
        if self.read_to == self.place.offset {
            self.reader = RolloutReader::default();
            self.thread = None;
        }
    }

    /// Makes the thread as it stands at the place, from the file's first line and its last turn.
    fn prepare(&mut self, file: &mut File, buffer: &mut [u8]) -> io::Result<()> {
        if self.thread.is_some() {
            return Ok(());
        }
        let mut thread = Thread::default();
        let Position { offset, turn_offset, .. } = self.place;
        if turn_offset > 0 {
            let mut is_first = true;
            lines_between(file, 0, LONGEST_META, buffer, |line| {
                if std::mem::take(&mut is_first) {
                    thread.take(line);
                }
                is_first
            })?;
        }
        lines_between(file, turn_offset, offset, buffer, |line| {
            thread.take(line);
            true
        })?;
        self.thread = Some(thread);
        self.reader = RolloutReader::default();
        self.read_to = offset;
        Ok(())
    }

    /// Reads on by at most one buffer. `None` at the end of what is there.
    pub fn read_some(
        &mut self,
        file: &mut File,
        buffer: &mut [u8],
        telling: Telling,
    ) -> io::Result<Option<Vec<Step>>> {
        // Most files have nothing new when we start: their threads need not be made.
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
                self.take(line, telling, &mut steps);
            }
            self.place.offset = self.read_to;
        }
        self.reader.feed(rest, |_| {});
        self.read_to += rest.len() as u64;
        Ok(Some(steps))
    }

    fn take(&mut self, line: Line, telling: Telling, steps: &mut Vec<Step>) {
        let Some(thread) = &mut self.thread else { return };
        let before = self.place;
        let is_end_record = matches!(line.record, Record::TaskComplete { .. });
        let begins_turn = matches!(line.record, Record::TaskStarted { .. });
        let line_at = line.at;
        let events = thread.take(line);
        let is_prompt = |event: &EventKind| matches!(event, EventKind::PromptSubmitted { .. });
        if begins_turn || (!thread.has_tasks && events.iter().any(|event| is_prompt(&event.kind))) {
            self.place.turn_offset = before.offset;
        }
        self.place.last_at = line_at.unwrap_or(before.last_at).max(before.last_at);
        for event in events {
            // Whatever happens next makes untrue what was held back.
            self.held = None;
            let at = event.at;
            if at <= self.silent_until {
                continue;
            }
            let told = telling.notice_of(thread, &event, &self.path);
            let can_wait = telling::may_turn_out_untrue(&event.kind, is_end_record);
            let Some(mut event) = thread.rollout.session_event(event) else { continue };
            event.facts.transcript_path =
                self.path.to_str().filter(|_| event.agent_id.is_none()).map(str::to_owned);
            let notice = match told {
                Some(notice) if can_wait => {
                    self.held = Some(Held { notice, at, place: before });
                    None
                }
                notice => notice,
            };
            steps.push(Step { place: before, event, notice });
        }
    }
}

impl Thread {
    fn take(&mut self, line: Line) -> Vec<RolloutEvent> {
        match &line.record {
            Record::TaskStarted { .. } => {
                self.has_tasks = true;
                self.said_at = None;
            }
            Record::TaskComplete { .. } => self.has_tasks = true,
            Record::UserSaid { text, .. } if !text.trim().is_empty() => self.said_at = line.at,
            _ => {}
        }
        self.rollout.take(line)
    }
}

/// Whole lines between two offsets, until `each` has enough.
fn lines_between(
    file: &mut File,
    from: u64,
    to: u64,
    buffer: &mut [u8],
    mut each: impl FnMut(Line) -> bool,
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

/// Codex replaces no rollout; there its length has to do.
#[cfg(not(unix))]
fn inode(_metadata: &Metadata) -> u64 {
    0
}
