//! Tests the planned steps for each state of a reply, and that after random kills every reply has
//! run at most once and its thread has the right message.

use super::*;
use crate::ids::NamedSession;
use crate::replies::holder::StartedProgram;
use crate::replies::reply::{ReplySource, ReplyTo};
use crate::replies::run_end::{Evidence, judge};
use crate::replies::run_result::Reason;
use crate::replies::turn_trace::{TurnEnd, TurnTrace};
use crate::timestamp::Timestamp;

const ID: &str = "825c8529-ee09-4cb8-8902-dd785b12ca0a";
const OTHER: &str = "01a1e18e-2062-79f1-b187-979e8f997b9c";

fn reply(id: &str, text: &str, progress: ReplyProgress) -> PendingReply {
    let to = ReplyTo { key: SessionKey::of("claude", ID).unwrap(), cwd: None };
    PendingReply {
        reply: Reply::from_board(id.to_owned(), text.to_owned(), to, Timestamp::default()),
        progress,
        told: vec![ThreadMessage::Receipt],
        telling: None,
    }
}

fn waiting(id: &str) -> PendingReply {
    reply(id, "go on", ReplyProgress::Waiting)
}

fn ended(outcome: RunOutcome) -> ReplyProgress {
    ReplyProgress::Ended(RunResult::new(outcome, Timestamp::default()))
}

fn told(mut reply: PendingReply, told: &[ThreadMessage]) -> PendingReply {
    reply.told.extend_from_slice(told);
    reply
}

/// The steps as `step id`, without a launched runner or an open terminal.
fn steps(pending: &[PendingReply]) -> String {
    steps_around(pending, &[], false, LiveSession::Run)
}

fn step_of(reply: &PendingReply) -> String {
    steps(std::slice::from_ref(reply))
}

fn steps_around(
    pending: &[PendingReply],
    launched: &[&str],
    is_open: bool,
    live: LiveSession,
) -> String {
    let around = ReplyConditions {
        is_launched: &|id| launched.contains(&id),
        is_open: &|_| is_open,
        goes_into_terminal: &|_| false,
        obstacle: &|_| None,
        live,
    };
    names(pending, &around)
}

/// With an agent idle in its terminal, into which the reply is typed.
fn steps_beside_terminal(pending: &[PendingReply]) -> String {
    let around = ReplyConditions {
        is_launched: &|_| false,
        is_open: &|_| false,
        goes_into_terminal: &|_| true,
        obstacle: &|_| None,
        live: LiveSession::Pane,
    };
    names(pending, &around)
}

fn names(pending: &[PendingReply], around: &ReplyConditions<'_>) -> String {
    let name = |step: &ReplyStep| match step {
        ReplyStep::PostMessage(id, message) => format!("Tell{message:?} {id}"),
        step => format!("{} {}", format!("{step:?}").split('(').next().unwrap(), step.id()),
    };
    plan(pending, around).iter().map(name).collect::<Vec<_>>().join(", ")
}

#[test]
fn slv_37_the_receipt_is_on_record_before_anything_runs() {
    let mut first = waiting("a");
    first.told.clear();
    assert_eq!(step_of(&first), "TellReceipt a");
    first.told.push(ThreadMessage::Receipt);
    assert_eq!(steps(&[first]), "Run a");
}

#[test]
fn x40_a_reply_that_goes_into_an_open_terminal_gets_the_receipt_that_says_so() {
    let mut first = waiting("a");
    first.told.clear();
    assert_eq!(steps_beside_terminal(&[first.clone()]), "TellTerminalReceipt a");
    let received = told(first, &[ThreadMessage::TerminalReceipt]);
    assert_eq!(steps_beside_terminal(std::slice::from_ref(&received)), "Run a");
    // Its terminal was closed meanwhile, so that a separate process is started (SLV-84).
    assert_eq!(step_of(&received), "TellReceipt a");
    assert_eq!(step_of(&told(received.clone(), &[ThreadMessage::Receipt])), "Run a");
    // A terminal was opened meanwhile.
    assert_eq!(steps_beside_terminal(&[waiting("a")]), "TellTerminalReceipt a");
    // A reply that waits for another takes its way when it starts.
    let mut waits = received;
    waits.reply.id = "b".into();
    assert_eq!(steps(&[waiting("a"), waits]), "Run a, TellQueued b");
}

