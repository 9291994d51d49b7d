//! Tracks which session is shown in which pane (KT-73), and builds the events of the sessions when
//! a pane stops showing them.
//!
//! Claude's hooks find the pane in their environment, so its bindings are derived from the session
//! files and stored nowhere else. Codex's come from launches (`codex_binding`), or from its hooks
//! if they know a pane and no launch was seen.

use std::collections::{BTreeMap, BTreeSet};

use crate::agents::codex::codex_binding::{BindingInput, Bindings};
use crate::agents::codex::codex_launch;
use crate::ids::{Agent, SessionId, SessionKey};
use crate::session::event::{Event, EventFacts, EventKind, PaneEnd, ProcessKey};
use crate::session::{Run, RunEnvironment, Session, State};
use crate::terminals::pane_id::{PaneId, pane_of};
use crate::timestamp::Timestamp;

/// The limit of stored panes. Beyond it, most have been closed without a report.
const MAX_PANES: usize = 512;

/// The reported launches, and the observations since then.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Panes {
    pub codex: Bindings,
    pub launches: BTreeMap<PaneId, LastLaunch>,
}

/// The last launch of an agent in a pane, until the prompt is back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastLaunch {
    pub agent: Agent,
    pub at: Timestamp,
    /// The variables of the pane and its host: Codex's rollouts do not contain them.
    pub env: BTreeMap<String, String>,
    /// Since when its screen has not changed, as reported by a host (KT-82).
    pub output_stopped_at: Option<Timestamp>,
}

/// A command line that a pane's shell is about to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneLaunch<'a> {
    pub agent: Agent,
    pub argv: Vec<&'a str>,
    /// Its working directory, links resolved, `-C` included.
    pub cwd: String,
    pub env: BTreeMap<String, String>,
    pub at: Timestamp,
}

/// A session that a pane shows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Binding {
    pub pane: PaneId,
    pub agent: Agent,
    pub session_id: SessionId,
    /// The run that is shown. All events of a Codex thread are one run.
    pub process: ProcessKey,
}

/// How a session is shown in panes, apart from its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PaneView {
    /// A pane shows it: it has a dot, not only a ring.
    pub is_shown: bool,
    /// It works, but its screen has stopped: a hint, and no state.
    pub has_fallen_silent: bool,
}

impl Panes {
    /// Records a launch. The program before it has ended: its shell was back (KT-70).
    pub fn launch(&mut self, pane: &PaneId, launch: PaneLaunch) {
        self.leave(pane, PaneEnd::PromptReturned);
        if launch.agent.is_bound_to_panes_by_launch()
            && let Some(mut started) = codex_launch::classify(&launch.argv)
        {
            // The launch's directory is included in `cwd`.
            started.directory = None;
            // Codex counts milliseconds, and a thread must not seem older than its launch.
            let at = Timestamp::from_millis(launch.at.as_micros().div_euclid(1_000));
            self.codex.apply(BindingInput::Launched {
                pane: pane.clone(),
                launch: started,
                cwd: launch.cwd,
                at,
            });
        }
        let PaneLaunch { agent, at, env, .. } = launch;
        let launched = LastLaunch { agent, at, env, output_stopped_at: None };
        self.launches.insert(pane.clone(), launched);
        while self.launches.len() > MAX_PANES {
            let oldest = self.launches.iter().min_by_key(|(_, launched)| launched.at);
            let Some(oldest) = oldest.map(|(pane, _)| pane.clone()) else { break };
            self.leave(&oldest, PaneEnd::Closed);
        }
    }

    /// Removes the pane, which shows no agent any more.
    pub fn leave(&mut self, pane: &PaneId, why: PaneEnd) {
        self.launches.remove(pane);
        let pane = pane.clone();
        self.codex.apply(match why {
            PaneEnd::PromptReturned => BindingInput::PromptReturned { pane },
            PaneEnd::Closed => BindingInput::PaneClosed { pane },
        });
        self.codex.forget_old_threads();
    }

    /// Returns every session that is shown in a pane, pane by pane.
    pub fn bindings(&self, sessions: &[Session]) -> Vec<Binding> {
        let mut bindings = BTreeSet::new();
        for (pane, _) in self.codex.panes() {
            let shown = self.codex.thread_of(pane).map(|thread| Binding {
                pane: pane.clone(),
                agent: Agent::Codex,
                session_id: thread.clone(),
                process: ProcessKey::UNKNOWN,
            });
            bindings.extend(shown);
        }
        for session in sessions {
            let is_launched = session.key.agent.is_bound_to_panes_by_launch()
                && self.codex.panes_of(&session.key.id).next().is_some();
            if !is_launched {
                bindings.extend(session.live_runs().filter_map(|run| shown_run(session, run)));
            }
        }
        bindings.into_iter().collect()
    }

    /// Returns the events of the sessions in a pane that stops showing them. A Codex thread that
    /// another pane shows too continues there (KT-53).
    pub fn departures(
        &self,
        sessions: &[Session],
        pane: &PaneId,
        why: PaneEnd,
        at: Timestamp,
    ) -> Vec<Event> {
        let bindings = self.bindings(sessions);
        let is_elsewhere = |gone: &Binding| {
            let is_same = |other: &Binding| {
                other.session_id == gone.session_id && other.process == gone.process
            };
            bindings.iter().any(|other| other.pane != *pane && is_same(other))
        };
        let leaving = |binding: &&Binding| binding.pane == *pane && !is_elsewhere(binding);
        bindings.iter().filter(leaving).map(|binding| departure(binding, why, at)).collect()
    }

    /// Returns the view of a session in the known panes (KT-81, KT-82).
    pub fn view_of(&self, session: &Session) -> PaneView {
        let of_runs = session.live_runs().filter_map(|run| Some(shown_run(session, run)?.pane));
        let is_bound = session.key.agent.is_bound_to_panes_by_launch();
        let launched = self.codex.panes_of(&session.key.id).filter(|_| is_bound);
        let panes: BTreeSet<PaneId> = launched.cloned().chain(of_runs).collect();
        let is_quiet = |pane: &PaneId| {
            self.launches.get(pane).is_some_and(|launched| launched.output_stopped_at.is_some())
        };
        PaneView {
            is_shown: !panes.is_empty(),
            has_fallen_silent: session.state() == State::Working && panes.iter().any(is_quiet),
        }
    }

    /// Returns the environment of a Codex thread, which its rollout does not contain.
    pub fn host_of(&self, thread: &SessionId) -> Option<RunEnvironment> {
        let pane = self.codex.panes_of(thread).next()?;
        let env = self.launches.get(pane)?.env.clone();
        Some(RunEnvironment { origin: "launch".to_owned(), env, ..RunEnvironment::default() })
    }
}

/// Returns a run's binding. A headless run has none, though a pane may have started it.
fn shown_run(session: &Session, run: &Run) -> Option<Binding> {
    let pane = pane_of(|name| run.host.env(name)).filter(|_| !run.host.is_headless())?;
    Some(Binding {
        pane,
        agent: session.key.agent,
        session_id: session.key.id.clone(),
        process: run.process,
    })
}

fn departure(binding: &Binding, why: PaneEnd, at: Timestamp) -> Event {
    Event {
        session: SessionKey::new(binding.agent, binding.session_id.clone()),
        at,
        process: binding.process,
        name: why.as_str().to_owned(),
        agent_id: None,
        facts: EventFacts::default(),
        host: None,
        kind: EventKind::PaneLeft { why },
    }
}

#[cfg(test)]
mod tests;
