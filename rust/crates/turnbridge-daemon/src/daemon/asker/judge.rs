//! What was heard and could not be judged at once: whether it is a reply to a thread of ours, to
//! another machine's, or to none.

use std::collections::BTreeMap;
use std::sync::Arc;

use turnbridge_core::listening::{Verdict, whose};
use turnbridge_core::machine_wire::clean_name;
use turnbridge_core::notice_wire::Route;
use turnbridge_core::reply_check::{Checked, check_reply, is_valid};
use turnbridge_core::reply_wire::SlackMessage;
use turnbridge_core::slack_ts::SlackTs;
use turnbridge_core::thread_marks::ThreadKey;
use turnbridge_store::heard;
use turnbridge_store::log::Field;
use turnbridge_store::outbox::{self, Fate};

use super::{Asker, Trouble};
use crate::daemon::ears::describe;

impl Asker {
    /// The threads of ours for which something waits, with the newest of it.
    pub(super) fn heard_threads(&self) -> Result<Vec<(ThreadKey, SlackTs)>, Trouble> {
        let routes = self.hearing.routes.get(&self.hearing.paths)?;
        let mut threads = BTreeMap::new();
        for (_, heard) in heard::all(&self.hearing.paths)? {
            let said = heard.reported;
            let (Some(channel), Some(thread_ts)) = (said.channel, said.thread_ts) else { continue };
            let is_it = |route: &Route| route.channel == channel && route.thread_ts == thread_ts;
            if let Some(ts) = said.ts.as_deref().and_then(SlackTs::parse)
                && routes.iter().any(is_it)
            {
                threads.insert(ThreadKey { channel, thread_ts }, ts);
            }
        }
        Ok(threads.into_iter().collect())
    }

    /// `may_take`: also what is for threads of ours, which else waits for a look.
    pub(super) fn judge(&mut self, may_take: bool) -> Result<(), Trouble> {
        let Some(place) = self.hearing.place() else { return Ok(()) };
        let mut trouble = Ok(());
        for (id, heard) in heard::all(&self.hearing.paths)? {
            let mut fields = Vec::new();
            describe(&heard.reported, &mut fields);
            let routes = self.hearing.routes.get(&self.hearing.paths)?;
            let hearing = Arc::clone(&self.hearing);
            let checked = check_reply(Some(heard.reported), hearing.owner(Some(&place)), &routes);
            match checked {
                Checked::Accepted { message, route } => {
                    if !may_take {
                        continue;
                    }
                    fields.push(("outcome", Field::Text("accepted".to_owned())));
                    self.hearing.take(message, Some(&route), &mut fields)?;
                }
                Checked::Dropped(drop) => {
                    fields.push(("outcome", Field::Text(drop.as_str().to_owned())));
                    self.hearing.log.info("a message is no reply", &fields);
                }
                Checked::NoRoute(message) => match self.whose(&message) {
                    Ok(Verdict::Wait) => continue,
                    Ok(verdict) => self.act_on(verdict, message, &mut fields)?,
                    // Nothing is said as long as it is not known; the others are judged.
                    Err(error) => {
                        trouble = Err(error);
                        continue;
                    }
                },
            }
            heard::remove(&self.hearing.paths, &id)?;
        }
        trouble
    }

    /// The thread is told, or nothing is done: it is another machine's.
    pub(super) fn act_on(
        &mut self,
        verdict: Verdict,
        message: SlackMessage,
        fields: &mut Vec<(&str, Field)>,
    ) -> Result<(), Trouble> {
        fields.push(("outcome", Field::Text(verdict.word().to_owned())));
        match verdict {
            Verdict::Wait => {}
            Verdict::Tell => self.hearing.take(message, None, fields)?,
            Verdict::Elsewhere { machine, name } => {
                let name = name.map_or_else(|| "unknown".to_owned(), |name| clean_name(&name));
                if let (Some(machine), Some(ts)) = (machine, SlackTs::parse(&message.thread_ts)) {
                    self.hearing.state().machines.note(&machine, Some(&name), ts);
                }
                fields.push(("machine", Field::Text(name)));
                self.hearing.log.info("a reply is for another machine, which asks for it", fields);
            }
        }
        Ok(())
    }

    /// What is to be done with a reply whose thread has no route here.
    pub(super) fn whose(&mut self, message: &SlackMessage) -> Result<Verdict, Trouble> {
        let thread = ThreadKey::new(&message.channel, &message.thread_ts);
        if !self.parents.contains_key(&thread) {
            self.wait_for_replies();
            let token = &self.hearing.slack.bot_token;
            let parent = self.hearing.api.parent_of(token, &message.channel, &message.thread_ts)?;
            self.remember(thread.clone(), &parent);
        }
        let Some(parent) = self.parents.get(&thread) else { return Ok(Verdict::Wait) };
        let paths = &self.hearing.paths;
        let is_on_its_way = |id: &str| {
            outbox::fate(paths, id).is_ok_and(|fate| matches!(fate, Fate::Waiting | Fate::Held))
        };
        let is_alone = self.hearing.company().is_alone();
        let verdict = whose(parent, &self.hearing.machine.id, is_alone, is_on_its_way);
        // The notice may have arrived since the routes were read.
        let routes = self.hearing.routes.get(paths)?;
        let has_route = routes.iter().any(|route| {
            let is_of_thread =
                route.channel == message.channel && route.thread_ts == message.thread_ts;
            is_of_thread && is_valid(route)
        });
        Ok(if verdict == Verdict::Tell && has_route { Verdict::Wait } else { verdict })
    }
}
