//! Records the events of a rollout in session files, and collects results for the daemon's loop.
//!
//! Codex's hooks report the same turns, and after a crash lines are read again. An event older than
//! the session's last one must not set its state back. It is dropped here, because `advance` would
//! take it for a clock that was set back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use turnbridge_core::ids::{Agent, SessionId, SessionKey};
use turnbridge_core::notices::notice::Notice;
use turnbridge_core::session::advance::LATE;
use turnbridge_core::session::event::{Event, EventFacts, EventKind, ProcessKey};
use turnbridge_core::session::{Activity, Run, RunEnvironment, Session};
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::{session_store, turn_store};
use turnbridge_system::observe::observed_events;

use super::follower::RolloutEffect;
use super::notice_policy::NoticePolicy;
use super::rollout_file::{Position, RolloutFile, RolloutStep};

/// Above this number, steps that change no state are not recorded one by one.
const MANY_STEPS: usize = 64;

/// The outbox keeps delivered ids for a day.
const REMEMBERED: Duration = Duration::from_secs(23 * 60 * 60);

/// The limit of different problems that are reported; more are likely repeats of one.
const MAX_PROBLEMS: usize = 64;

/// The writer of session files, with the results that the loop has not taken yet.
pub struct Recorder {
    paths: StatePaths,
    now: fn() -> Timestamp,
    effects: Vec<RolloutEffect>,
    complained: BTreeSet<String>,
    /// The environments of threads in panes, since rollouts contain none.
    hosts: BTreeMap<SessionId, RunEnvironment>,
}

impl Recorder {
    pub fn new(paths: StatePaths, now: fn() -> Timestamp) -> Recorder {
        let (effects, complained, hosts) = Default::default();
        Recorder { paths, now, effects, complained, hosts }
    }

    pub fn set_hosts(&mut self, hosts: BTreeMap<SessionId, RunEnvironment>) {
        self.hosts = hosts;
    }

    pub fn take_effects(&mut self) -> Vec<RolloutEffect> {
        std::mem::take(&mut self.effects)
    }

    pub fn tell(&mut self, notice: Notice) {
        self.effects.push(RolloutEffect::Notice(Box::new(notice)));
    }

    /// Reports each problem once.
    pub fn complain(&mut self, problem: String) {
        if self.complained.len() < MAX_PROBLEMS && self.complained.insert(problem.clone()) {
            self.effects.push(RolloutEffect::Problem(problem));
        }
    }

    /// Returns whether the session file names a live process.
    pub fn is_alive(&self, thread: &str) -> bool {
        self.session(thread).is_some_and(|session| live_run(&session).is_some())
    }

    /// Returns whether the session's run was in a turn when its Codex was killed, and another
    /// process has the thread open now.
    pub fn is_left(&self, rollout: &Path, thread: &str) -> bool {
        let session = self.session(thread);
        session.is_some_and(|session| {
            live_run(&session).is_some_and(|run| observed_events::is_left(rollout, &session, run))
        })
    }

    /// Records the steps. Returns `Err` with the position to retry from if the session could not be
    /// updated.
    pub fn record(
        &mut self,
        followed: &mut RolloutFile,
        mut steps: Vec<RolloutStep>,
        policy: NoticePolicy,
    ) -> Result<(), Position> {
        if !policy.is_on || steps.len() > MANY_STEPS {
            drop_finished_calls(&mut steps);
        }
        let known = if followed.is_catching_up { self.known_steps(&steps) } else { 0 };
        for (index, step) in steps.into_iter().enumerate() {
            let notice = step.notice.filter(|notice| !self.was_told(notice, step.event.at));
            if index >= known {
                let is_own = step.event.agent_id.is_none();
                let is_news = self.apply(step.event).map_err(|()| step.place)?;
                followed.is_live |= is_news && is_own;
                // Events after a new event are new too.
                followed.is_catching_up &= !is_news;
            }
            if let Some(notice) = notice {
                self.tell(notice);
            }
        }
        Ok(())
    }

    /// Records the end of the thread's writer. Returns `false` if a retry is needed.
    pub fn end_run(&mut self, thread: &str) -> bool {
        let Some(session) = self.session(thread) else { return true };
        let Some(run) = live_run(&session) else { return true };
        self.update(&Event {
            session: session.key.clone(),
            // The time of the exit is unknown, but not before its last event.
            at: run.last_at,
            process: run.process,
            name: "ProcessGone".to_owned(),
            agent_id: None,
            facts: EventFacts::default(),
            host: None,
            kind: EventKind::ProcessGone,
        })
    }