/// X12 revokes SLV-55.
#[test]
fn replies_of_one_session_run_one_at_a_time_and_those_of_others_beside_them() {
    let mut other = waiting("c");
    other.reply.to = NamedSession::of("codex", OTHER);
    let pending = [waiting("a"), waiting("b"), other];
    assert_eq!(steps(&pending), "Run a, TellQueued b, Run c");
    let pending =
        [reply("a", "x", ReplyProgress::Running), told(waiting("b"), &[ThreadMessage::Queued])];
    assert_eq!(steps(&pending), "");
    let pending =
        [reply("a", "x", ended(RunOutcome::Done)), told(waiting("b"), &[ThreadMessage::Queued])];
    assert_eq!(steps(&pending), "Finish a, Run b");
    // Started, but its claim is not visible yet.
    let pending = [waiting("a"), waiting("b")];
    assert_eq!(steps_around(&pending, &["a"], false, LiveSession::Run), "TellQueued b");
}

#[test]
fn what_was_claimed_is_never_run_again() {
    assert_eq!(steps(&[reply("a", "x", ReplyProgress::Running)]), "");
    let pending = [reply("a", "x", ReplyProgress::Lost), waiting("b")];
    assert_eq!(steps(&pending), "FindOut a, TellQueued b");
    let uncertain = reply("a", "x", ended(RunOutcome::Uncertain));
    assert_eq!(step_of(&uncertain), "TellUncertain a");
    assert_eq!(steps(&[told(uncertain, &[ThreadMessage::Uncertain])]), "Finish a");
}

#[test]
fn a_run_that_was_cut_off_is_told_so_and_not_run_again() {
    let cut = reply("a", "x", ended(RunOutcome::Interrupted));
    assert_eq!(steps(&[cut.clone(), waiting("b")]), "TellInterrupted a, Run b");
    assert_eq!(steps(&[told(cut, &[ThreadMessage::Interrupted]), waiting("b")]), "Finish a, Run b");
}

#[test]
fn an_agent_whose_runner_died_before_it_could_stop_it_is_stopped_all_the_same() {
    let pending = [reply("a", "x", ReplyProgress::Unstopped), waiting("b")];
    assert_eq!(steps(&pending), "Stop a, TellQueued b");
}

#[test]
fn a_reply_waits_unclaimed_while_the_codex_that_has_the_thread_would_not_start_it() {
    let around = |obstacle: &dyn Fn(&SessionKey) -> Option<QueueObstacle>,
                  pending: &[PendingReply]| {
        let around = ReplyConditions {
            is_launched: &|_| false,
            is_open: &|_| false,
            goes_into_terminal: &|_| false,
            obstacle,
            live: LiveSession::Run,
        };
        names(pending, &around)
    };
    let aborted = |_: &SessionKey| Some(QueueObstacle::Aborted);
    let exec = |_: &SessionKey| Some(QueueObstacle::Exec);
    let mut new = waiting("a");
    new.told.clear();
    assert_eq!(around(&aborted, &[new]), "TellReceipt a");
    assert_eq!(
        around(&aborted, &[waiting("a"), waiting("b")]),
        "TellAfterAbort a, TellAfterAbort b"
    );
    let waits = told(waiting("a"), &[ThreadMessage::AfterAbort]);
    assert_eq!(around(&aborted, std::slice::from_ref(&waits)), "");
    // It has another reason to wait, and then none.
    assert_eq!(around(&exec, std::slice::from_ref(&waits)), "TellBehindExec a");
    assert_eq!(around(&|_| None, &[waits]), "Run a");
    // A running reply continues.
    assert_eq!(around(&aborted, &[reply("a", "x", ReplyProgress::Running)]), "");
    let queued = reply("a", "x", ended(RunOutcome::NotBegun));
    assert_eq!(step_of(&queued), "TellNotBegun a");
    assert_eq!(step_of(&told(queued, &[ThreadMessage::NotBegun])), "Finish a");
}

