//! Reads this machine's threads in Slack and stores their new replies. Each failing thread is
//! retried by itself. It delays only the replies of its own session, for a limited time, because
//! replies run in order.

use std::collections::BTreeSet;
use std::time::Instant;

use turnbridge_core::ids::NamedSession;
use turnbridge_core::replies::reply_wire::{Reported, read_fetched};
use turnbridge_core::slack::listening::UnroutedVerdict;
use turnbridge_core::slack::reply_check::{Checked, check_reply};
use turnbridge_core::slack::slack_ts::SlackTs;
use turnbridge_core::slack::thread_marks::{MarkChange, ThreadKey};
use turnbridge_slack::CallError;

use super::backoff::Backoff;
use super::{Asker, AskerError, TRIES};
use crate::channels::slack::slack_intake::describe;

/// After this many failures in one pass the rest is not tried: it would fail too.
const MOST_FAILED: u32 = 3;

/// A thread of this machine with new replies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedThread {
    pub thread: ThreadKey,
    pub latest: SlackTs,
    /// The number of its replies; `None` if Slack did not send it.
    pub count: Option<u64>,
}

/// A thread that could not be read, or was not tried yet.
pub struct Unread {
    news: ChangedThread,
    pub backoff: Backoff,
}

impl Unread {
    /// Returns whether the replies of its session wait for it.
    pub fn is_waited_for(&self) -> bool {
        self.backoff.failures() < TRIES
    }
}

/// A thread that was read.
pub struct ThreadMessages {
    news: ChangedThread,
    messages: Vec<FoundMessage>,
}

/// A message in a thread of this machine.
struct FoundMessage {
    ts: SlackTs,
    thread: ThreadKey,
    reported: Reported,
}

impl Asker {
    /// Stores the new replies of these threads, and then moves their marks. If another thread of a
    /// session is unread, the session's replies wait in memory.
    pub(super) fn read_threads(&mut self, threads: Vec<ChangedThread>) -> Result<(), AskerError> {
        let (read, trouble) = self.read_each(threads);
        let waiting: BTreeSet<_> = {
            let unread = self.unread.iter().filter(|(_, unread)| unread.is_waited_for());
            let threads: Vec<_> = unread.map(|(thread, _)| thread.clone()).collect();
            threads.iter().filter_map(|thread| self.session_of(thread)).collect()
        };
        let mut ready = Vec::new();
        for read in read {
            let thread = &read.news.thread;
            match self.session_of(thread).is_some_and(|session| waiting.contains(&session)) {
                true => drop(self.aside.insert(thread.clone(), read)),
                false => ready.push(read),
            }
        }
        self.keep(ready)?;
        trouble.map_or(Ok(()), Err)
    }

    /// Retries the unread threads that are due.
    pub(super) fn retry_threads(&mut self, now: Instant) -> Result<(), AskerError> {
        let due = self.unread.values().filter(|unread| !unread.backoff.is_held(now));
        let mut due: Vec<_> = due.map(|unread| unread.news.clone()).collect();
        if due.is_empty() {
            return Ok(());
        }
        due.extend(self.aside.values().map(|read| read.news.clone()));
        self.read_threads(due)
    }

    /// Reads each thread. The returned error is one that stops all reading.
    fn read_each(
        &mut self,
        threads: Vec<ChangedThread>,
    ) -> (Vec<ThreadMessages>, Option<AskerError>) {
        let mut read = Vec::new();
        let mut trouble = None;
        let mut failed = 0;
        for news in threads {
            let thread = news.thread.clone();
            if let Some(aside) = self.aside.remove(&thread).filter(|aside| aside.news == news) {
                read.push(aside);
                continue;
            }
            let unread = self.unread.get(&thread).map(|unread| unread.backoff);
            let mut backoff = unread.unwrap_or_default();
            if trouble.is_none() && !backoff.is_held(Instant::now()) {
                match self.read_thread(&thread) {
                    Ok(messages) => {
                        self.unread.remove(&thread);
                        read.push(ThreadMessages { news, messages });
                        continue;
                    }
                    Err(error) if error.is_general() => trouble = Some(error),
                    Err(error) => {
                        backoff.fail(Instant::now(), &error);
                        self.status.note_failure(&error);
                        failed += 1;
                        trouble = (failed >= MOST_FAILED).then_some(error);
                    }
                }
            }
            self.unread.insert(thread, Unread { news, backoff });
        }
        (read, trouble)
    }