    /// Applies an event. Returns whether it was new, or `Err` if a retry is needed.
    fn apply(&mut self, mut event: Event) -> Result<bool, ()> {
        let session = session_store::read(&self.paths, &event.session);
        let run = session.as_ref().and_then(|session| session.run(event.process));
        // An environment that a hook has recorded is better.
        if run.is_none_or(|run| run.host.env.is_empty()) {
            event.host = event.host.or_else(|| self.hosts.get(&event.session.id).cloned());
        }
        if let Some(run) = run {
            match place_in_time(&event, run, (self.now)()) {
                Some(at) => event.at = at,
                None => return Ok(false),
            }
        }
        if self.update(&event) { Ok(true) } else { Err(()) }
    }

    fn update(&mut self, event: &Event) -> bool {
        match session_store::update(Some(&self.paths), event, None) {
            Ok(updated) => {
                updated.problems.into_iter().for_each(|problem| self.complain(problem));
                self.effects.push(RolloutEffect::Changed(event.session.id.clone()));
                true
            }
            Err(problem) => {
                self.complain(format!("{}: {problem}", event.session.id));
                false
            }
        }
    }

    fn session(&self, thread: &str) -> Option<Session> {
        session_store::read(&self.paths, &SessionKey::new(Agent::Codex, SessionId::parse(thread)?))
    }

    /// Returns how many of the steps the session already has: up to the one equal to its last
    /// event. Many lines have the same time, so the time alone does not suffice.
    fn known_steps(&self, steps: &[RolloutStep]) -> usize {
        let Some(RolloutStep { event, .. }) = steps.first() else { return 0 };
        let session = session_store::read(&self.paths, &event.session);
        let run = session.as_ref().and_then(|session| session.run(event.process));
        let is_last = |run: &Run, step: &RolloutStep| {
            step.event.at == run.last_at && step.event.name == run.last_event
        };
        let last = run.and_then(|run| steps.iter().rposition(|step| is_last(run, step)));
        last.map_or(0, |index| index + 1)
    }

    /// Returns whether a notice was sent so long ago that the outbox may have dropped its id.
    fn was_told(&self, notice: &Notice, at: Timestamp) -> bool {
        let is_old = (self.now)().since(at) > REMEMBERED && notice.turn_id.is_some();
        let key = notice.session.key().filter(|_| is_old);
        let turns = key.map(|key| turn_store::read_turns(&self.paths, key));
        turns.is_some_and(|turns| turns.iter().any(|turn| turn.turn_id == notice.turn_id))
    }
}

/// Returns the time at which the event counts for the run: sometimes a later one than its own, or
/// `None`.
fn place_in_time(event: &Event, run: &Run, now: Timestamp) -> Option<Timestamp> {
    if event.at >= run.last_at {
        return Some(event.at);
    }
    // The session's last event is in the future: the clock was set back.
    if run.last_at > now.plus(LATE) {
        return Some(event.at);
    }
    // The end of its own turn is never late, even if a background process's hook came first.
    let is_end = matches!(
        event.kind,
        EventKind::TurnEnded { .. } | EventKind::TurnFailed { .. } | EventKind::Interrupted
    );
    let is_open = run.ended.is_none() && run.activity == Activity::Working && !run.turn.is_over;
    let is_its_own = event.facts.prompt_id.is_some()
        && event.facts.prompt_id == run.turn.prompt_id
        && event.agent_id.is_none();
    (is_end && is_open && is_its_own).then_some(run.last_at)
}

/// Drops calls that began and ended among the steps. The last step stays, because it shows that the
/// agent works.
fn drop_finished_calls(steps: &mut Vec<RolloutStep>) {
    let ids = |wanted: fn(&EventKind) -> Option<&String>| -> BTreeSet<String> {
        steps.iter().filter_map(|step| wanted(&step.event.kind)).cloned().collect()
    };
    let began = ids(|kind| match kind {
        EventKind::ToolStarting { call, .. } => call.id.as_ref(),
        _ => None,
    });
    let ended = ids(|kind| match kind {
        EventKind::ToolEnded { call, .. } => call.id.as_ref(),
        _ => None,
    });
    let mut left = steps.len();
    steps.retain(|step| {
        left -= 1;
        let call = match &step.event.kind {
            EventKind::ToolStarting { call, .. } | EventKind::ToolEnded { call, .. } => &call.id,
            _ => return true,
        };
        let is_over = call.as_ref().is_some_and(|id| began.contains(id) && ended.contains(id));
        left == 0 || !is_over
    });
}

fn live_run(session: &Session) -> Option<&Run> {
    session.run(ProcessKey::UNKNOWN).filter(|run| run.ended.is_none())
}
