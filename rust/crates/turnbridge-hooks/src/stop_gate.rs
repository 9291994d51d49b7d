//! Runs `turnbridge-stop-gate`: decides whether the turn may end, records the result, and prints
//! what Claude or the user has to know.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use turnbridge_core::agents::claude::sandbox::LayerValue;
use turnbridge_core::agents::hook_table::HookProgram;
use turnbridge_core::gate::gate_switches::Switch;
use turnbridge_core::gate::speak::SpeakOutcome;
use turnbridge_core::gate::turn_speech::TurnKey;
use turnbridge_core::gate::{Decision, GateInputs, Rule, SANDBOX_LOG, SANDBOX_NOTE, StopFacts};
use turnbridge_core::gate::{decide_stop, reminder, shown_sandbox_note};
use turnbridge_core::ids::SessionKey;
use turnbridge_core::session::event::{Event, EventKind};
use turnbridge_core::session::{Plugin, Run, RunEnvironment, Session};
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::files::atomic_file::open_making_folders;
use turnbridge_store::foreign::{claude_settings, gate_files};
use turnbridge_store::kill_point::kill_point;
use turnbridge_store::state::config_text::ConfigText;
use turnbridge_store::state::folder_trust::trusted_state;
use turnbridge_store::state::{inbox, session_store};

use crate::announcement::is_announced_before;
use crate::arguments::HookOptions;
use crate::call::{self, Announce, Recorded};
use crate::transcript;

const ALLOWED: u8 = 0;
/// The exit code by which Claude continues the turn.
const BLOCKED: u8 = 2;

pub fn handle(options: &HookOptions, config: &ConfigText, at: Timestamp, begun: Instant) -> u8 {
    let Some(mut received) = call::receive(HookProgram::StopGate, options, at) else {
        return ALLOWED;
    };
    received.announce();
    let event = &mut received.event;
    let Some(StopVerdict { decision, words, tell }) = stop_verdict(event, options, config) else {
        call::record(HookProgram::StopGate, received, Announce::Yes, config);
        return ALLOWED;
    };
    if !decision.rule.allows()
        && let EventKind::TurnEnded { answer, .. } = &mut event.kind
    {
        event.kind = EventKind::StopBlocked { answer: answer.take() };
    }
    let session = event.session.clone();
    let is_persons = !event.host.as_ref().is_some_and(RunEnvironment::is_headless);
    kill_point("judged");
    match call::record(HookProgram::StopGate, received, tell, config) {
        Recorded::Here => {}
        // The turn ends unless the block is recorded. Else the user would never be notified of it.
        Recorded::ByOtherHook | Recorded::Later => return ALLOWED,
    }
    log_decision(&decision, session.id.to_string(), at, begun);
    if decision.rule == Rule::Sandbox && is_persons && is_first_note(&session) {
        let _ = std::io::stdout().write_all(shown_sandbox_note().as_bytes());
    }
    let _ = std::io::stderr().write_all(words.as_bytes());
    if decision.rule.allows() { ALLOWED } else { BLOCKED }
}

/// Returns whether this session has not yet shown the user that the sandbox is on (X42). Returns
/// false if the mark cannot be written: once is enough, and each time is too often.
fn is_first_note(session: &SessionKey) -> bool {
    let Some(paths) = trusted_state() else { return false };
    let mark = paths.sandbox_note(session);
    open_making_folders(&mark, OpenOptions::new().write(true).create_new(true)).is_ok()
}

/// The verdict on a Stop event.
pub struct StopVerdict {
    pub decision: Decision,
    /// The text for stderr, which the model or the user reads.
    words: String,
    /// Whether the user is notified of the turn, if it ends.
    pub tell: Announce,
}

/// Decides whether the turn may end, without recording it. Returns `None` if the event ends no
/// turn, or if its agent has no Stop gate.
pub fn stop_verdict(
    event: &Event,
    options: &HookOptions,
    config: &ConfigText,
) -> Option<StopVerdict> {
    if !event.session.agent.has_stop_gate() {
        return None;
    }
    let EventKind::TurnEnded { answer, stop_hook_active, .. } = &event.kind else { return None };
    let mut context =
        StopContext { event, options, config, answer: answer.as_deref(), session: None };
    let stop = StopFacts {
        is_continued: *stop_hook_active,
        is_reply: std::env::var_os(inbox::REPLY_ID).is_some_and(|id| !id.is_empty()),
        is_headless: context.host().is_some_and(RunEnvironment::is_headless),
    };
    let decision = decide_stop(stop, &mut context);
    let words = match decision.rule {
        Rule::Sandbox => format!("{SANDBOX_NOTE}\n"),
        Rule::NotSpoken => reminder(context.plugin().is_some()),
        _ => String::new(),
    };
    let is_told = context.is_announced_before(*stop_hook_active);
    Some(StopVerdict { decision, words, tell: if is_told { Announce::No } else { Announce::Yes } })
}