#[test]
fn slv_39_80_how_a_run_ended_is_told_once() {
    let result = RunResult::failed(Reason::ExitCode, Some(1), Timestamp::default());
    let failed = reply("a", "x", ReplyProgress::Ended(result));
    assert_eq!(step_of(&failed), "TellFailed a");
    assert_eq!(steps(&[told(failed, &[ThreadMessage::Failed])]), "Finish a");
    let output = RunResult {
        output: Some("Total cost: 0".into()),
        ..RunResult::new(RunOutcome::Done, Timestamp::default())
    };
    let printed = reply("a", "/cost", ReplyProgress::Ended(output));
    assert_eq!(step_of(&printed), "TellOutput a");
    assert_eq!(steps(&[told(printed, &[ThreadMessage::Output])]), "Finish a");
    // Blank lines make no message: Slack would refuse it every time.
    let blank = RunResult {
        output: Some(" \n".into()),
        ..RunResult::new(RunOutcome::Done, Timestamp::default())
    };
    assert_eq!(steps(&[reply("a", "/cost", ReplyProgress::Ended(blank))]), "Finish a");
    assert_eq!(steps(&[reply("a", "x", ended(RunOutcome::Stopped))]), "TellStopped a");
    assert_eq!(steps(&[reply("a", "x", ended(RunOutcome::HandedOver))]), "Finish a");
}

#[test]
fn slv_40_85_a_reply_without_a_route_is_told_so_and_never_run() {
    let mut lost = waiting("a");
    lost.reply.to = NamedSession::nobody();
    lost.reply.text = "stop".into();
    assert_eq!(step_of(&lost), "TellNoRoute a");
    assert_eq!(steps(&[told(lost, &[ThreadMessage::NoRoute])]), "Finish a");
}

#[test]
fn stop_ends_the_run_that_is_under_way_and_is_no_prompt() {
    for text in ["stop", "/stop", " STOP\n", "/Stop"] {
        let stop = reply("s", text, ReplyProgress::Waiting);
        let pending = [reply("a", "x", ReplyProgress::Running), waiting("b"), stop.clone()];
        assert_eq!(steps(&pending), "TellQueued b, Stop a, Finish s", "{text}");
        assert_eq!(
            steps_around(&[waiting("a"), stop.clone()], &["a"], false, LiveSession::Run),
            "Stop a, Finish s"
        );
        assert_eq!(step_of(&stop), "TellNothingToStop s");
        assert_eq!(steps(&[told(stop, &[ThreadMessage::NothingToStop])]), "Finish s");
    }
    let mut stranger = reply("a", "x", ReplyProgress::Running);
    stranger.reply.to = NamedSession::of("claude", OTHER);
    let stop = reply("s", "stop", ReplyProgress::Waiting);
    assert_eq!(steps(&[stranger, stop]), "TellNothingToStop s");
    assert_eq!(steps(&[reply("a", "stop it", ReplyProgress::Waiting)]), "Run a");
}

#[test]
fn a_stop_that_is_found_late_does_not_end_a_run_whose_prompt_was_written_after_it() {
    let at = |mut reply: PendingReply, ts: &str| {
        (reply.reply.source, reply.reply.ts) = (ReplySource::SLACK, ts.to_owned());
        reply
    };
    let stop = || reply("s", "stop", ReplyProgress::Waiting);
    let run = || reply("a", "x", ReplyProgress::Running);
    let late = at(stop(), "1700000000.000100");
    assert_eq!(steps(&[late.clone(), at(run(), "1700000009.000100")]), "TellNothingToStop s");
    assert_eq!(steps(&[at(run(), "1699999999.000100"), late.clone()]), "Stop a, Finish s");
    // Two clocks give no order, and a run that continues does more harm.
    let at_once = [at(run(), "1700000000.000100"), late.clone()];
    assert_eq!(steps(&at_once), "Stop a, Finish s");
    assert_eq!(steps(&[late, run()]), "Stop a, Finish s");
    assert_eq!(steps(&[stop(), at(run(), "1700000009.000100")]), "Stop a, Finish s");
}

#[test]
fn commands_that_end_the_session_are_refused_without_a_receipt() {
    let mut clear = reply("a", "/clear", ReplyProgress::Waiting);
    clear.told.clear();
    assert_eq!(step_of(&clear), "TellRefused a");
    assert_eq!(steps(&[told(clear, &[ThreadMessage::Refused]), waiting("b")]), "Finish a, Run b");
}

