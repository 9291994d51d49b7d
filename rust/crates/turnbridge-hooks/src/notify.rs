//! Queues the notices that `session_store::update` does not: of a dialog that waits for the user,
//! and of a Stop hook that the user made by hand (`turnbridge notify --tool claude`).

use turnbridge_core::agents::hook_table::HookProgram;
use turnbridge_core::gate::Rule;
use turnbridge_core::notices::notice::{Notice, notice_id};
use turnbridge_core::notices::notice_switches::wants_waiting;
use turnbridge_core::session::Session;
use turnbridge_core::session::dialogs::asks_the_user;
use turnbridge_core::session::event::{Event, EventKind};
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::config_text::ConfigText;
use turnbridge_store::state::folder_trust::trusted_state;
use turnbridge_store::state::{session_store, turn_store};

use crate::arguments::HookOptions;
use crate::call::{self, Announce};
use crate::notice;
use crate::stop_gate::{StopVerdict, stop_verdict};

/// Queues a notice of an opened dialog, if the user wants notices of waiting agents.
pub fn waiting(options: &HookOptions, config: &ConfigText, at: Timestamp) {
    let wants = config.trusted().is_ok_and(wants_waiting);
    if !wants {
        // Claude is still writing, and a closed pipe would be an error for it.
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        return;
    }
    let Some(received) = call::receive(HookProgram::Notify, options, at) else { return };
    let event = &received.event;
    let call = match &event.kind {
        EventKind::DialogOpened { call } => call.as_ref(),
        // Codex requests no permission for a question.
        EventKind::ToolStarting { call, .. } if asks_the_user(&call.tool) => Some(call),
        _ => return,
    };
    let Some(paths) = trusted_state() else { return };
    // The same request may recur in the same turn, but not within half a minute.
    let moment = (at.as_micros() / 30_000_000) as u64;
    let id = notice_id(event, received.payload() ^ moment);
    let tool = call.map(|call| call.tool.clone());
    let waiting = Notice::waiting(id, event.session.clone(), tool, event.at);
    let notice = Notice { answers: Vec::new(), ..with_turn(waiting, &paths, event) };
    report(at, notice::queue(&paths, config, &notice));
}

/// Handles a Stop hook made by hand. If Turnbridge's hooks run too, it follows the gate's rules, so
/// that a Stop which the gate blocks is no notice. Its notice is the one that Turnbridge's Stop
/// hook would make.
pub fn finished(options: &HookOptions, config: &ConfigText, at: Timestamp) {
    let Some(received) = call::receive(HookProgram::Notify, options, at) else { return };
    let event = &received.event;
    let (Some(judged), Some(paths)) = (stop_verdict(event, options, config), trusted_state())
    else {
        return;
    };
    let session = session_store::read(&paths, &event.session);
    let has_gate = session.is_some_and(|session| session.run(event.process).is_some());
    let is_blocked = !judged.decision.rule.allows() || is_blocked_just_now(&judged, event);
    if judged.tell == Announce::No || has_gate && is_blocked {
        return;
    }
    let id = notice_id(event, received.payload());
    let turn = Notice::turn(id, event.session.clone(), event.at);
    report(at, notice::queue(&paths, config, &with_turn(turn, &paths, event)));
}

/// Returns whether the gate's hook, which runs in parallel, blocked this very Stop, and noted it,
/// before this hook looked.
fn is_blocked_just_now(judged: &StopVerdict, event: &Event) -> bool {
    let is_continued = matches!(event.kind, EventKind::TurnEnded { stop_hook_active: true, .. });
    judged.decision.rule == Rule::Reminded && !is_continued
}

/// Adds the facts of the turn that can be read without ending it.
fn with_turn(notice: Notice, paths: &StatePaths, event: &Event) -> Notice {
    let session = session_store::read(paths, &event.session);
    let session = session.filter(|session| is_its_turn(session, event));
    let answer = match &event.kind {
        EventKind::TurnEnded { answer, .. } => answer.clone(),
        _ => None,
    };
    let kept = session.as_ref().map(|session| turn_store::kept(paths, session, event.process));
    let kept = kept.unwrap_or_default();
    let answers = kept.earlier_answer.into_iter().chain(answer);
    Notice {
        turn_id: event.facts.prompt_id.clone(),
        cwd: event.facts.cwd.clone(),
        transcript_path: event.facts.transcript_path.clone(),
        prompt: kept.prompt,
        answers: answers.filter(|answer| !answer.trim().is_empty()).collect(),
        ..notice
    }
}

/// Returns whether the session's turn is the event's. The session may know of an older turn only.
fn is_its_turn(session: &Session, event: &Event) -> bool {
    let Some(run) = session.run(event.process) else { return false };
    match (&run.turn.prompt_id, &event.facts.prompt_id) {
        (Some(own), Some(wanted)) => own == wanted,
        _ => true,
    }
}

fn report(at: Timestamp, result: Result<(), String>) {
    if let Err(reason) = result {
        let fields = [("reason", reason.into())];
        call::log_problem(HookProgram::Notify, at, "the notice could not be queued", &fields);
    }
}
