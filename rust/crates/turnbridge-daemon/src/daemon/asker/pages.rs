//! Parents, page by page: who posts here, which threads of ours have something new, and what it is.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use turnbridge_core::listening::{Parent, Verdict};
use turnbridge_core::reply_check::{Checked, check_reply};
use turnbridge_core::reply_wire::{Reported, read_fetched};
use turnbridge_core::slack_ts::SlackTs;
use turnbridge_core::thread_marks::{MarkChange, ThreadKey, ThreadMarks};
use turnbridge_slack::{CallError, Page};
use turnbridge_store::log::Field;

use super::{Asker, Sweep, Trouble};
use crate::daemon::ears::describe;
use crate::notifier::haste;

/// Parents that a look asks for. Few, because every machine does so every few seconds.
pub const LOOK: u32 = 15;
/// Parents on a page of a sweep.
const SWEEP: u32 = 100;
/// Parents whose owner is remembered.
const REMEMBERED: usize = 4_096;
/// When a thread is asked for again whose newest reply Slack names and does not show.
const SHOWN_WITHIN: Duration = Duration::from_secs(60);

/// A message of a thread of ours.
struct Found {
    ts: SlackTs,
    thread: ThreadKey,
    reported: Reported,
}

impl Asker {
    pub(super) fn look(&mut self, channel: &str) -> Result<(), Trouble> {
        let token = &self.hearing.slack.bot_token;
        let page = self.hearing.api.parents(token, channel, None, LOOK)?;
        self.see(channel, &page)?;
        // What was heard may be for a thread that is older than these.
        let heard = self.heard_threads()?;
        let is_read = |marks: &ThreadMarks, (thread, ts): &(ThreadKey, SlackTs)| {
            marks.is_read(thread, *ts) || marks.is_taken(thread, *ts)
        };
        let heard: Vec<_> =
            heard.into_iter().filter(|it| !is_read(self.hearing.marks().marks(), it)).collect();
        self.read_threads(heard)
    }

    /// Returns the time of the newest message among the newest threads, replies included.
    pub(super) fn newest_message(&self, channel: &str) -> Result<Option<SlackTs>, Trouble> {
        let token = &self.hearing.slack.bot_token;
        let page = self.hearing.api.parents(token, channel, None, SWEEP)?;
        let times =
            page.parents.iter().flat_map(|parent| [Some(&parent.ts), parent.latest_reply.as_ref()]);
        Ok(times.flatten().filter_map(|ts| SlackTs::parse(ts)).max())
    }

    /// Whether the sweep is over.
    pub(super) fn sweep_page(&mut self, channel: &str) -> Result<bool, Trouble> {
        let from = self.sweep.as_ref().and_then(|sweep| sweep.from.clone());
        let token = &self.hearing.slack.bot_token;
        let page = self.hearing.api.parents(token, channel, from.as_deref(), SWEEP)?;
        self.see(channel, &page)?;
        let oldest = page.parents.iter().filter_map(|parent| SlackTs::parse(&parent.ts)).min();
        let is_past =
            self.oldest_thread(channel)?.is_none_or(|own| oldest.is_some_and(|it| it <= own));
        self.sweep = Some(Sweep { from: page.next.clone() });
        Ok(page.next.is_none() || is_past)
    }

    /// Nothing of ours is older.
    fn oldest_thread(&self, channel: &str) -> Result<Option<SlackTs>, Trouble> {
        let routes = self.hearing.routes.get(&self.hearing.paths)?;
        let own = routes.iter().filter(|route| route.channel == channel);
        Ok(own.filter_map(|route| SlackTs::parse(&route.thread_ts)).min())
    }

    fn see(&mut self, channel: &str, page: &Page) -> Result<(), Trouble> {
        self.note_machines(channel, page);
        let threads = self.threads_with_news(channel, page)?;
        self.read_threads(threads)
    }

    /// Keeps what is new in them, and then moves their marks.
    fn read_threads(&mut self, threads: Vec<(ThreadKey, SlackTs)>) -> Result<(), Trouble> {
        let mut found = Vec::new();
        let mut read = Vec::new();
        for (thread, latest) in threads {
            let messages = self.read_thread(&thread)?;
            let newest = messages.iter().map(|message| message.ts).max();
            if newest.is_none_or(|newest| newest < latest) {
                self.unreached.insert(thread.clone(), (latest, Instant::now()));
            }
            found.extend(messages);
            read.extend(newest.map(|ts| (thread, ts)));
        }
        // Threads of one session are several: in the order in which they were written.
        found.sort_by_key(|found| found.ts);
        let mut open = BTreeSet::new();
        for message in found {
            let thread = message.thread.clone();
            if !self.take_found(message)? {
                open.insert(thread);
            }
        }
        for (thread, ts) in read.into_iter().filter(|(thread, _)| !open.contains(thread)) {
            self.hearing.marks().change(MarkChange::ReadTo { thread, ts })?;
        }
        Ok(())
    }

