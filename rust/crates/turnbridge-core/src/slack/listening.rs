//! Decides how several machines share one Slack app: which machine a thread belongs to, whether the
//! user receives a message about a reply without a route, and how often each machine polls its
//! threads.
//!
//! Slack sends an event to one socket of the app, chosen at random. So a machine may receive a
//! reply for another machine, which it ignores, and may miss its own replies, which it therefore
//! polls for.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::slack::machine_wire::{clean_name, is_machine_id};
use crate::slack::slack_ts::SlackTs;

/// The first message of a thread, as fetched from Slack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThreadParent {
    /// It does not exist, or is not by the app's bot, or is no message of Turnbridge.
    NotOurs,
    /// The app's bot posted it from this machine. `None`: a 0.1 did, without naming the machine.
    Ours { machine: Option<String>, name: Option<String>, notice: Option<String> },
}

impl ThreadParent {
    /// Returns the id of the notice for which the machine `own` posted it. Returns `None` if
    /// another machine did, or the message does not name one.
    pub fn notice_of(&self, own: &str) -> Option<&str> {
        let ThreadParent::Ours { machine, notice, .. } = self else { return None };
        let id = notice.as_deref().filter(|_| machine.as_deref() == Some(own))?;
        Some(id.rsplit_once('/').map_or(id, |(id, _)| id))
    }
}

/// The treatment of a reply in a thread that has no route here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnroutedVerdict {
    /// The thread is this machine's: the user is told that it has no session (any more).
    Explain,
    /// The thread is another machine's, which polls for the reply. This machine posts no message.
    Elsewhere { machine: Option<String>, name: Option<String> },
    /// This machine is posting the thread at the moment: its route follows.
    Wait,
}

impl UnroutedVerdict {
    /// Returns the word for the log.
    pub const fn word(&self) -> &'static str {
        match self {
            UnroutedVerdict::Explain => "no_route",
            UnroutedVerdict::Elsewhere { .. } => "other_machine",
            UnroutedVerdict::Wait => "route_to_come",
        }
    }
}

/// Decides which machine a thread belongs to. `is_alone`: there is no sign of another machine.
/// `is_on_its_way` returns whether the notice with an id is still being delivered from here.
pub fn whose(
    parent: &ThreadParent,
    own: &str,
    is_alone: bool,
    is_on_its_way: impl Fn(&str) -> bool,
) -> UnroutedVerdict {
    match parent {
        ThreadParent::NotOurs => UnroutedVerdict::Explain,
        ThreadParent::Ours { machine: Some(id), .. } if id == own => {
            let is_coming = parent.notice_of(own).is_some_and(is_on_its_way);
            if is_coming { UnroutedVerdict::Wait } else { UnroutedVerdict::Explain }
        }
        ThreadParent::Ours { machine: None, .. } if is_alone => UnroutedVerdict::Explain,
        ThreadParent::Ours { machine, name, .. } => {
            UnroutedVerdict::Elsewhere { machine: machine.clone(), name: name.clone() }
        }
    }
}

/// The machines that have posted with the app recently.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machines(BTreeMap<String, SeenMachine>);

/// A machine by its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenMachine {
    pub name: String,
    /// The time of its newest message, by Slack's clock.
    pub last: SlackTs,
}

/// The time after which a machine without messages no longer counts.
const LATELY: Duration = Duration::from_secs(7 * 24 * 60 * 60);

impl Machines {
    /// Records a message of the machine `id`. An invalid id is ignored.
    pub fn note(&mut self, id: &str, name: Option<&str>, ts: SlackTs) {
        if !is_machine_id(id) {
            return;
        }
        let name = clean_name(name.unwrap_or_default());
        let seen = self
            .0
            .entry(id.to_owned())
            .or_insert_with(|| SeenMachine { name: name.clone(), last: ts });
        if ts >= seen.last {
            *seen = SeenMachine { name, last: ts };
        }
    }

    /// Removes machines without messages in the week before the newest one. Only Slack's clock
    /// counts: by its own clock, if that is ahead, a machine would believe itself alone.
    pub fn forget_old(&mut self) {
        let newest = self.0.values().map(|seen| seen.last).max();
        self.0.retain(|_, seen| newest.is_none_or(|newest| seen.last >= newest.minus(LATELY)));
    }

    pub fn all(&self) -> impl Iterator<Item = (&str, &SeenMachine)> {
        self.0.iter().map(|(id, seen)| (id.as_str(), seen))
    }

    fn others(&self, own: &str) -> usize {
        self.0.keys().filter(|id| *id != own).count()
    }
}

/// The signs of other machines that use the app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OtherMachines {
    /// The number of machines besides this one, by their messages.
    pub other_machines: usize,
    /// The number of the app's sockets besides this machine's, as counted in Slack's hello.
    pub other_listeners: usize,
    /// Whether this machine has a socket.
    pub is_connected: bool,
}

impl OtherMachines {
    pub fn of(
        machines: &Machines,
        own: &str,
        other_listeners: usize,
        is_connected: bool,
    ) -> OtherMachines {
        OtherMachines { other_machines: machines.others(own), other_listeners, is_connected }
    }

