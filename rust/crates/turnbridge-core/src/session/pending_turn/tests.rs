//! Tests that a pending turn is completed once, and does not overwrite a later state of its
//! session.

use super::*;
use crate::ids::Agent;
use crate::session::advance::advance;
use crate::session::{Detail, State};
use crate::timestamp::Timestamp;

const AGENT: ProcessKey = ProcessKey { pid: 7, start: 1 };

fn claude() -> SessionKey {
    SessionKey::of("claude", "s").unwrap()
}

fn event(at: i64, kind: EventKind) -> Event {
    Event {
        session: claude(),
        at: Timestamp::from_millis(at),
        process: AGENT,
        name: "Stop".to_owned(),
        agent_id: None,
        facts: EventFacts { prompt_id: Some("p".to_owned()), ..EventFacts::default() },
        host: None,
        kind,
    }
}

fn at_work() -> Session {
    let session = Session::new(claude(), Timestamp::from_millis(0));
    advance(session, &event(1, EventKind::PromptSubmitted { prompt: "go".to_owned() })).0
}

fn pending(at: i64) -> PendingTurn {
    PendingTurn {
        writer: ProcessKey { pid: 8, start: 1 },
        agent: AGENT,
        payload: 99,
        origin: "plugin".to_owned(),
        event: "Stop".to_owned(),
        stop_hook_active: false,
        tell: true,
        transcript_path: None,
        record: TurnRecord {
            turn_id: Some("p".to_owned()),
            notice_id: Some("claude-63".to_owned()),
            prompt: Some("go".to_owned()),
            answer: Some("done".to_owned()),
            ..TurnRecord::new(claude(), Detail::Ok, Timestamp::from_millis(at))
        },
    }
}

fn applies(completion: Completion) -> bool {
    matches!(completion, Completion::Complete { event: Some(_) })
}

#[test]
fn a_turn_is_completed_once_and_ends_the_state_that_it_ended() {
    let mut session = at_work();
    let Completion::Complete { event: Some(event) } = pending(2).complete(&mut session) else {
        panic!("nothing to do")
    };
    let mut session = advance(session, &event).0;
    assert_eq!(session.state(), State::Completed);
    // The file still exists, because the process that removes it was killed too.
    assert_eq!(pending(2).complete(&mut session), Completion::Done);
}

#[test]
fn a_session_that_has_come_further_keeps_its_state() {
    let later = event(3, EventKind::PromptSubmitted { prompt: "next".to_owned() });
    let mut session = advance(at_work(), &later).0;
    let completion = pending(2).complete(&mut session);
    assert_eq!(completion, Completion::Complete { event: None });
    assert_eq!(session.state(), State::Working);
}

#[test]
fn what_the_other_registration_has_dealt_with_is_done() {
    let mut session = at_work();
    session.claims.note(SeenEvent { payload: 99, origin: "settings".to_owned() });
    assert_eq!(pending(2).complete(&mut session), Completion::Done);
}

#[test]
fn a_turn_that_the_gate_held_without_saying_so_has_ended() {
    let blocked = event(2, EventKind::StopBlocked { answer: Some("done".to_owned()) });
    let mut session = advance(at_work(), &blocked).0;
    session.claims.note(pending(2).claim());
    assert!(applies(pending(2).complete(&mut session)));
    // The hook did report it, and the agent continued.
    let agent = EventKind::ToolStarting { call: Default::default(), skill: None, server: None };
    let mut session = advance(at_work(), &blocked).0;
    session.claims.note(pending(2).claim());
    session = advance(session, &event(3, agent)).0;
    assert_eq!(pending(2).complete(&mut session), Completion::Done);
}

#[test]
fn a_record_is_known_by_its_id_and_one_of_codex_by_its_turn() {
    let turn = pending(2);
    let record = |change: fn(&mut TurnRecord)| {
        let mut record = pending(2).record;
        change(&mut record);
        record
    };
    assert!(turn.is_recorded_by(&turn.record));
    assert!(!turn.is_recorded_by(&record(|record| record.notice_id = None)));
    let mut codex = turn.clone();
    codex.record.session.agent = Agent::Codex;
    assert!(codex.is_recorded_by(&record(|record| record.notice_id = None)));
    assert!(!codex.is_recorded_by(&record(|record| {
        record.notice_id = None;
        record.turn_id = Some("other".to_owned());
    })));
}