    fn note_machines(&mut self, channel: &str, page: &Page) {
        let mut state = self.hearing.state();
        for parent in &page.parents {
            let (Some(tag), Some(ts)) = (&parent.ours, SlackTs::parse(&parent.ts)) else {
                continue;
            };
            if let Some(machine) = &tag.machine {
                state.machines.note(machine, tag.machine_name.as_deref(), ts);
            }
        }
        state.machines.forget_old();
        drop(state);
        for parent in &page.parents {
            self.remember(ThreadKey::new(channel, &parent.ts), &Some(parent.clone()));
        }
    }

    pub(super) fn remember(
        &mut self,
        thread: ThreadKey,
        parent: &Option<turnbridge_slack::Parent>,
    ) {
        if self.parents.len() >= REMEMBERED {
            self.parents.pop_first();
        }
        let tag = parent.as_ref().and_then(|parent| parent.ours.clone());
        let parent = tag.map_or(Parent::NotOurs, |tag| Parent::Ours {
            machine: tag.machine,
            name: tag.machine_name,
            notice: tag.id,
        });
        self.parents.insert(thread, parent);
    }

    /// Threads of ours in which the owner may have written something that we do not have.
    fn threads_with_news(
        &mut self,
        channel: &str,
        page: &Page,
    ) -> Result<Vec<(ThreadKey, SlackTs)>, Trouble> {
        let own = self.hearing.machine.id.clone();
        let routes = self.hearing.routes.get(&self.hearing.paths)?;
        let is_here = |machine: Option<&String>| machine.is_none_or(|machine| *machine == own);
        let routed: BTreeSet<&str> = routes
            .iter()
            .filter(|route| route.channel == channel && is_here(route.machine.as_ref()))
            .map(|route| route.thread_ts.as_str())
            .collect();
        let mut threads = Vec::new();
        for parent in &page.parents {
            let posted_here = parent.ours.as_ref().and_then(|tag| tag.machine.as_ref());
            let is_own = routed.contains(parent.ts.as_str()) || posted_here == Some(&own);
            let latest = parent.latest_reply.as_deref().and_then(SlackTs::parse);
            let Some(latest) = latest.filter(|_| is_own) else { continue };
            let thread = ThreadKey::new(channel, &parent.ts);
            let users = parent.reply_users.as_ref();
            let is_silent =
                users.is_some_and(|users| !users.iter().any(|user| user == self.hearing.user_id()));
            let is_read = self.hearing.marks().marks().is_read(&thread, latest);
            if !is_silent && !is_read && !self.is_unreached(&thread, latest) {
                threads.push((thread, latest));
            }
        }
        Ok(threads)
    }

    fn is_unreached(&mut self, thread: &ThreadKey, latest: SlackTs) -> bool {
        let within = SHOWN_WITHIN / haste();
        self.unreached.retain(|_, (_, at)| at.elapsed() < within);
        self.unreached.get(thread).is_some_and(|(asked, _)| *asked == latest)
    }

    fn read_thread(&mut self, thread: &ThreadKey) -> Result<Vec<Found>, Trouble> {
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
                // Its parent was deleted, and it with it.
                Err(CallError::Refused { error, .. }) if error == "thread_not_found" => {
                    let fields = [("thread_ts", Field::Text(thread.thread_ts.clone()))];
                    self.hearing.log.warn("a thread of ours is gone from Slack", &fields);
                    return Ok(Vec::new());
                }
                page => page?,
            };
            for message in messages {
                let reported = read_fetched(message.as_bytes(), &thread.channel);
                let ts = reported.as_ref().and_then(|it| SlackTs::parse(it.ts.as_deref()?));
                if let (Some(reported), Some(ts)) = (reported, ts) {
                    found.push(Found { ts, thread: thread.clone(), reported });
                }
            }
            from = next;
            if from.is_none() {
                return Ok(found);
            }
        }
    }

    /// Until our share allows another call of `conversations.replies`.
    pub(super) fn wait_for_replies(&mut self) {
        let share = self.share();
        let now = Instant::now();
        std::thread::sleep(self.replies.ready_at(now, share) - now);
        self.replies.take(Instant::now(), share);
    }

    /// `false` if it cannot be judged yet: its thread is read again from there.
    fn take_found(&mut self, found: Found) -> Result<bool, Trouble> {
        if self.hearing.marks().marks().is_known(&found.thread, found.ts) {
            return Ok(true);
        }
        let mut fields = vec![("source", Field::Text("history".to_owned()))];
        describe(&found.reported, &mut fields);
        let place = self.hearing.place();
        let routes = self.hearing.routes.get(&self.hearing.paths)?;
        let owner = self.hearing.owner(place.as_ref());
        match check_reply(Some(found.reported), owner, &routes) {
            Checked::Accepted { message, route } => {
                fields.push(("outcome", Field::Text("accepted".to_owned())));
                self.hearing.take(message, Some(&route), &mut fields)?;
            }
            // Posted from here, and its route is gone or is still to come.
            Checked::NoRoute(message) => match self.whose(&message)? {
                Verdict::Wait => return Ok(false),
                verdict => self.act_on(verdict, message, &mut fields)?,
            },
            // What we have said ourselves is in there too.
            Checked::Dropped(_) => {}
        }
        Ok(true)
    }
}
