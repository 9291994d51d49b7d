//! Performs the steps that hook calls share: reads and interprets the event, updates the session,
//! and logs problems.

use std::io::IsTerminal;
use std::path::Path;

use turnbridge_core::agents::agent_differences::LifeSign;
use turnbridge_core::agents::hook_table::HookProgram;
use turnbridge_core::agents::hook_wire::{
    CallContext, Unusable, interpret, needs_reviewer, reviewed_by,
};
use turnbridge_core::session::duplicate_events::SeenEvent;
use turnbridge_core::session::event::{Event, EventKind, ProcessKey};
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::files::file_lock;
use turnbridge_store::foreign::codex_rollouts;
use turnbridge_store::log::LogValue;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::process::{agent_environment, detached_process};
use turnbridge_store::state::config_text::ConfigText;
use turnbridge_store::state::folder_trust::trusted_state;
use turnbridge_store::state::session_store::EventReport;
use turnbridge_store::state::{prune, session_store};
use turnbridge_store::{log, process, sinks};

use crate::announcement::{Announced, announce};
use crate::arguments::{self, HookOptions, PrintedText};
use crate::input::{self, RawInput};
use crate::reply;
use crate::run_environment;

/// An event that arrived, and the facts to log about its arrival.
pub struct ReceivedEvent {
    pub event: Event,
    claim: SeenEvent,
    wrong_fields: Vec<&'static str>,
    announced: Option<Announced>,
}

impl ReceivedEvent {
    /// Records that a turn has ended, if it has, in case this hook gets no further.
    pub fn announce(&mut self) {
        self.announced = announce(&self.event, &self.claim);
    }

    /// Returns the hash of the payload.
    pub fn payload(&self) -> u64 {
        self.claim.payload
    }
}

/// Reads and interprets the event. Returns `None` if there is no work; problems are logged then.
pub fn receive(
    program: HookProgram,
    options: &HookOptions,
    at: Timestamp,
) -> Option<ReceivedEvent> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        arguments::print(program, PrintedText::Help);
        return None;
    }
    let host = run_environment::run_environment(&options.origin, std::env::vars_os());
    let debug_path = host.env("KAWAII_NOTIFY_DEBUG_PATH").map(str::to_owned);
    let raw = if debug_path.is_some() { RawInput::Keep } else { RawInput::Drop };
    let input = input::read(stdin.lock(), raw);
    if let (Some(path), Some(raw)) = (&debug_path, &input.raw)
        && let Err(error) = sinks::append_debug(Path::new(path), raw)
    {
        let fields = [("problems", vec![format!("debug file: {error}")].into())];
        log_problem(program, at, "something could not be written", &fields);
    }
    let payload = match input.payload {
        Ok(payload) => payload,
        Err(reason) => {
            let fields = [("reason", reason.into()), ("bytes", input.bytes.into())];
            log_problem(program, at, "the input is no hook event", &fields);
            return None;
        }
    };
    let agent = options.agent;
    let process = match agent.life_sign() {
        LifeSign::Process => process::calling_agent(),
        LifeSign::WriterLock => ProcessKey::UNKNOWN,
    };
    let context = CallContext { agent, at, process, host };
    let (event, mut wrong_fields) = match interpret(payload, context) {
        Ok(interpreted) => interpreted,
        Err(Unusable::OtherEvent) => return None,
        Err(Unusable::Invalid(field)) => {
            let reason = format!("`{field}` is missing or not usable");
            let fields = [("reason", reason.into()), ("bytes", input.bytes.into())];
            log_problem(program, at, "the input is no hook event", &fields);
            return None;
        }
    };
    let event = asked_of_whom(event);
    if !input.is_utf8 {
        wrong_fields.push("not UTF-8");
    }
    let claim = SeenEvent { payload: input.hash, origin: options.origin.clone() };
    Some(ReceivedEvent { event, claim, wrong_fields, announced: None })
}

