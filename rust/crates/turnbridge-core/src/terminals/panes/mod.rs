//! The live registry: which session is shown in which pane (KT-73), and what follows for the
//! sessions when a pane shows them no more.
//!
//! Claude's hooks find the pane around them, so its bindings are derived from the session files
//! and kept nowhere else. Codex's come from launches (`codex_binding`); where its hooks know a
//! pane and no launch was seen, from them, too. Pure: files and clocks are elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use crate::agents::codex::codex_binding::{Bindings, Input};
use crate::agents::codex::codex_launch;
use crate::ids::{Agent, SessionId, SessionKey};
use crate::session::event::{Event, EventKind, Facts, PaneEnd, ProcessKey};
use crate::session::{Host, Run, Session, State};
use crate::terminals::pane_id::{PaneId, pane_of};
use crate::timestamp::Timestamp;

/// Panes that are remembered. Who has more has closed most of them without a word.
const MAX_PANES: usize = 512;

/// What launches have told, and what was seen of them since.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Panes {
    pub codex: Bindings,
    pub launches: BTreeMap<PaneId, Launched>,
}

/// The last launch of an agent in a pane, until the prompt is back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launched {
    pub agent: Agent,
    pub at: Timestamp,
    /// The pane's own variables, and its host's: Codex's rollouts know of none.
    pub env: BTreeMap<String, String>,
    /// Since when its screen has not changed, as a host tells (KT-82).
    pub output_stopped_at: Option<Timestamp>,
}

/// A command line that a pane's shell is about to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch<'a> {
    pub agent: Agent,
    pub argv: Vec<&'a str>,
    /// Where it will work, links resolved, `-C` included.
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
    /// The run that is shown. All that happens to a thread of Codex is one run.
    pub process: ProcessKey,
}

/// What is seen of a session beside its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PaneView {
    /// A pane shows it: it has a dot, and not only a ring.
    pub is_shown: bool,
    /// It works, but its screen has stopped: a hint, and no state.
    pub has_fallen_silent: bool,
}

impl Panes {
    /// Whatever ran in the pane before has ended: its shell was back (KT-70).
    pub fn launch(&mut self, pane: &PaneId, launch: Launch) {
        self.leave(pane, PaneEnd::PromptReturned);
        if launch.agent.is_bound_to_panes_by_launch()
            && let Some(mut started) = codex_launch::classify(&launch.argv)
        {
            // It is in `cwd`.
            started.directory = None;
            // Codex counts milliseconds, and a thread must not seem older than its launch.
            let at = Timestamp::from_millis(launch.at.as_micros().div_euclid(1_000));
            self.codex.take(Input::Launched {
                pane: pane.clone(),
                launch: started,
                cwd: launch.cwd,
                at,
            });
        }
        let Launch { agent, at, env, .. } = launch;
        let launched = Launched { agent, at, env, output_stopped_at: None };
        self.launches.insert(pane.clone(), launched);
        while self.launches.len() > MAX_PANES {
            let oldest = self.launches.iter().min_by_key(|(_, launched)| launched.at);
            let Some(oldest) = oldest.map(|(pane, _)| pane.clone()) else { break };
            self.leave(&oldest, PaneEnd::Closed);
        }
    }

    /// The pane shows no agent any more.
    pub fn leave(&mut self, pane: &PaneId, why: PaneEnd) {
        self.launches.remove(pane);
        let pane = pane.clone();
        self.codex.take(match why {
            PaneEnd::PromptReturned => Input::PromptReturned { pane },
            PaneEnd::Closed => Input::PaneClosed { pane },
        });
        self.codex.forget_old_threads();
    }

    /// Every session that is shown somewhere, pane by pane.
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

    /// What happens to the sessions that the pane shows when it shows them no more. A thread of
    /// Codex that another pane shows too goes on there (KT-53).
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

    /// How a session stands to the panes that are known (KT-81, KT-82).
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

    /// The surroundings of a thread of Codex, of which its rollout says nothing.
    pub fn host_of(&self, thread: &SessionId) -> Option<Host> {
        let pane = self.codex.panes_of(thread).next()?;
        let env = self.launches.get(pane)?.env.clone();
        Some(Host { origin: "launch".to_owned(), env, ..Host::default() })
    }
}

/// A run that nobody is to see is in no pane, though it may have been started from one.
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
        facts: Facts::default(),
        host: None,
        kind: EventKind::PaneLeft { why },
    }
}

#[cfg(test)]
mod tests;
