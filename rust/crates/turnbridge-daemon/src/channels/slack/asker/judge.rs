//! Judges the messages that the socket stored because it could not judge them: whether each is a
//! reply to a thread of this machine, of another machine, or of none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use turnbridge_core::ids::ChannelName;
use turnbridge_core::notices::route::Route;
use turnbridge_core::replies::reply::Reply;
use turnbridge_core::slack::listening::{ThreadParent, UnroutedVerdict, whose};
use turnbridge_core::slack::machine_wire::clean_name;
use turnbridge_core::slack::place_wire::SlackPlace;
use turnbridge_core::slack::reply_check::{Checked, check_reply, is_valid};
use turnbridge_core::slack::slack_ts::SlackTs;
use turnbridge_core::slack::thread_marks::ThreadKey;
use turnbridge_store::log::LogValue;
use turnbridge_store::state::heard;
use turnbridge_store::state::outbox;

use super::{Asker, AskerError};
use crate::channels::slack::slack_intake::describe;
use crate::channels::slack::slack_route::keep_route;

impl Asker {
    /// Returns this machine's threads for which messages wait, with the newest of each.
    pub(super) fn heard_threads(&self) -> Result<Vec<(ThreadKey, SlackTs)>, AskerError> {
        let routes = self.hearing.routes.get(&self.hearing.paths)?;
        let mut threads = BTreeMap::new();
        for (_, heard) in heard::all(&self.hearing.paths)? {
            let said = heard.reported;
            let (Some(channel), Some(thread_ts)) = (said.channel, said.thread_ts) else { continue };
            let is_it = |route: &Route| route.is_of(&channel, &thread_ts);
            if let Some(ts) = said.ts.as_deref().and_then(SlackTs::parse)
                && routes.iter().any(is_it)
            {
                threads.insert(ThreadKey { channel, thread_ts }, ts);
            }
        }
        Ok(threads.into_iter().collect())
    }

    /// Judges the waiting messages. With `may_take` it also accepts those for this machine's
    /// threads, which otherwise wait for a look.
    pub(super) fn judge(&mut self, may_take: bool) -> Result<(), AskerError> {
        // Slack must have named the workspace first.
        let is_known = |place: &SlackPlace| self.has_place || place.team_id.is_some();
        let Some(place) = self.hearing.place().filter(is_known) else { return Ok(()) };
        let mut waiting = BTreeSet::new();
        for (id, heard) in heard::all(&self.hearing.paths)? {
            let mut fields = Vec::new();
            describe(&heard.reported, &mut fields);
            let routes = self.hearing.routes.get(&self.hearing.paths)?;
            let hearing = Arc::clone(&self.hearing);
            let checked = check_reply(Some(heard.reported), hearing.owner(Some(&place)), &routes);
            match checked {
                Checked::Accepted { reply, route } => {
                    if !may_take {
                        continue;
                    }
                    fields.push(("outcome", "accepted".into()));
                    self.hearing.keep_reply(reply, Some(&route), &mut fields)?;
                }
                Checked::Dropped(drop) => {
                    fields.push(("outcome", drop.as_str().into()));
                    self.hearing.log.info("message ignored: not a reply", &fields);
                }
                Checked::NoRoute(reply) => match self.whose(&reply)? {
                    // The message waits silently while its owner is unknown. The others are judged.
                    UnroutedVerdict::Wait => {
                        waiting.extend(reply.thread);
                        continue;
                    }
                    verdict => self.act_on(verdict, reply, &mut fields)?,
                },
            }
            heard::remove(&self.hearing.paths, &id)?;
        }
        self.unasked.retain(|thread, _| waiting.contains(thread));
        Ok(())
    }

