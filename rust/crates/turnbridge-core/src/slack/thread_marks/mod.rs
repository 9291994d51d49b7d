//! Tracks how far each thread of this machine has been read in Slack, and which replies were stored
//! beyond that. Only these marks decide whether a reply is new, never its age.
//!
//! Slack's history is authoritative: a thread's mark moves only when its replies have been fetched
//! and all of them are stored. The socket delivers earlier, in any order, or not at all, so its
//! replies are recorded one by one and never move the mark. So no missed reply is skipped, and no
//! received reply runs again, however long the polling fails in between.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::slack::slack_ts::SlackTs;

/// The overlap of two reads: Slack may show a message some moments later than a newer one. A thread
/// is read again from this much before its mark; replies taken there are still known.
pub const OVERLAP: Duration = Duration::from_secs(60);

/// A thread: its channel, and the time of its parent as Slack writes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadKey {
    pub channel: String,
    pub thread_ts: String,
}

impl ThreadKey {
    pub fn new(channel: &str, thread_ts: &str) -> ThreadKey {
        ThreadKey { channel: channel.to_owned(), thread_ts: thread_ts.to_owned() }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Mark {
    /// Every reply up to here was fetched and is stored.
    read_to: Option<SlackTs>,
    /// The replies that are stored, from `OVERLAP` before `read_to` on.
    taken: BTreeSet<SlackTs>,
}

/// When this machine was first set to listen for replies, and the newest thread that it had then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListeningStart {
    pub wanted: SlackTs,
    pub newest_thread: Option<SlackTs>,
}

/// A change of the marks, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MarkChange {
    /// This machine listens from now on, by its own clock; `newest_thread` is the newest thread
    /// that it had then, by Slack's.
    Begun { wanted: SlackTs, newest_thread: Option<SlackTs> },
    /// Replies in the threads of that time count from here on, by Slack's clock.
    Since { ts: SlackTs },
    /// A reply is stored.
    Taken { thread: ThreadKey, ts: SlackTs },
    /// A thread was read, and all its replies are stored.
    ReadTo { thread: ThreadKey, ts: SlackTs },
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadMarks {
    begun: Option<ListeningStart>,
    since: Option<SlackTs>,
    threads: BTreeMap<ThreadKey, Mark>,
}

impl ThreadMarks {
    pub fn apply(&mut self, change: MarkChange) {
        match change {
            MarkChange::Begun { wanted, newest_thread } => {
                self.begun = Some(ListeningStart { wanted, newest_thread });
            }
            MarkChange::Since { ts } => self.since = Some(ts),
            MarkChange::Taken { thread, ts } => {
                let mark = self.threads.entry(thread).or_default();
                if mark.read_to.is_none_or(|read_to| ts > read_to.minus(OVERLAP)) {
                    mark.taken.insert(ts);
                }
            }
            MarkChange::ReadTo { thread, ts } => {
                let mark = self.threads.entry(thread).or_default();
                let read_to = mark.read_to.map_or(ts, |read_to| read_to.max(ts));
                mark.read_to = Some(read_to);
                mark.taken = mark.taken.split_off(&read_to.minus(OVERLAP));
            }
        }
    }

    pub fn begun(&self) -> Option<ListeningStart> {
        self.begun
    }

    /// Returns the time from which replies in older threads count. Returns `None` before the first
    /// call to Slack.
    pub fn since(&self) -> Option<SlackTs> {
        self.since
    }

    /// Returns the time after which replies have to be fetched. A thread that was never read begins
    /// with its parent, or where listening began.
    pub fn asked_from(&self, thread: &ThreadKey) -> SlackTs {
        let read = self.threads.get(thread).and_then(|mark| mark.read_to);
        let begin = self.begin(thread);
        read.map_or(begin, |read_to| read_to.minus(OVERLAP).max(begin))
    }

    /// Returns whether a thread whose newest message is `latest` has been read to its end.
    pub fn is_read(&self, thread: &ThreadKey, latest: SlackTs) -> bool {
        let read = self.threads.get(thread).and_then(|mark| mark.read_to);
        latest <= read.unwrap_or_else(|| self.begin(thread))
    }

    /// Returns whether a fetched reply has been processed.
    pub fn is_known(&self, thread: &ThreadKey, ts: SlackTs) -> bool {
        ts <= self.asked_from(thread) || self.is_taken(thread, ts)
    }

    /// Returns whether exactly this reply was stored: the only check for replies from the socket.
    /// They arrive within minutes, and a mark may have passed a message that Slack had not shown
    /// yet.
    pub fn is_taken(&self, thread: &ThreadKey, ts: SlackTs) -> bool {
        self.threads.get(thread).is_some_and(|mark| mark.taken.contains(&ts))
    }

    /// Returns where a thread begins. One newer than the start of listening counts whole, whatever
    /// this machine's clock was.
    fn begin(&self, thread: &ThreadKey) -> SlackTs {
        let zero = SlackTs::from_micros(0);
        let parent = SlackTs::parse(&thread.thread_ts).unwrap_or(zero);
        let is_younger =
            |begun: ListeningStart| begun.newest_thread.is_none_or(|newest| parent > newest);
        if self.begun.is_some_and(is_younger) {
            return parent;
        }
        parent.max(self.since.unwrap_or(zero))
    }

    /// Returns all marks as changes that restore them.
    pub fn changes(&self) -> Vec<MarkChange> {
        let begun = self.begun.into_iter();
        let begun = begun.map(|ListeningStart { wanted, newest_thread }| MarkChange::Begun {
            wanted,
            newest_thread,
        });
        let since = begun.chain(self.since.into_iter().map(|ts| MarkChange::Since { ts }));
        let threads = self.threads.iter().flat_map(|(thread, mark)| {
            let read = mark.read_to.map(|ts| MarkChange::ReadTo { thread: thread.clone(), ts });
            let taken = mark.taken.iter();
            let taken = taken.map(|ts| MarkChange::Taken { thread: thread.clone(), ts: *ts });
            read.into_iter().chain(taken).collect::<Vec<_>>()
        });
        since.chain(threads).collect()
    }
}

/// Returns the time from which replies in older threads count: messages from before this machine
/// listened are no prompts. `heard` is from a 0.1, which looked back ten minutes from there; else
/// the time is `wanted`, or that of the newest message in Slack if that is older. A clock that is
/// behind by more than an hour is ignored.
pub fn begin_listening(
    heard: Option<SlackTs>,
    newest_message: Option<SlackTs>,
    wanted: SlackTs,
) -> SlackTs {
    const LOOKED_BACK: Duration = Duration::from_secs(10 * 60);
    const BELIEVED: Duration = Duration::from_secs(60 * 60);
    match (heard, newest_message) {
        (Some(heard), _) => heard.minus(LOOKED_BACK),
        (None, Some(newest)) => newest.min(wanted.max(newest.minus(BELIEVED))),
        (None, None) => SlackTs::from_micros(0),
    }
}

#[cfg(test)]
mod tests;
