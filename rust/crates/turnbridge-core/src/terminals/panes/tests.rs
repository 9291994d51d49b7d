//! Tests which sessions panes show, and which sessions stop when a pane is left.

use super::*;
use crate::agents::codex::codex_binding::{Rollout, ThreadOrigin};
use crate::session::Activity;
use crate::session::advance::advance;
use crate::session::event::SessionSource;

const THREAD: &str = "0199a213-81c0-7800-8aa1-bbab2a035a53";

fn second(number: i64) -> Timestamp {
    Timestamp::from_micros(number * 1_000_000)
}

fn id(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

fn kitty(number: &str) -> PaneId {
    PaneId::new(format!("kitty:{number}"))
}

fn host(window: &str, entrypoint: &str) -> RunEnvironment {
    RunEnvironment {
        entrypoint: Some(entrypoint.to_owned()).filter(|text| !text.is_empty()),
        env: [("KITTY_WINDOW_ID".to_owned(), window.to_owned())].into(),
        ..RunEnvironment::default()
    }
}

/// A session that several processes begin to carry in turn: `(pid, window, entrypoint)`.
fn session(agent: Agent, session_id: &str, runs: &[(u32, &str, &str)]) -> Session {
    let mut session = Session::new(SessionKey::new(agent, id(session_id)), second(1));
    for (pid, window, entrypoint) in runs {
        let event = Event {
            session: SessionKey::new(agent, id(session_id)),
            at: second(1),
            process: ProcessKey { pid: *pid, start: u64::from(*pid) },
            name: "SessionStart".to_owned(),
            agent_id: None,
            facts: EventFacts::default(),
            host: Some(host(window, entrypoint)),
            kind: EventKind::SessionStarted { source: SessionSource::Fresh },
        };
        session = advance(session, &event).0;
    }
    session
}

fn launch(agent: Agent, line: &str, at: i64) -> PaneLaunch<'_> {
    PaneLaunch {
        agent,
        argv: line.split(' ').collect(),
        cwd: "/p".to_owned(),
        env: [("KAWAII_PANE_ID".to_owned(), "p1".to_owned())].into(),
        at: second(at),
    }
}

fn rollout(thread: &str, created_at: i64) -> BindingInput {
    BindingInput::RolloutAppeared(Rollout {
        thread: id(thread),
        origin: ThreadOrigin::Interface,
        cwd: Some("/p".to_owned()),
        created_at: second(created_at),
    })
}

fn shown(panes: &Panes, sessions: &[Session]) -> String {
    let shown = |binding: &Binding| {
        format!("{} {} {}", binding.pane, binding.session_id, binding.process.pid)
    };
    panes.bindings(sessions).iter().map(shown).collect::<Vec<_>>().join(", ")
}

#[test]
fn kt_73_claudes_sessions_are_where_their_hooks_were_called() {
    let sessions = [
        session(Agent::Claude, "a", &[(1, "1", "cli"), (2, "2", "")]),
        session(Agent::Claude, "b", &[(3, "2", "cli")]),
        session(Agent::Claude, "headless", &[(4, "2", "sdk-cli")]),
        session(Agent::Claude, "nowhere", &[(5, "", "cli")]),
    ];
    assert_eq!(shown(&Panes::default(), &sessions), "kitty:1 a 1, kitty:2 a 2, kitty:2 b 3");
}

#[test]
fn kt_44_a_returned_prompt_stops_what_the_pane_shows_and_no_run_elsewhere() {
    let [mut a, b] = [
        session(Agent::Claude, "a", &[(1, "1", "cli"), (2, "2", "cli")]),
        session(Agent::Claude, "b", &[(3, "2", "cli")]),
    ];
    let panes = Panes::default();
    let sessions = [a.clone(), b];
    let events = panes.departures(&sessions, &kitty("1"), PaneEnd::PromptReturned, second(9));
    assert_eq!(events.len(), 1);
    a = advance(a, &events[0]).0;
    assert_eq!(a.state(), State::Completed, "the other run goes on");
    assert_eq!(shown(&panes, &[a.clone()]), "kitty:2 a 2");
    let events = panes.departures(&[a.clone()], &kitty("2"), PaneEnd::Closed, second(9));
    a = advance(a, &events[0]).0;
    assert_eq!(a.state(), State::Stopped);
    assert_eq!(shown(&panes, &[a]), "");
}

