//! Keeps the state that both receivers of replies share: the socket's thread (`slack_intake`) and
//! the thread that queries Slack (`asker`). Both put each reply into the inbox by `keep_reply`.

use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use turnbridge_config::SlackConfig;
use turnbridge_config::slack_connection::account;
use turnbridge_core::notices::route::Route;
use turnbridge_core::replies::reply::{Reply, ReplySource};
use turnbridge_core::slack::listening::{Machines, OtherMachines};
use turnbridge_core::slack::machine_wire::Machine;
use turnbridge_core::slack::place_wire::SlackPlace;
use turnbridge_core::slack::reply_check::{BotWorkspace, ReplyOwner};
use turnbridge_core::slack::slack_ts::SlackTs;
use turnbridge_core::slack::thread_marks::MarkChange;
use turnbridge_slack::WebApi;
use turnbridge_store::clock;
use turnbridge_store::log::LogValue;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::inbox::{self, Accepted};
use turnbridge_store::state::slack_place;
use turnbridge_store::state::thread_marks::MarksFile;

use super::route_table::RouteTable;
use crate::daemon::event::DaemonEvent;
use crate::daemon::log::DaemonLog;

/// The read marks of a daemon: one file, whatever the config contains.
pub type Marks = Arc<Mutex<MarksFile>>;

/// The state of one connection, which both receivers share.
pub struct Hearing {
    pub paths: StatePaths,
    pub slack: SlackConfig,
    pub api: Arc<WebApi>,
    pub machine: Machine,
    pub log: DaemonLog,
    pub routes: RouteTable,
    pub events: Sender<DaemonEvent>,
    marks: Marks,
    account: String,
    place: Mutex<Option<SlackPlace>>,
    company: Mutex<ListenerState>,
}

/// The other machines and connections that share the app's events.
#[derive(Debug, Clone, Default)]
pub struct ListenerState {
    pub machines: Machines,
    pub other_listeners: usize,
    pub is_connected: bool,
    /// Slack allows no more sockets of the app.
    pub has_too_many: bool,
    /// All threads have been queried since this connection opened.
    pub is_caught_up: bool,
    pub is_stopped: bool,
}

impl ListenerState {
    pub fn company(&self, own: &str) -> OtherMachines {
        OtherMachines::of(&self.machines, own, self.other_listeners, self.is_connected)
    }
}

impl Hearing {
    pub fn new(
        paths: StatePaths,
        slack: SlackConfig,
        api: Arc<WebApi>,
        machine: Machine,
        marks: Marks,
        events: Sender<DaemonEvent>,
    ) -> Hearing {
        let account = account(&slack);
        let place = Mutex::new(slack_place::read(&paths, &account));
        let log = DaemonLog::new(&paths);
        let (routes, company) = (RouteTable::default(), Mutex::default());
        Hearing { paths, slack, api, machine, log, routes, events, marks, account, place, company }
    }

    pub fn user_id(&self) -> &str {
        self.slack.target_user_id.as_deref().unwrap_or_default()
    }

    /// Returns the direct message, as far as it is known without a call to Slack.
    pub fn place(&self) -> Option<SlackPlace> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stores what Slack returned. A failed write costs one call at the next start.
    pub fn set_place(&self, channel: String, team_id: Option<String>, enterprise: Option<String>) {
        let account = self.account.clone();
        let place = SlackPlace { version: 1, account, channel, team_id, enterprise_id: enterprise };
        if self.place().as_ref() != Some(&place) {
            let _ = slack_place::write(&self.paths, &place);
        }
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
    }

    pub fn owner<'a>(&'a self, place: Option<&'a SlackPlace>) -> ReplyOwner<'a> {
        ReplyOwner {
            user_id: self.user_id(),
            dm_channel: place.map(|place| place.channel.as_str()),
            workspace: place.map_or(BotWorkspace::default(), SlackPlace::workspace),
            machine: Some(&self.machine.id),
        }
    }

    pub fn state(&self) -> MutexGuard<'_, ListenerState> {
        self.company.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn company(&self) -> OtherMachines {
        self.state().company(&self.machine.id)
    }

    /// Returns whether no earlier message can be missing: all threads were queried, and the socket
    /// receives every message.
    pub fn hears_in_order(&self) -> bool {
        let state = self.state();
        state.is_caught_up && state.company(&self.machine.id).hears_all()
    }

    pub fn marks(&self) -> MutexGuard<'_, MarksFile> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a reply in the inbox, once. `route` is `None` if its thread leads to no session; a
    /// message in the thread then says so.
    pub fn keep_reply(
        &self,
        reply: Reply,
        route: Option<&Route>,
        fields: &mut Vec<(&str, LogValue)>,
    ) -> io::Result<()> {
        let thread = reply.thread.clone().ok_or(io::ErrorKind::InvalidInput)?;
        let ts = SlackTs::parse(&reply.ts).ok_or(io::ErrorKind::InvalidInput)?;
        let now = clock::now();
        let reply = reply.addressed(route, now);
        let mut marks = self.marks();
        let accepted = match marks.marks().is_taken(&thread, ts) {
            true => Accepted::Known,
            false => inbox::accept(&self.paths, &reply, now)?,
        };
        if accepted == Accepted::New {
            // The reply is stored. Its file makes it known until the next start reads it.
            if let Err(error) = marks.change(MarkChange::Taken { thread, ts }) {
                let fields = [("error", error.to_string().into())];
                self.log.warn("could not store a reply's mark", &fields);
            }
        }
        drop(marks);
        let message = match accepted {
            Accepted::New => "reply received",
            Accepted::Known => "reply received before",
        };
        fields.push(("reply", reply.id.into()));
        self.log.info(message, fields);
        let _ = self.events.send(DaemonEvent::ReplyKept);
        Ok(())
    }
}

/// Marks all replies in the inbox as taken. This repairs a kill between the reply's file and its
/// mark, and the state of a 0.1, which had no marks.
pub fn adopt_inbox(paths: &StatePaths, marks: &mut MarksFile) -> io::Result<()> {
    let open = inbox::entries(paths)?.into_iter().map(|entry| entry.reply);
    let finished = inbox::finished(paths)?.into_iter().map(|(reply, _)| reply);
    for reply in open.chain(finished).filter(|reply| reply.source == ReplySource::SLACK) {
        let Some(thread) = reply.thread else { continue };
        let Some(ts) = SlackTs::parse(&reply.ts) else { continue };
        if !marks.marks().is_known(&thread, ts) {
            marks.change(MarkChange::Taken { thread, ts })?;
        }
    }
    Ok(())
}