/// Adds the reviewer to a PermissionRequest of Codex. The event lacks whether the user is asked;
/// the rollout has it.
fn asked_of_whom(event: Event) -> Event {
    if !needs_reviewer(&event) {
        return event;
    }
    let rollout = event.facts.transcript_path.as_deref().map(Path::new);
    let reviewer = rollout.and_then(codex_rollouts::approvals_reviewer);
    reviewed_by(event, reviewer.as_deref())
}

/// The call that did the work: this one, or its twin from the other registration of the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    Here,
    ByOtherHook,
    /// No process has recorded it yet, because another process held the session's lock.
    Later,
}

/// Whether the user is notified of the turn that ends by this event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Announce {
    Yes,
    No,
}

/// Applies the event to its session, and logs the problems.
pub fn record(
    program: HookProgram,
    received: ReceivedEvent,
    tell: Announce,
    config: &ConfigText,
) -> Recorded {
    let ReceivedEvent { event, claim, wrong_fields, announced } = received;
    let paths = trusted_state();
    let mut problems: Vec<String> =
        wrong_fields.iter().map(|field| format!("input: {field}")).collect();
    problems.extend(paths.as_ref().and_then(|paths| reply::acknowledge(paths, &event).err()));
    let report = EventReport { claim, config, tell: tell == Announce::Yes };
    let is_left;
    let recorded = match session_store::update(paths.as_ref(), &event, Some(report)) {
        Ok(updated) => {
            problems.extend(updated.problems);
            is_left = !updated.is_whole && ends_turn(&event);
            if updated.is_twin { Recorded::ByOtherHook } else { Recorded::Here }
        }
        Err(problem) => {
            is_left = true;
            problems.push(problem);
            Recorded::Later
        }
    };
    match announced {
        Some(announced) if is_left => problems.extend(announced.leave(config)),
        Some(announced) => problems.extend(announced.settle()),
        None => {}
    }
    if let (Some(paths), EventKind::SessionStarted { .. }) = (&paths, &event.kind)
        && let Err(problem) = start_pruning(paths)
    {
        problems.push(problem);
    }
    // Once at each end is enough, because a session has hundreds of calls.
    if matches!(event.kind, EventKind::SessionStarted { .. } | EventKind::TurnEnded { .. }) {
        log_ignored_environment(program, event.at);
    }
    if !problems.is_empty() {
        let fields = [
            ("event", event.name.clone().into()),
            ("session_id", event.session.id.to_string().into()),
            ("problems", problems.into()),
        ];
        log_problem(program, event.at, "recorded with problems", &fields);
    }
    recorded
}

/// Starts a process that removes old files, once a day: there may be very many. A daemon removes
/// them itself.
fn start_pruning(paths: &StatePaths) -> Result<(), String> {
    let problem = |error| format!("clearing away old files: {error}");
    if file_lock::is_held(&paths.daemon_lock()) || !prune::needs_process(paths).map_err(problem)? {
        return Ok(());
    }
    let started = detached_process::start_notifier(&["--prune"]);
    started.map(drop).map_err(problem)
}

fn ends_turn(event: &Event) -> bool {
    matches!(event.kind, EventKind::TurnEnded { .. } | EventKind::TurnFailed { .. })
}

/// Logs the environment variables that are ignored because the agent was not started with them.
pub fn log_ignored_environment(program: HookProgram, at: Timestamp) {
    let ignored = agent_environment::ignored();
    if !ignored.is_empty() {
        let fields = [("variables", ignored.to_vec().into())];
        log_problem(
            program,
            at,
            "variables that the agent was not started with are ignored",
            &fields,
        );
    }
}

pub fn log_problem(
    program: HookProgram,
    at: Timestamp,
    message: &str,
    fields: &[(&str, LogValue)],
) {
    log_entry(program, at, "warn", message, fields);
}

pub fn log_entry(
    program: HookProgram,
    at: Timestamp,
    level: &str,
    message: &str,
    fields: &[(&str, LogValue)],
) {
    let Some(paths) = trusted_state() else { return };
    let mut all = vec![("program", program.as_str().into())];
    all.extend_from_slice(fields);
    log::write_log(&paths.hooks_log(), at, level, message, &all);
}
