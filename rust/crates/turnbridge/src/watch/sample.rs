//! Helpers of the tests of `watch`: sessions and turns, in their state at [`NOW`].

use std::time::Duration;

use turnbridge_core::ids::{Agent, SessionId, SessionKey};
use turnbridge_core::session::event::ProcessKey;
use turnbridge_core::session::turn_record::TurnRecord;
use turnbridge_core::session::{
    Activity, Detail, Prompt, Run, RunEnvironment, Session, SessionEnd, State, Turn, Wait,
};
use turnbridge_core::timestamp::Timestamp;
use turnbridge_system::observe::session_follower::SessionChange;

/// A time at which a blinking dot is on.
pub const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// Returns the nth session of a project, which has its state for this many seconds.
pub fn session(number: u32, project: &str, state: State, seconds: u64) -> Session {
    let since = NOW.minus(Duration::from_secs(seconds));
    let mut session = Session::new(key(number), since);
    session.cwd = Some(format!("/home/user/{project}"));
    session.model = Some("opus".to_owned());
    let wait = Wait { tool: Some("Bash".to_owned()), ..Wait::default() };
    let ended = SessionEnd { at: since, reason: "other".to_owned() };
    session.runs.push(Run {
        process: ProcessKey { pid: 1, start: 1 },
        started_at: since,
        activity: match state {
            State::Completed => Activity::Completed(Some(Detail::Ok)),
            _ => Activity::Working,
        },
        waits: if state == State::WaitingUser { vec![wait] } else { Vec::new() },
        calls: Vec::new(),
        since,
        last_event: "Stop".to_owned(),
        last_at: since,
        sequence: 1,
        turn: Turn {
            prompt: Some(Prompt::head_of(&format!("prompt {number}"))),
            is_over: matches!(state, State::Completed | State::Stopped),
            ..Turn::default()
        },
        background_tasks: Vec::new(),
        host: RunEnvironment::default(),
        ended: (state == State::Stopped).then_some(ended),
    });
    session
}

/// Puts the session into a pane of tmux.
pub fn in_pane(mut session: Session) -> Session {
    session.runs[0].host.env.insert("TMUX_PANE".to_owned(), "%1".to_owned());
    session
}

/// Returns a key. Every third is a Codex thread's.
pub fn key(number: u32) -> SessionKey {
    let agent = if number.is_multiple_of(3) { Agent::Codex } else { Agent::Claude };
    let id = SessionId::parse(&format!("825c8529-ee09-4cb8-8902-{number:012}")).unwrap();
    SessionKey::new(agent, id)
}

pub fn changes(sessions: impl IntoIterator<Item = Session>) -> Vec<SessionChange> {
    sessions.into_iter().map(|session| SessionChange::Session(Box::new(session))).collect()
}

pub fn turn(prompt: &str, answer: &str, seconds_ago: u64) -> TurnRecord {
    TurnRecord {
        prompt: Some(prompt.to_owned()),
        answer: Some(answer.to_owned()),
        ..TurnRecord::new(key(1), Detail::Ok, NOW.minus(Duration::from_secs(seconds_ago)))
    }
}
