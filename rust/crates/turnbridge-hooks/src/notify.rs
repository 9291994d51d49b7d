//! The two other ways by which a notice begins: a dialog that waits for the user, and a Stop hook
//! that somebody has made by hand (`turnbridge notify --tool claude`).

use turnbridge_core::gate::Rule;
use turnbridge_core::notices::notice_switches::wants_waiting;
use turnbridge_core::notices::notice_wire::{Notice, NoticeKind, notice_id};
use turnbridge_core::session::Session;
use turnbridge_core::session::dialogs::asks_the_user;
use turnbridge_core::session::event::{Event, EventKind};
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::log::Field;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::folder_trust::trusted_state;
use turnbridge_store::state::{notice_queue, session_store, turn_store};

use crate::Program;
use crate::arguments::Options;
use crate::call::{self, Tell};
use crate::notice;
use crate::stop_gate::{Judged, judge};

/// A dialog has opened: nothing, unless the user wants to be told that an agent waits.
pub fn waiting(options: &Options, at: Timestamp) {
    let wants = notice_queue::config().is_ok_and(|config| wants_waiting(&config));
    if !wants {
        // Claude is still writing; a closed pipe would be an error to it.
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        return;
    }
    let Some(received) = call::receive(Program::Notify, options, at) else { return };
    let event = &received.event;
    let call = match &event.kind {
        EventKind::DialogOpened { call } => call.as_ref(),
        // Codex asks for no permission to ask.
        EventKind::ToolStarting { call, .. } if asks_the_user(&call.tool) => Some(call),
        _ => return,
    };
    let Some(paths) = trusted_state() else { return };
    // The same request may come again in the same turn, but not within half a minute.
    let moment = (at.as_micros() / 30_000_000) as u64;
    let notice = Notice {
        kind: NoticeKind::Waiting,
        answers: Vec::new(),
        subject: call.map(|call| call.tool.clone()),
        ..notice_of(&paths, event, received.payload() ^ moment)
    };
    report(at, notice::queue(&paths, &notice));
}

/// A Stop hook made by hand. Where our own hooks run too, it goes by the gate's rules, so that a
/// Stop which the gate blocks is no notice; and its notice is the one that our own Stop hook would
/// make.
pub fn finished(options: &Options, at: Timestamp) {
    let Some(received) = call::receive(Program::Notify, options, at) else { return };
    let event = &received.event;
    let (Some(judged), Some(paths)) = (judge(event, options), trusted_state()) else {
        return;
    };
    let session = session_store::read(&paths, event.agent, &event.session_id);
    let has_gate = session.is_some_and(|session| session.run(event.process).is_some());
    let is_blocked = !judged.decision.rule.allows() || is_blocked_just_now(&judged, event);
    if judged.tell == Tell::No || has_gate && is_blocked {
        return;
    }
    report(at, notice::queue(&paths, &notice_of(&paths, event, received.payload())));
}

/// The gate's own hook runs beside us; it may have blocked this very Stop, and noted so, before we
/// have looked.
fn is_blocked_just_now(judged: &Judged, event: &Event) -> bool {
    let is_continued = matches!(event.kind, EventKind::TurnEnded { stop_hook_active: true, .. });
    judged.decision.rule == Rule::Reminded && !is_continued
}

/// What can be told of the turn without ending it.
fn notice_of(paths: &StatePaths, event: &Event, payload: u64) -> Notice {
    let session = session_store::read(paths, event.agent, &event.session_id);
    let session = session.filter(|session| is_its_turn(session, event));
    let answer = match &event.kind {
        EventKind::TurnEnded { answer, .. } => answer.clone(),
        _ => None,
    };
    let kept = session.as_ref().map(|session| turn_store::kept(paths, session, event.process));
    let kept = kept.unwrap_or_default();
    let answers = kept.earlier_answer.into_iter().chain(answer);
    Notice {
        version: 1,
        id: notice_id(event, payload),
        kind: NoticeKind::Turn,
        created_at: event.at.to_string(),
        agent: event.agent.as_str().to_owned(),
        session_id: event.session_id.to_string(),
        turn_id: event.facts.prompt_id.clone(),
        cwd: event.facts.cwd.clone(),
        transcript_path: event.facts.transcript_path.clone(),
        prompt: kept.prompt,
        answers: answers.filter(|answer| !answer.trim().is_empty()).collect(),
        subject: None,
        thread: None,
    }
}

/// The session may know of an older turn only.
fn is_its_turn(session: &Session, event: &Event) -> bool {
    let Some(run) = session.run(event.process) else { return false };
    match (&run.turn.prompt_id, &event.facts.prompt_id) {
        (Some(own), Some(wanted)) => own == wanted,
        _ => true,
    }
}

fn report(at: Timestamp, result: Result<(), String>) {
    if let Err(reason) = result {
        let fields = [("reason", Field::Text(reason))];
        call::log_problem(Program::Notify, at, "the notice could not be queued", &fields);
    }
}