#[test]
fn with_hold_a_reply_waits_until_the_terminal_has_gone() {
    let pending = [waiting("a"), waiting("b")];
    let at = |pending: &[PendingReply], is_open, live| steps_around(pending, &[], is_open, live);
    assert_eq!(at(&pending, true, LiveSession::Run), "Run a, TellQueued b");
    assert_eq!(at(&pending, true, LiveSession::Hold), "TellHeld a, TellHeld b");
    let held =
        [told(waiting("a"), &[ThreadMessage::Held]), told(waiting("b"), &[ThreadMessage::Held])];
    assert_eq!(at(&held, true, LiveSession::Hold), "");
    assert_eq!(at(&held, false, LiveSession::Hold), "Run a, TellQueued b");
    assert_eq!(at(&held, true, LiveSession::Pane), "");
    assert_eq!(at(&held, false, LiveSession::Pane), "Run a, TellQueued b");
}

/// The files of one reply, the processes around it, and the actual events.
#[derive(Debug, Clone, Default)]
struct ReplyPlanWorld {
    is_claimed: bool,
    has_agent_file: bool,
    is_acknowledged: bool,
    result: Option<RunResult>,
    told: Vec<ThreadMessage>,
    is_finished: bool,
    runner: RunnerState,
    agent: ModelAgent,
    runs: u32,
    said: Vec<ThreadMessage>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum RunnerState {
    #[default]
    None,
    Started,
    Claimed,
    Waiting,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ModelAgent {
    #[default]
    None,
    Starting,
    Prompted,
    Over(bool),
}

struct ReplyPlanRng(u64);

impl ReplyPlanRng {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

impl ReplyPlanWorld {
    fn pending(&self, id: usize) -> PendingReply {
        let is_agent_seen = self.has_agent_file
            && matches!(self.agent, ModelAgent::Starting | ModelAgent::Prompted);
        let progress = match &self.result {
            Some(result) => ReplyProgress::Ended(result.clone()),
            None if !self.is_claimed => ReplyProgress::Waiting,
            None if self.runner != RunnerState::None || is_agent_seen => ReplyProgress::Running,
            None => ReplyProgress::Lost,
        };
        PendingReply { told: self.told.clone(), ..reply(&id.to_string(), "go on", progress) }
    }

    /// One step of the runner and of the agent, each of which may be the last.
    fn live(&mut self, rng: &mut ReplyPlanRng) {
        let end = |outcome| Some(RunResult::new(outcome, Timestamp::default()));
        match self.runner {
            RunnerState::None => {}
            _ if rng.below(8) == 0 => self.runner = RunnerState::None,
            // One process holds the lock; the claim decides.
            RunnerState::Started if self.is_claimed || self.is_finished => {
                self.runner = RunnerState::None
            }
            RunnerState::Started => (self.is_claimed, self.runner) = (true, RunnerState::Claimed),
            RunnerState::Claimed if rng.below(5) == 0 => {
                (self.result, self.runner) = (end(RunOutcome::Failed), RunnerState::None);
            }
            RunnerState::Claimed => {
                assert_eq!(self.agent, ModelAgent::None, "run twice");
                // The child writes its pid before it becomes the agent.
                (self.agent, self.runner) = (ModelAgent::Starting, RunnerState::Waiting);
                self.has_agent_file = true;
            }
            RunnerState::Waiting => {
                if let ModelAgent::Over(is_well) = self.agent {
                    let outcome = if is_well { RunOutcome::Done } else { RunOutcome::Failed };
                    (self.result, self.runner) = (end(outcome), RunnerState::None);
                }
            }
        }
        match self.agent {
            ModelAgent::None | ModelAgent::Over(_) => {}
            _ if rng.below(12) == 0 => self.agent = ModelAgent::Over(false),
            ModelAgent::Starting => {
                self.runs += 1;
                self.agent = ModelAgent::Prompted;
            }
            // The hook may be missing.
            ModelAgent::Prompted if !self.is_acknowledged && rng.below(2) == 0 => {
                self.is_acknowledged = true;
            }
            ModelAgent::Prompted => self.agent = ModelAgent::Over(true),
        }
    }

    /// Does a step as the daemon does; returns `false` if it was killed during the step.
    fn act(&mut self, step: &ReplyStep, rng: &mut ReplyPlanRng) -> bool {
        if rng.below(6) == 0 {
            return false;
        }
        match step {
            ReplyStep::Run(_) => {
                assert!(self.told.contains(&ThreadMessage::Receipt), "run before its receipt");
                if self.runner == RunnerState::None {
                    self.runner = RunnerState::Started;
                }
            }
            ReplyStep::FindOut(_) => {
                let evidence = Evidence {
                    way: self.has_agent_file.then_some(StartedProgram::Agent),
                    is_acknowledged: self.is_acknowledged,
                    seen_end: None,
                    trace: match (self.runs, self.agent) {
                        (0, _) => TurnTrace::Absent,
                        (_, ModelAgent::Over(true)) => TurnTrace::Ended(TurnEnd::Ok),
                        _ => TurnTrace::Open,
                    },
                    is_stop_requested: false,
                    printed: String::new(),
                    is_command: false,
                };
                self.result = Some(judge(&evidence, Timestamp::default()));
            }
            ReplyStep::Finish(_) => self.is_finished = true,
            ReplyStep::PostMessage(_, message) => {
                self.said.push(*message);
                if rng.below(6) == 0 {
                    return false;
                }
                self.told.push(*message);
            }
            ReplyStep::Stop(_) => panic!("nobody has asked for it"),
        }
        true
    }
}

/// X12: any process may be killed at any moment.
#[test]
fn every_reply_runs_at_most_once_and_its_thread_is_told_the_truth_after_any_kills() {
    let mut outcomes = [0; 4];
    for seed in 1..=4_000_u64 {
        let mut rng = ReplyPlanRng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut worlds = vec![ReplyPlanWorld::default(); 3];
        for round in 0.. {
            assert!(round < 5_000, "never finished: {worlds:#?}");
            let pending: Vec<_> = (0..worlds.len())
                .filter(|id| !worlds[*id].is_finished)
                .map(|id| worlds[id].pending(id))
                .collect();
            if pending.is_empty() {
                break;
            }
            // A daemon that was killed does not know which processes it has started.
            let knows = rng.below(2) == 0;
            let around = ReplyConditions {
                goes_into_terminal: &|_| false,
                is_launched: &|id| {
                    knows && worlds[id.parse::<usize>().unwrap()].runner != RunnerState::None
                },
                is_open: &|_| false,
                obstacle: &|_| None,
                live: LiveSession::Run,
            };
            for step in plan(&pending, &around) {
                let id: usize = step.id().parse().unwrap();
                if let ReplyStep::Run(_) = step {
                    let is_busy =
                        |other: usize| other != id && worlds[other].runner != RunnerState::None;
                    assert!(!(0..worlds.len()).any(is_busy), "two at once: {worlds:#?}");
                }
                if !worlds[id].act(&step, &mut rng) {
                    break;
                }
            }
            worlds.iter_mut().for_each(|world| world.live(&mut rng));
        }
        for world in &worlds {
            assert!(world.runs <= 1, "{world:#?}");
            let is_told = |ends: &[ThreadMessage]| ends.iter().any(|end| world.said.contains(end));
            let is_well = world.agent == ModelAgent::Over(true);
            match world.runs {
                0 => assert!(
                    is_told(&[ThreadMessage::Failed, ThreadMessage::Uncertain]),
                    "{world:#?}"
                ),
                _ if is_well => {
                    let ends = [
                        ThreadMessage::Failed,
                        ThreadMessage::Uncertain,
                        ThreadMessage::Interrupted,
                    ];
                    assert!(!is_told(&ends), "told a falsehood: {world:#?}");
                }
                _ => assert!(
                    is_told(&[ThreadMessage::Failed, ThreadMessage::Interrupted]),
                    "{world:#?}"
                ),
            }
            outcomes[match (world.runs, is_well) {
                (1, true) => 0,
                (1, false) if is_told(&[ThreadMessage::Interrupted]) => 1,
                (1, false) => 2,
                _ => 3,
            }] += 1;
        }
    }
    // Each outcome has occurred, so that the rules above were tested.
    assert!(outcomes.iter().all(|count| *count > 100), "{outcomes:?}");
}
