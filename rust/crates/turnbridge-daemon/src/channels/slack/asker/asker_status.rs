//! Reports how the queries for replies go: each problem once in the log, and each change in the
//! daemon's status.

use std::sync::Arc;
use std::time::Duration;

use turnbridge_core::system::daemon_wire::{MachineStatus, RepliesStatus};
use turnbridge_store::clock;
use turnbridge_store::state::heard;

use super::AskerError;
use crate::channels::slack::hearing::Hearing;

/// The callback that receives the status.
pub type StatusSink = Box<dyn Fn(RepliesStatus) + Send>;

/// The last reported state of the queries.
pub struct AskerStatus {
    hearing: Arc<Hearing>,
    problem: Option<(String, Option<String>)>,
    caught_up_at: Option<String>,
    was_caught_up: bool,
    told: Option<RepliesStatus>,
    tell: StatusSink,
}

impl AskerStatus {
    pub fn new(hearing: Arc<Hearing>, tell: StatusSink) -> AskerStatus {
        let (problem, caught_up_at, told) = (None, None, None);
        AskerStatus { hearing, problem, caught_up_at, was_caught_up: false, told, tell }
    }

    /// Logs a failure, unless it is the same as the last one.
    pub fn note_failure(&mut self, trouble: &AskerError) {
        let (error, hint) = match trouble {
            AskerError::Slack(error) => (error.to_string(), error.hint().map(str::to_owned)),
            AskerError::Files(error) => (format!("our own files: {error}"), None),
        };
        let problem = Some((error.clone(), hint.clone()));
        if self.problem != problem {
            let mut fields = vec![("error", error.into())];
            fields.extend(hint.map(|hint| ("hint", hint.into())));
            self.hearing.log.warn("could not ask Slack for replies", &fields);
            self.problem = problem;
        }
    }

    /// Logs that the last failure is over.
    pub fn note_success(&mut self) {
        if self.problem.take().is_some() {
            self.hearing.log.info("Slack can be asked for replies again", &[]);
        }
    }

    /// Reports the status if it has changed.
    pub fn report(&mut self, every: Duration) {
        let own = &self.hearing.machine;
        let state = self.hearing.state().clone();
        if state.is_caught_up && !self.was_caught_up {
            self.caught_up_at = Some(clock::now().to_string());
        }
        self.was_caught_up = state.is_caught_up;
        let others = state.machines.all().filter(|(id, _)| *id != own.id);
        let others =
            others.map(|(_, seen)| MachineStatus { name: seen.name.clone(), is_this: false });
        let this = MachineStatus { name: own.name.clone(), is_this: true };
        let unjudged = heard::all(&self.hearing.paths).map_or(0, |heard| heard.len());
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let (problem, hint) = self.problem.clone().map_or((None, None), |(p, h)| (Some(p), h));
        let status = RepliesStatus {
            machines: std::iter::once(this).chain(others).collect(),
            listeners: count(state.other_listeners + usize::from(state.is_connected)),
            too_many_listeners: state.has_too_many,
            asks_every_seconds: u32::try_from(every.as_millis().div_ceil(1_000))
                .unwrap_or(u32::MAX),
            caught_up_at: self.caught_up_at.clone(),
            problem,
            hint,
            unjudged: count(unjudged),
        };
        if self.told.as_ref() != Some(&status) {
            self.told = Some(status.clone());
            (self.tell)(status);
        }
    }
}