    /// Returns whether there is no sign of another machine.
    pub fn is_alone(&self) -> bool {
        self.other_machines == 0 && self.other_listeners == 0
    }

    /// Returns whether this machine's socket receives every reply, because there is no sign of
    /// another one.
    pub fn hears_all(&self) -> bool {
        self.is_alone() && self.is_connected
    }

    /// Returns the number of machines, this one included, by whichever sign shows more.
    pub fn machines(&self) -> usize {
        1 + self.other_machines.max(self.other_listeners)
    }
}

/// Slack allows an app some 50 calls of a method per minute and workspace, for all machines.
const SHARE: Duration = Duration::from_millis(1_200);
const SHORTEST: Duration = Duration::from_secs(3);
/// Where a socket receives every reply, polling only detects that another machine has come.
const RELAXED: Duration = Duration::from_secs(15);

/// Returns the pause between two polls of the newest threads.
pub fn look_every(company: &OtherMachines) -> Duration {
    if company.hears_all() { RELAXED } else { SHORTEST.max(share(company)) }
}

/// Returns the pause between two calls of one method by this machine: the machines share Slack's
/// limit.
pub fn share(company: &OtherMachines) -> Duration {
    SHARE * u32::try_from(company.machines()).unwrap_or(u32::MAX)
}

/// Returns the pause between two polls of all threads, however old.
pub fn sweep_every(company: &OtherMachines) -> Duration {
    if company.hears_all() { Duration::from_secs(15 * 60) } else { Duration::from_secs(5 * 60) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "00000000000000000000000000000001";
    const OTHER: &str = "00000000000000000000000000000002";

    fn ours(machine: Option<&str>) -> ThreadParent {
        let notice = Some("claude-n1/0".to_owned());
        ThreadParent::Ours {
            machine: machine.map(str::to_owned),
            name: Some("desk".into()),
            notice,
        }
    }

    #[test]
    fn a_reply_without_a_route_is_told_only_where_that_is_true() {
        let other =
            UnroutedVerdict::Elsewhere { machine: Some(OTHER.into()), name: Some("desk".into()) };
        let unnamed = UnroutedVerdict::Elsewhere { machine: None, name: Some("desk".into()) };
        let table = [
            (ThreadParent::NotOurs, true, false, UnroutedVerdict::Explain),
            (ThreadParent::NotOurs, false, false, UnroutedVerdict::Explain),
            (ours(Some(OWN)), false, false, UnroutedVerdict::Explain),
            (ours(Some(OWN)), true, true, UnroutedVerdict::Wait),
            (ours(Some(OTHER)), false, false, other.clone()),
            // The other machine was unknown before.
            (ours(Some(OTHER)), true, true, other),
            (ours(None), false, false, unnamed),
            (ours(None), true, false, UnroutedVerdict::Explain),
        ];
        for (parent, is_alone, is_on_its_way, verdict) in table {
            let found = whose(&parent, OWN, is_alone, |id| id == "claude-n1" && is_on_its_way);
            assert_eq!(found, verdict, "{parent:?} {is_alone} {is_on_its_way}");
        }
    }

    #[test]
    fn the_more_machines_the_longer_each_waits() {
        let company = |other_machines, other_listeners, is_connected| OtherMachines {
            other_machines,
            other_listeners,
            is_connected,
        };
        for ((machines, listeners, is_connected), milliseconds) in [
            ((0, 0, true), 15_000),
            ((0, 0, false), 3_000),
            ((1, 0, true), 3_000),
            ((0, 1, true), 3_000),
            ((9, 3, true), 12_000),
            ((3, 9, false), 12_000),
            ((49, 9, true), 60_000),
        ] {
            let company = company(machines, listeners, is_connected);
            assert_eq!(look_every(&company), Duration::from_millis(milliseconds), "{company:?}");
        }
    }

    #[test]
    fn machines_are_counted_by_what_they_posted_in_the_last_week() {
        let day = |day: i64| SlackTs::from_micros(day * 86_400_000_000);
        let mut machines = Machines::default();
        machines.note(OWN, Some("desk"), day(1));
        machines.note(OTHER, Some("old name"), day(2));
        machines.note(OTHER, Some("lap\u{1b}top.local"), day(3));
        machines.note(OTHER, Some("older name"), day(1));
        machines.note("junk", None, day(3));
        let names: Vec<_> = machines.all().map(|(_, seen)| seen.name.clone()).collect();
        assert_eq!(names, ["desk", "laptop"]);
        assert_eq!(OtherMachines::of(&machines, OWN, 0, true).machines(), 2);
        machines.forget_old();
        assert_eq!(OtherMachines::of(&machines, OWN, 0, true).machines(), 2);
        machines.note(OWN, Some("desk"), day(10));
        machines.forget_old();
        assert_eq!(OtherMachines::of(&machines, OWN, 0, true).machines(), 2, "a week of quiet");
        machines.note(OWN, Some("desk"), day(11));
        machines.forget_old();
        assert!(OtherMachines::of(&machines, OWN, 0, true).is_alone());
    }
}
