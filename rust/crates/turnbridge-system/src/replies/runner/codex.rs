//! Passes a reply to Codex: resumes a free thread, or passes the reply by `codex queue` to the
//! Codex that has the thread open.
//!
//! `codex queue` reports success whatever happens to the message. So the runner reads the thread's
//! rollout before it (`QueueObstacle`), and after it: the reply has begun when the rollout has a
//! turn that the queue has started.

use std::time::{Duration, Instant};

use turnbridge_core::agents::codex::rollout_tail::QueueObstacle;
use turnbridge_core::agents::resume::{CodexWriter, says_thread_held};
use turnbridge_core::ids::SessionKey;
use turnbridge_core::replies::holder::StartedProgram;
use turnbridge_core::replies::run_end;
use turnbridge_core::replies::run_result::{Reason, RunOutcome, RunResult};
use turnbridge_core::session::Session;
use turnbridge_store::foreign::codex_lock::{self, ThreadWriter};
use turnbridge_store::paths::codex_home;
use turnbridge_store::state::inbox::Streams;

use super::{AgentCall, LONGEST_COMPLAINT, LOOK_AGAIN, ReplyRunner, codex, home_of, reason_of};
use crate::replies::runs::{evidence, is_turn_running, obstacle};

/// A `codex exec` has the thread's lock before its turn is in the rollout. A process that has the
/// lock for longer without a turn is an interface.
const SETTLES_WITHIN: Duration = Duration::from_secs(1);

/// A terminal without Codex's background server polls its queue every ten seconds. This is time for
/// two polls, and some more for a slow machine.
const BEGINS_WITHIN: Duration = Duration::from_secs(25);

/// Behind a running turn a reply may wait for hours.
const BEGINS_BEHIND_A_TURN: Duration = Duration::from_secs(3);

impl ReplyRunner<'_> {
    /// Tries to run the reply. If another Codex has the thread open, nothing was run: that Codex
    /// gets the reply, if it takes replies; otherwise the reply waits until it has closed the
    /// thread.
    pub(super) fn call_codex(
        &self,
        key: &SessionKey,
        call: &AgentCall<'_>,
    ) -> Result<RunResult, Reason> {
        let is_held = |result: &RunResult, streams: &Streams| {
            result.outcome == RunOutcome::Failed
                && says_thread_held(&streams.read_stderr(LONGEST_COMPLAINT))
        };
        if self.is_open_in_interface(key, call.session) {
            return self.hand_over(key, call);
        }
        let mut seen = 0;
        loop {
            let result = self.call(call)?;
            if !is_held(&result, &self.streams()?) {
                return Ok(result);
            }
            // The holder may have ended meanwhile, and no process would read the queue. Only one
            // that holds the lock at a second attempt too counts as an interface.
            std::thread::sleep(SETTLES_WITHIN);
            if self.obstructs(key) {
                self.wait_while(|| self.obstructs(key));
                continue;
            }
            seen += 1;
            if seen == 2 {
                return self.hand_over(key, call);
            }
        }
    }

    /// Returns whether a Codex that would start queued prompts has the thread open.
    fn is_open_in_interface(&self, key: &SessionKey, session: Option<&Session>) -> bool {
        let Some(home) = home_of(session).or_else(codex_home) else { return false };
        let is_open = || {
            codex_lock::writer(&home, key.id.as_str()) == ThreadWriter::Held && !self.obstructs(key)
        };
        if !is_open() {
            return false;
        }
        std::thread::sleep(SETTLES_WITHIN);
        is_open()
    }

    fn obstructs(&self, key: &SessionKey) -> bool {
        obstacle(self.paths, key).is_some()
    }

    fn wait_while(&self, is_so: impl Fn() -> bool) {
        while is_so() && !self.is_stopping() {
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    fn hand_over(&self, key: &SessionKey, call: &AgentCall<'_>) -> Result<RunResult, Reason> {
        let invocation = codex(&key.id, call.cwd, CodexWriter::Held, &self.reply.text);
        let invocation = invocation.map_err(reason_of)?;
        let result = self.call(&AgentCall { invocation, way: StartedProgram::Queue, ..*call })?;
        if result.outcome != RunOutcome::Done {
            return Ok(result);
        }
        Ok(RunResult { outcome: self.wait_for_its_turn(key), ..result })
    }

    /// Waits for a limited time for the turn that the queue starts. After an interruption Codex starts
    /// none before the next prompt from the keyboard.
    fn wait_for_its_turn(&self, key: &SessionKey) -> RunOutcome {
        let queued = Instant::now();
        let outcome = || run_end::queued(&evidence(self.paths, self.reply));
        let is_interrupted = || obstacle(self.paths, key) == Some(QueueObstacle::Aborted);
        self.wait_while(|| {
            let is_behind = is_turn_running(self.paths, key);
            let within = if is_behind { BEGINS_BEHIND_A_TURN } else { BEGINS_WITHIN };
            is_in_queue(outcome()) && !is_interrupted() && queued.elapsed() < within
        });
        match outcome() {
            waiting if is_in_queue(waiting) => RunOutcome::NotBegun,
            begun => begun,
        }
    }
}

fn is_in_queue(outcome: RunOutcome) -> bool {
    matches!(outcome, RunOutcome::NotBegun | RunOutcome::Uncertain)
}