#[test]
fn kt_53_55_a_thread_of_codex_stops_when_its_last_pane_is_left() {
    let mut panes = Panes::default();
    let line = format!("codex resume {THREAD}");
    for pane in ["1", "2"] {
        panes.launch(&kitty(pane), launch(Agent::Codex, &line, 10));
    }
    assert_eq!(shown(&panes, &[]), "", "nobody has seen its rollout (KT-67)");
    panes.codex.apply(rollout(THREAD, 5));
    let sessions = [session(Agent::Codex, THREAD, &[(0, "7", "")])];
    assert_eq!(shown(&panes, &sessions), format!("kitty:1 {THREAD} 0, kitty:2 {THREAD} 0"));
    let left = |panes: &Panes, pane: &str| {
        panes.departures(&sessions, &kitty(pane), PaneEnd::PromptReturned, second(20)).len()
    };
    assert_eq!(left(&panes, "1"), 0);
    panes.leave(&kitty("1"), PaneEnd::PromptReturned);
    assert_eq!(left(&panes, "2"), 1);
    panes.leave(&kitty("2"), PaneEnd::PromptReturned);
    // From here on only its own hooks name its pane.
    assert_eq!(shown(&panes, &sessions), format!("kitty:7 {THREAD} 0"));
    assert_eq!(panes, Panes::default());
}

#[test]
fn kt_70_a_launch_takes_the_pane_over_and_a_marker_is_given_one_thread() {
    let mut panes = Panes::default();
    panes.launch(&kitty("1"), launch(Agent::Codex, "codex", 10));
    panes.launch(&kitty("2"), launch(Agent::Codex, "codex", 10));
    panes.codex.apply(rollout("first", 11));
    panes.leave(&kitty("1"), PaneEnd::PromptReturned);
    // Seen again after its pane has gone: the waiting pane must not get it.
    panes.codex.apply(rollout("first", 11));
    assert!(panes.codex.is_waiting(&kitty("2")));
    panes.launch(&kitty("2"), launch(Agent::Claude, "claude", 12));
    assert!(!panes.codex.is_waiting(&kitty("2")));
    assert_eq!(panes.codex, Bindings::default(), "nothing is remembered that nobody needs");
}

#[test]
fn the_variables_of_the_launch_are_the_threads_surroundings() {
    let mut panes = Panes::default();
    panes.launch(&kitty("1"), launch(Agent::Codex, "codex", 10));
    assert_eq!(panes.host_of(&id("new")), None);
    panes.codex.apply(rollout("new", 10));
    let host = panes.host_of(&id("new")).unwrap();
    assert_eq!(host.env("KAWAII_PANE_ID"), Some("p1"));
}

#[test]
fn panes_that_nobody_has_closed_do_not_pile_up() {
    let mut panes = Panes::default();
    for number in 0..600 {
        let pane = kitty(&number.to_string());
        panes.launch(&pane, launch(Agent::Codex, "codex", number));
    }
    assert_eq!(panes.launches.len(), MAX_PANES);
    assert_eq!(panes.codex.panes().count(), MAX_PANES);
    assert!(panes.codex.is_waiting(&kitty("599")) && !panes.codex.is_waiting(&kitty("87")));
}

#[test]
fn kt_81_kt_82_a_dot_needs_a_pane_and_the_stop_mark_a_screen_that_has_stopped() {
    let mut panes = Panes::default();
    let claude = session(Agent::Claude, "a", &[(7, "1", "cli")]);
    let headless = session(Agent::Claude, "b", &[(8, "1", "sdk-cli")]);
    assert_eq!(panes.view_of(&headless), PaneView::default());
    let shown = PaneView { is_shown: true, has_fallen_silent: false };
    assert_eq!(panes.view_of(&claude), shown);
    panes.launch(&kitty("1"), launch(Agent::Claude, "claude", 1));
    panes.launches.get_mut(&kitty("1")).unwrap().output_stopped_at = Some(second(5));
    assert_eq!(panes.view_of(&claude), shown, "it has nothing to do");
    let working = Session {
        runs: claude
            .runs
            .iter()
            .cloned()
            .map(|run| Run { activity: Activity::Working, ..run })
            .collect(),
        ..claude
    };
    assert_eq!(panes.view_of(&working), PaneView { is_shown: true, has_fallen_silent: true });
}