    /// Acts on the verdict: queues a message to the thread, or only logs that the thread is another
    /// machine's.
    pub(super) fn act_on(
        &mut self,
        verdict: UnroutedVerdict,
        reply: Reply,
        fields: &mut Vec<(&str, LogValue)>,
    ) -> Result<(), AskerError> {
        fields.push(("outcome", verdict.word().into()));
        match verdict {
            UnroutedVerdict::Wait => {}
            UnroutedVerdict::Explain => self.hearing.keep_reply(reply, None, fields)?,
            UnroutedVerdict::Elsewhere { machine, name } => {
                let name = name.map_or_else(|| "unknown".to_owned(), |name| clean_name(&name));
                let begun = reply.thread.and_then(|thread| SlackTs::parse(&thread.thread_ts));
                if let (Some(machine), Some(ts)) = (machine, begun) {
                    self.hearing.state().machines.note(&machine, Some(&name), ts);
                }
                fields.push(("machine", name.into()));
                self.hearing
                    .log
                    .info("reply ignored: its thread belongs to another machine", fields);
            }
        }
        Ok(())
    }

    /// Returns the verdict on a reply whose thread has no route here.
    pub(super) fn whose(&mut self, reply: &Reply) -> Result<UnroutedVerdict, AskerError> {
        let Some(thread) = reply.thread.clone() else { return Ok(UnroutedVerdict::Explain) };
        if !self.parents.contains_key(&thread) {
            self.ask_for_parent(&thread);
        }
        let Some(parent) = self.parents.get(&thread) else { return Ok(UnroutedVerdict::Wait) };
        let paths = &self.hearing.paths;
        self.adopt_route(parent, &thread)?;
        let waiting = |id: &str| outbox::read_for(paths, id, &ChannelName::SLACK);
        let is_on_its_way = |id: &str| waiting(id).is_some_and(|entry| !entry.progress.held);
        let is_alone = self.hearing.company().is_alone();
        let verdict = whose(parent, &self.hearing.machine.id, is_alone, is_on_its_way);
        // The notice may have arrived since the routes were read.
        let routes = self.hearing.routes.get(paths)?;
        let has_route = routes
            .iter()
            .any(|route| route.is_of(&thread.channel, &thread.thread_ts) && is_valid(route));
        Ok(if verdict == UnroutedVerdict::Explain && has_route {
            UnroutedVerdict::Wait
        } else {
            verdict
        })
    }

    /// Adds a missing route. A held notice does not arrive by itself, but its parent may have
    /// arrived without a response to this machine. The thread then leads to the notice's session.
    fn adopt_route(&self, parent: &ThreadParent, thread: &ThreadKey) -> Result<(), AskerError> {
        let paths = &self.hearing.paths;
        let Some(id) = parent.notice_of(&self.hearing.machine.id) else { return Ok(()) };
        let entry = outbox::read_for(paths, id, &ChannelName::SLACK);
        let entry = entry.filter(|entry| entry.progress.held);
        let Some(entry) = entry else { return Ok(()) };
        Ok(keep_route(paths, &entry.notice, &thread.channel, &thread.thread_ts)?)
    }

    /// Asks Slack for the thread's parent, unless a backoff holds this thread or all calls.
    fn ask_for_parent(&mut self, thread: &ThreadKey) {
        let now = Instant::now();
        let is_held = self.unasked.get(thread).is_some_and(|backoff| backoff.is_held(now));
        if is_held || self.held.is_held(now) {
            return;
        }
        self.wait_for_replies();
        let (api, token) = (&self.hearing.api, &self.hearing.slack.bot_token);
        match api.parent_of(token, &thread.channel, &thread.thread_ts).map_err(AskerError::from) {
            Ok(parent) => {
                self.unasked.remove(thread);
                self.remember(thread.clone(), &parent);
            }
            Err(trouble) if trouble.is_general() => self.hold(&trouble),
            Err(trouble) => {
                let backoff = self.unasked.entry(thread.clone()).or_default();
                backoff.fail(Instant::now(), &trouble);
                self.status.note_failure(&trouble);
            }
        }
    }
}