fn log_decision(decision: &Decision, session_id: String, at: Timestamp, begun: Instant) {
    let message = match decision.rule {
        Rule::Sandbox => SANDBOX_LOG,
        rule if rule.allows() => "the turn may end",
        _ => "the turn may not end yet",
    };
    let micros = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
    let fields = [
        ("session_id", session_id.into()),
        ("rule", decision.rule.as_str().into()),
        ("because", decision.because.clone().into()),
        ("micros", micros.into()),
    ];
    call::log_entry(HookProgram::StopGate, at, "info", message, &fields);
}

/// The sources that the gate reads.
struct StopContext<'a> {
    event: &'a Event,
    options: &'a HookOptions,
    config: &'a ConfigText,
    answer: Option<&'a str>,
    /// Read on first use.
    session: Option<Option<Session>>,
}

impl StopContext<'_> {
    fn host(&self) -> Option<&RunEnvironment> {
        self.event.host.as_ref()
    }

    fn session(&mut self) -> Option<&Session> {
        let event = self.event;
        let read = || {
            let paths = trusted_state()?;
            session_store::read(&paths, &event.session)
        };
        self.session.get_or_insert_with(read).as_ref()
    }

    /// Returns the run that is about to end its turn, as the hooks before this one have left it.
    fn run(&mut self) -> Option<&Run> {
        let process = self.event.process;
        self.session()?.run(process)
    }

    fn is_announced_before(&mut self, stop_hook_active: bool) -> bool {
        let event = self.event;
        match self.session() {
            Some(session) => is_announced_before(session, event, stop_hook_active),
            None => stop_hook_active,
        }
    }

    /// Returns the plugin, if it runs in this Claude. It has called this hook, or it calls its
    /// hooks in parallel. Both then decide alike, whichever is first.
    fn plugin(&mut self) -> Option<Plugin> {
        let own = self.host().and_then(|host| host.plugin.clone());
        own.or_else(|| self.run()?.host.plugin.clone())
    }
}

impl GateInputs for StopContext<'_> {
    fn sandbox(&mut self) -> Option<String> {
        let started_in = self.host().and_then(|host| host.project_dir.as_deref());
        let project = started_in.or(self.event.facts.cwd.as_deref()).map(Path::new);
        for (_, path) in claude_settings::layers(project) {
            match claude_settings::sandbox_in(&path) {
                LayerValue::Enabled => return Some(path.to_string_lossy().into_owned()),
                LayerValue::Disabled => return None,
                LayerValue::Silent(_) => {}
            }
        }
        None
    }

    fn switched_off(&mut self) -> Option<String> {
        let plugin = self.plugin();
        if self.options.no_gate && plugin.is_none() {
            return Some("--no-gate".to_owned());
        }
        let option = plugin.and_then(|plugin| plugin.gate);
        if option.is_some_and(|option| Switch::parse(&option).closes_gate()) {
            return Some("the plugin's option `gate`".to_owned());
        }
        let closes = |setting: &gate_files::GateSetting| setting.switch.closes_gate();
        let own = gate_files::in_config(self.config, "enabled").filter(closes);
        let closed = own.or_else(|| gate_files::in_cvi_config().filter(closes));
        closed.map(|setting| setting.path.to_string_lossy().into_owned())
    }

    fn is_reminded(&mut self) -> bool {
        self.run().is_some_and(|run| run.turn.is_reminded && !run.turn.is_over)
    }

    fn wants_headless(&mut self) -> bool {
        let headless = gate_files::in_config(self.config, "headless");
        headless.is_some_and(|setting| setting.switch == Switch::On)
    }

    fn speech(&mut self) -> Option<SpeakOutcome> {
        let facts = &self.event.facts;
        let prompt_id = facts.prompt_id.as_deref();
        let noted = self.run().and_then(|run| run.turn.speech(prompt_id));
        noted.or_else(|| {
            let path = Path::new(facts.transcript_path.as_deref()?);
            transcript::speech(path, TurnKey { prompt_id, answer: self.answer })
        })
    }
}