    fn session_of(&self, thread: &ThreadKey) -> Option<NamedSession> {
        let routes = self.hearing.routes.get(&self.hearing.paths).unwrap_or_default();
        let route = routes.iter().find(|route| route.is_of(&thread.channel, &thread.thread_ts))?;
        Some(route.session.clone())
    }

    fn keep(&mut self, read: Vec<ThreadMessages>) -> Result<(), AskerError> {
        let mut found = Vec::new();
        let mut done = Vec::new();
        for ThreadMessages { news, messages } in read {
            let newest = messages.iter().map(|message| message.ts).max();
            if newest.is_none_or(|newest| newest < news.latest) {
                self.unreached.insert(news.thread.clone(), (news.latest, Instant::now()));
            }
            found.extend(messages);
            done.extend(newest.map(|ts| (news, ts)));
        }
        // A session may have several threads: replies are taken in the order of their times.
        found.sort_by_key(|found| found.ts);
        let mut open = BTreeSet::new();
        for message in found {
            let thread = message.thread.clone();
            if !self.take_found(message)? {
                open.insert(thread);
            }
        }
        for (news, ts) in done.into_iter().filter(|(news, _)| !open.contains(&news.thread)) {
            let thread = news.thread;
            self.note_count(&thread, news.count);
            self.hearing.marks().change(MarkChange::ReadTo { thread, ts })?;
        }
        Ok(())
    }

    fn read_thread(&mut self, thread: &ThreadKey) -> Result<Vec<FoundMessage>, AskerError> {
        let after = self.hearing.marks().marks().asked_from(thread).to_string();
        let mut found = Vec::new();
        let mut from = None;
        loop {
            self.wait_for_replies();
            let (api, token) = (&self.hearing.api, &self.hearing.slack.bot_token);
            let page = api.replies_after(
                token,
                &thread.channel,
                &thread.thread_ts,
                &after,
                from.as_deref(),
            );
            let (messages, next) = match page {
                // The parent was deleted, and the thread with it.
                Err(CallError::Refused { error, .. }) if error == "thread_not_found" => {
                    let fields = [("thread_ts", thread.thread_ts.clone().into())];
                    self.hearing.log.warn("thread not found in Slack", &fields);
                    return Ok(Vec::new());
                }
                page => page?,
            };
            for message in messages {
                let reported = read_fetched(message.as_bytes(), &thread.channel);
                let ts = reported.as_ref().and_then(|it| SlackTs::parse(it.ts.as_deref()?));
                if let (Some(reported), Some(ts)) = (reported, ts) {
                    found.push(FoundMessage { ts, thread: thread.clone(), reported });
                }
            }
            from = next;
            if from.is_none() {
                return Ok(found);
            }
        }
    }

    /// Waits until this machine's share allows another call of `conversations.replies`.
    pub(super) fn wait_for_replies(&mut self) {
        let share = self.share();
        let now = Instant::now();
        std::thread::sleep(self.replies.ready_at(now, share) - now);
        self.replies.note_call(Instant::now(), share);
    }

    /// Processes a message. Returns `false` if it cannot be judged yet: its thread is then read
    /// again from there.
    fn take_found(&mut self, found: FoundMessage) -> Result<bool, AskerError> {
        if self.hearing.marks().marks().is_known(&found.thread, found.ts) {
            return Ok(true);
        }
        let mut fields = vec![("source", "history".into())];
        describe(&found.reported, &mut fields);
        let place = self.hearing.place();
        let routes = self.hearing.routes.get(&self.hearing.paths)?;
        let owner = self.hearing.owner(place.as_ref());
        match check_reply(Some(found.reported), owner, &routes) {
            Checked::Accepted { reply, route } => {
                fields.push(("outcome", "accepted".into()));
                self.hearing.keep_reply(reply, Some(&route), &mut fields)?;
            }
            // The thread was posted from here, and its route is missing or not written yet.
            Checked::NoRoute(reply) => match self.whose(&reply)? {
                UnroutedVerdict::Wait => return Ok(false),
                verdict => self.act_on(verdict, reply, &mut fields)?,
            },
            // The app's own messages are in the thread too.
            Checked::Dropped(_) => {}
        }
        Ok(true)
    }
}
