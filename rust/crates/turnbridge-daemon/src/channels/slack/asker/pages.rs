//! Reads the parents of threads page by page. They show which machines post here, and which of this
//! machine's threads have new replies.

use std::collections::BTreeSet;
use std::time::Duration;

use turnbridge_config::slack_connection::speed_up;
use turnbridge_core::slack::listening::ThreadParent;
use turnbridge_core::slack::slack_ts::SlackTs;
use turnbridge_core::slack::thread_marks::{ThreadKey, ThreadMarks};
use turnbridge_slack::ParentPage;

use super::reading::ChangedThread;
use super::{Asker, AskerError, Sweep};

/// The number of parents in a look. It is small, because every machine makes one every few seconds.
pub const LOOK: u32 = 15;
/// The number of parents on a page of a sweep.
const SWEEP: u32 = 100;
/// The limit of cached parents.
const REMEMBERED: usize = 4_096;
/// The interval between reads of a thread whose newest reply Slack names but does not return.
const SHOWN_WITHIN: Duration = Duration::from_secs(60);

impl Asker {
    pub(super) fn read_newest_threads(&mut self, channel: &str) -> Result<(), AskerError> {
        let token = &self.hearing.slack.bot_token;
        let page = self.hearing.api.parents(token, channel, None, LOOK)?;
        self.see(channel, &page)?;
        // The waiting messages may be for older threads than these.
        let heard = self.heard_threads()?;
        let is_read = |marks: &ThreadMarks, (thread, ts): &(ThreadKey, SlackTs)| {
            marks.is_read(thread, *ts) || marks.is_taken(thread, *ts)
        };
        let heard = heard.into_iter().filter(|it| !is_read(self.hearing.marks().marks(), it));
        let heard = heard.map(|(thread, latest)| ChangedThread { thread, latest, count: None });
        let heard: Vec<_> = heard.collect();
        self.read_threads(heard)
    }

    /// Returns the time of the newest message among the newest threads, replies included.
    pub(super) fn newest_message(&self, channel: &str) -> Result<Option<SlackTs>, AskerError> {
        let token = &self.hearing.slack.bot_token;
        let page = self.hearing.api.parents(token, channel, None, SWEEP)?;
        let times =
            page.parents.iter().flat_map(|parent| [Some(&parent.ts), parent.latest_reply.as_ref()]);
        Ok(times.flatten().filter_map(|ts| SlackTs::parse(ts)).max())
    }

    /// Reads one page of the sweep. Returns whether the sweep is over.
    pub(super) fn sweep_page(&mut self, channel: &str) -> Result<bool, AskerError> {
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

    /// Returns the timestamp of this machine's oldest thread.
    fn oldest_thread(&self, channel: &str) -> Result<Option<SlackTs>, AskerError> {
        let routes = self.hearing.routes.get(&self.hearing.paths)?;
        let own = routes.iter().filter(|route| route.channel == channel);
        Ok(own.filter_map(|route| SlackTs::parse(&route.thread_ts)).min())
    }

    fn see(&mut self, channel: &str, page: &ParentPage) -> Result<(), AskerError> {
        self.note_machines(channel, page);
        let threads = self.threads_with_news(channel, page)?;
        self.read_threads(threads)
    }

    fn note_machines(&mut self, channel: &str, page: &ParentPage) {
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
        parent: &Option<turnbridge_slack::ParentMessage>,
    ) {
        if self.parents.len() >= REMEMBERED {
            self.parents.pop_first();
        }
        let tag = parent.as_ref().and_then(|parent| parent.ours.clone());
        let parent = tag.map_or(ThreadParent::NotOurs, |tag| ThreadParent::Ours {
            machine: tag.machine,
            name: tag.machine_name,
            notice: tag.id,
        });
        self.parents.insert(thread, parent);
    }

    /// Returns this machine's threads in which the owner may have written a message that is not
    /// stored here.
    fn threads_with_news(
        &mut self,
        channel: &str,
        page: &ParentPage,
    ) -> Result<Vec<ChangedThread>, AskerError> {
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
            let count = parent.reply_count;
            let is_whole = is_read && self.has_count(&thread, count);
            if !is_silent && !is_whole && !self.is_unreached(&thread, latest) {
                threads.push(ChangedThread { thread, latest, count });
            }
        }
        Ok(threads)
    }

    fn is_unreached(&mut self, thread: &ThreadKey, latest: SlackTs) -> bool {
        let within = SHOWN_WITHIN / speed_up();
        self.unreached.retain(|_, (_, at)| at.elapsed() < within);
        self.unreached.get(thread).is_some_and(|(asked, _)| *asked == latest)
    }

    /// Returns whether a thread has as many replies as when it was read. Slack may show a message
    /// later than a younger one: the newest reply then stays the same, but the count changes.
    fn has_count(&mut self, thread: &ThreadKey, count: Option<u64>) -> bool {
        let known = self.counts.get(thread).copied();
        if known.is_none() {
            self.note_count(thread, count);
        }
        known.is_none() || count.is_none() || known == count
    }

    pub(super) fn note_count(&mut self, thread: &ThreadKey, count: Option<u64>) {
        if self.counts.len() >= REMEMBERED {
            self.counts.pop_first();
        }
        if let Some(count) = count {
            self.counts.insert(thread.clone(), count);
        }
    }
}
