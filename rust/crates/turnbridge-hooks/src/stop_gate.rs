//! `turnbridge-stop-gate`: decides whether the turn may end, then records what came of it.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use turnbridge_core::agents::claude::sandbox::LayerValue;
use turnbridge_core::gate::gate_switches::Switch;
use turnbridge_core::gate::speak::SpeakOutcome;
use turnbridge_core::gate::turn_speech::TurnKey;
use turnbridge_core::gate::{Decision, Look, Rule, SANDBOX_LOG, SANDBOX_NOTE, Stop};
use turnbridge_core::gate::{decide_stop, reminder, shown_sandbox_note};
use turnbridge_core::ids::{Agent, SessionId};
use turnbridge_core::session::event::{Event, EventKind};
use turnbridge_core::session::{Host, Plugin, Run, Session};
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::files::atomic_file::open_making_folders;
use turnbridge_store::foreign::{claude_settings, gate_files};
use turnbridge_store::kill_point::kill_point;
use turnbridge_store::log::Field;
use turnbridge_store::state::folder_trust::trusted_state;
use turnbridge_store::state::{inbox, session_store};

use crate::Program;
use crate::announcement::is_told_before;
use crate::arguments::Options;
use crate::call::{self, Recorded, Tell};
use crate::transcript;

const ALLOWED: u8 = 0;
/// What Claude takes as "not yet".
const BLOCKED: u8 = 2;

pub fn handle(options: &Options, at: Timestamp, begun: Instant) -> u8 {
    let Some(mut received) = call::receive(Program::StopGate, options, at) else {
        return ALLOWED;
    };
    received.announce();
    let event = &mut received.event;
    let Some(Judged { decision, words, tell }) = judge(event, options) else {
        call::record(Program::StopGate, received, Tell::Yes);
        return ALLOWED;
    };
    if !decision.rule.allows()
        && let EventKind::TurnEnded { answer, .. } = &mut event.kind
    {
        event.kind = EventKind::StopBlocked { answer: answer.take() };
    }
    let session_id = event.session_id.clone();
    let is_persons = !event.host.as_ref().is_some_and(Host::is_headless);
    kill_point("judged");
    match call::record(Program::StopGate, received, tell) {
        Recorded::Here => {}
        // A turn that is not known to be held is not held: it would never be told.
        Recorded::ByTwin | Recorded::Later => return ALLOWED,
    }
    log_decision(&decision, session_id.to_string(), at, begun);
    if decision.rule == Rule::Sandbox && is_persons && is_first_note(&session_id) {
        let _ = std::io::stdout().write_all(shown_sandbox_note().as_bytes());
    }
    let _ = std::io::stderr().write_all(words.as_bytes());
    if decision.rule.allows() { ALLOWED } else { BLOCKED }
}

/// Whether the person has not been told yet in this session that the sandbox is on (X42). Where that
/// cannot be written down, it is not told: once is enough, and each time is too often.
fn is_first_note(session: &SessionId) -> bool {
    let Some(paths) = trusted_state() else { return false };
    let mark = paths.sandbox_note(Agent::Claude, session);
    open_making_folders(&mark, OpenOptions::new().write(true).create_new(true)).is_ok()
}

/// What becomes of a Stop.
pub struct Judged {
    pub decision: Decision,
    /// For whoever reads stderr: the model, or the person who looks.
    words: String,
    /// Whether the turn is told to anybody, if it ends.
    pub tell: Tell,
}

/// `None` for an event that ends no turn, or one of Codex, which has no gate.
pub fn judge(event: &Event, options: &Options) -> Option<Judged> {
    if event.agent != Agent::Claude {
        return None;
    }
    let EventKind::TurnEnded { answer, stop_hook_active, .. } = &event.kind else { return None };
    let mut room = Room { event, options, answer: answer.as_deref(), session: None };
    let stop = Stop {
        is_continued: *stop_hook_active,
        is_reply: std::env::var_os(inbox::REPLY_ID).is_some_and(|id| !id.is_empty()),
        is_headless: room.host().is_some_and(Host::is_headless),
    };
    let decision = decide_stop(stop, &mut room);
    let words = match decision.rule {
        Rule::Sandbox => format!("{SANDBOX_NOTE}\n"),
        Rule::NotSpoken => reminder(room.plugin().is_some()),
        _ => String::new(),
    };
    let is_told = room.is_told_before(*stop_hook_active);
    Some(Judged { decision, words, tell: if is_told { Tell::No } else { Tell::Yes } })
}

fn log_decision(decision: &Decision, session_id: String, at: Timestamp, begun: Instant) {
    let message = match decision.rule {
        Rule::Sandbox => SANDBOX_LOG,
        rule if rule.allows() => "the turn may end",
        _ => "the turn may not end yet",
    };
    let micros = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
    let fields = [
        ("session_id", Field::Text(session_id)),
        ("rule", Field::Text(decision.rule.as_str().to_owned())),
        ("because", Field::Text(decision.because.clone())),
        ("micros", Field::Number(micros)),
    ];
    call::log_entry(Program::StopGate, at, "info", message, &fields);
}

/// Where the gate looks.
struct Room<'a> {
    event: &'a Event,
    options: &'a Options,
    answer: Option<&'a str>,
    /// Read when it is first asked for.
    session: Option<Option<Session>>,
}

impl Room<'_> {
    fn host(&self) -> Option<&Host> {
        self.event.host.as_ref()
    }

    fn session(&mut self) -> Option<&Session> {
        let event = self.event;
        let read = || {
            let paths = trusted_state()?;
            session_store::read(&paths, event.agent, &event.session_id)
        };
        self.session.get_or_insert_with(read).as_ref()
    }

    /// The run that is about to end its turn, as the hooks before this one have left it.
    fn run(&mut self) -> Option<&Run> {
        let process = self.event.process;
        self.session()?.run(process)
    }

    fn is_told_before(&mut self, stop_hook_active: bool) -> bool {
        let event = self.event;
        match self.session() {
            Some(session) => is_told_before(session, event, stop_hook_active),
            None => stop_hook_active,
        }
    }

    /// The plugin, if it runs in this Claude: it may have called us, or it calls its own hooks
    /// beside us. Both then decide alike, whichever is first.
    fn plugin(&mut self) -> Option<Plugin> {
        let own = self.host().and_then(|host| host.plugin.clone());
        own.or_else(|| self.run()?.host.plugin.clone())
    }
}

impl Look for Room<'_> {
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
        let files = [|| gate_files::in_config("enabled"), gate_files::in_cvi_config];
        let closed = files.into_iter().filter_map(|read| read());
        let mut closed = closed.filter(|setting| setting.switch.closes_gate());
        closed.next().map(|setting| setting.path.to_string_lossy().into_owned())
    }

    fn is_reminded(&mut self) -> bool {
        self.run().is_some_and(|run| run.turn.is_reminded && !run.turn.is_over)
    }

    fn wants_headless(&mut self) -> bool {
        gate_files::in_config("headless").is_some_and(|setting| setting.switch == Switch::On)
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
