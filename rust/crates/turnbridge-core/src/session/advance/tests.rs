//! Tests the state table with recorded payloads: `check("SessionStart.startup UserPromptSubmit …")`
//! prints the state after each. `+7s` lets time pass, `@2` makes the next events come from another
//! process, `~3s` makes the next event that much older than the one before.

use super::*;
use crate::agents::hook_wire::{CallContext, HookReader, interpret};
use crate::ids::{Agent, SessionId, SessionKey};
use crate::session::event::EventFacts;
use crate::session::{RunEnvironment, State};
use crate::timestamp::Timestamp;

struct SessionDriver {
    session: Session,
    now: Timestamp,
    process: ProcessKey,
    changes: Vec<String>,
}

impl SessionDriver {
    fn new() -> SessionDriver {
        SessionDriver::of(Agent::Claude)
    }

    fn of(agent: Agent) -> SessionDriver {
        let id = SessionId::parse("s").unwrap();
        SessionDriver {
            session: Session::new(SessionKey::new(agent, id), Timestamp::from_millis(0)),
            now: Timestamp::from_millis(1_000_000),
            process: ProcessKey { pid: 1, start: 1 },
            changes: Vec::new(),
        }
    }

    fn step(&mut self, word: &str) {
        if let Some(seconds) = word.strip_prefix('+').and_then(|word| word.strip_suffix('s')) {
            self.now = self.now.plus(Duration::from_secs_f64(seconds.parse().unwrap()));
            return;
        }
        if let Some(seconds) = word.strip_prefix('~').and_then(|word| word.strip_suffix('s')) {
            self.now = self.now.minus(Duration::from_secs_f64(seconds.parse().unwrap()));
            return;
        }
        if let Some(pid) = word.strip_prefix('@') {
            self.process = ProcessKey { pid: pid.parse().unwrap(), start: 1 };
            return;
        }
        self.now = self.now.plus(Duration::from_millis(1));
        let event = self.event(word);
        let (session, effect) = advance(self.session.clone(), &event);
        self.session = session;
        let detail = match self.session.detail() {
            Some(Detail::Failed { error }) => format!(" failed:{error}"),
            Some(detail) => format!(" {}", detail.as_str()),
            None => String::new(),
        };
        let late = if effect == SessionEffect::Late { " (late)" } else { "" };
        self.changes.push(format!("{word} → {}{detail}{late}", self.session.state().as_str()));
    }

    fn context(&self) -> CallContext {
        CallContext {
            agent: self.session.key.agent,
            at: self.now,
            process: self.process,
            host: RunEnvironment::default(),
        }
    }

    fn event(&self, word: &str) -> Event {
        let (word, agent_id) = match word.split_once('#') {
            Some((word, agent)) => (word, Some(agent.to_owned())),
            None => (word, None),
        };
        let agent = self.session.key.agent;
        let observed = |kind| Event {
            session: SessionKey::new(agent, self.session.key.id.clone()),
            at: self.now,
            process: self.process,
            name: word.to_owned(),
            agent_id: None,
            facts: EventFacts::default(),
            host: None,
            kind,
        };
        match word {
            "TurnStarted" => return observed(EventKind::TurnStarted),
            "Interrupted" => return observed(EventKind::Interrupted),
            "DialogsClosed" => return observed(EventKind::DialogsClosed),
            "ProcessGone" => return observed(EventKind::ProcessGone),
            "PromptReturned" => {
                return observed(EventKind::PaneLeft { why: PaneEnd::PromptReturned });
            }
            "PaneClosed" => return observed(EventKind::PaneLeft { why: PaneEnd::Closed }),
            _ => {}
        }
        let path = format!("{}/testdata/{agent}/hooks/{word}.json", env!("CARGO_MANIFEST_DIR"));
        #[expect(clippy::disallowed_methods, reason = "a test reads its recordings")]
        let payload = std::fs::read(&path).unwrap_or_else(|_| panic!("no recording {word}"));
        let mut reader = HookReader::new();
        reader.feed(&payload).unwrap();
        let context = self.context();
        let (mut event, problems) = interpret(reader.finish().unwrap(), context).unwrap();
        assert!(problems.is_empty(), "{problems:?}");
        if agent_id.is_some() {
            event.agent_id = agent_id;
        }
        if agent == Agent::Claude && event.facts.prompt_id.is_some() {
            // The recordings are of many turns; here they are of one.
            event.facts.prompt_id = Some("p".to_owned());
        }
        event
    }
}

fn run(words: &str) -> SessionDriver {
    run_of(Agent::Claude, words)
}

fn run_of(agent: Agent, words: &str) -> SessionDriver {
    let mut driver = SessionDriver::of(agent);
    words.split_whitespace().for_each(|word| driver.step(word));
    driver
}

#[track_caller]
fn states(words: &str) -> String {
    run(words).changes.join("\n")
}

#[test]
fn a_turn_with_a_tool_and_a_dialog_kt_36_to_40_tv_12_to_17() {
    insta::assert_snapshot!(states(
        "SessionStart.startup UserPromptSubmit PreToolUse.Bash PermissionRequest.Bash +3s
         PostToolUse.Bash PostToolBatch Stop SessionEnd.prompt_input_exit"
    ), @"
    SessionStart.startup → completed
    UserPromptSubmit → working
    PreToolUse.Bash → working
    PermissionRequest.Bash → waiting_user
    PostToolUse.Bash → working
    PostToolBatch → working
    Stop → completed ok
    SessionEnd.prompt_input_exit → stopped
    ");
}

#[test]
fn a_question_to_the_user_is_waited_for_tv_20() {
    insta::assert_snapshot!(states(
        "UserPromptSubmit PreToolUse.AskUserQuestion PermissionRequest.AskUserQuestion
         Notification.permission_prompt PostToolUse.AskUserQuestion"
    ), @"
    UserPromptSubmit → working
    PreToolUse.AskUserQuestion → waiting_user
    PermissionRequest.AskUserQuestion → waiting_user
    Notification.permission_prompt → waiting_user
    PostToolUse.AskUserQuestion → working
    ");
}

#[test]
fn an_elicitation_is_waited_for_until_it_is_answered() {
    insta::assert_snapshot!(states(
        "UserPromptSubmit PreToolUse.mcp__plugin_probe_voice__ask Elicitation.form +6s
         Notification.elicitation_dialog ElicitationResult.accept
         PostToolUse.mcp__plugin_probe_voice__ask Notification.elicitation_response Stop"
    ), @"
    UserPromptSubmit → working
    PreToolUse.mcp__plugin_probe_voice__ask → working
    Elicitation.form → waiting_user
    Notification.elicitation_dialog → waiting_user
    ElicitationResult.accept → working
    PostToolUse.mcp__plugin_probe_voice__ask → working
    Notification.elicitation_response → working
    Stop → completed ok
    ");
}

#[test]
fn api_errors_end_a_turn_as_failed_with_their_kind() {
    insta::assert_snapshot!(states(
        "UserPromptSubmit StopFailure.server_error UserPromptSubmit StopFailure.rate_limit
         UserPromptSubmit StopFailure.authentication_failed UserPromptSubmit Stop"
    ), @"
    UserPromptSubmit → working
    StopFailure.server_error → completed failed:server_error
    UserPromptSubmit → working
    StopFailure.rate_limit → completed failed:rate_limit
    UserPromptSubmit → working
    StopFailure.authentication_failed → completed failed:authentication_failed
    UserPromptSubmit → working
    Stop → completed ok
    ");
}

#[test]
fn tool_failures_denials_and_later_tools_are_work() {
    insta::assert_snapshot!(states(
        "UserPromptSubmit PreToolUse.Bash PostToolUseFailure.Bash PreToolUse.Read
         PostToolUseFailure.Read PermissionRequest.Bash PermissionDenied.Bash PostToolBatch"
    ), @"
    UserPromptSubmit → working
    PreToolUse.Bash → working
    PostToolUseFailure.Bash → working
    PreToolUse.Read → working
    PostToolUseFailure.Read → working
    PermissionRequest.Bash → waiting_user
    PermissionDenied.Bash → working
    PostToolBatch → working
    ");
}

/// X22.
#[test]
fn idle_and_unknown_notifications_change_nothing_kt_41_x4() {
    insta::assert_snapshot!(states(
        "UserPromptSubmit +60s Notification.idle_prompt Stop +60s Notification.idle_prompt
         Notification.elicitation_response"
    ), @"
    UserPromptSubmit → working
    Notification.idle_prompt → working
    Stop → completed ok
    Notification.idle_prompt → completed ok
    Notification.elicitation_response → completed ok
    ");
}

#[test]
fn a_late_notification_never_overrides_a_newer_event_kt_42() {
    // The dialog opened six seconds before its notification: a tool that ran since then has ended
    // it, a tool that ran before has not.
    insta::assert_snapshot!(states(
        "UserPromptSubmit PermissionRequest.Bash +5.9s PostToolUse.Bash +0.1s
         Notification.permission_prompt
         PreToolUse.Bash +6.01s Notification.permission_prompt PostToolUse.Bash"
    ), @"
    UserPromptSubmit → working
    PermissionRequest.Bash → waiting_user
    PostToolUse.Bash → working
    Notification.permission_prompt → working
    PreToolUse.Bash → working
    Notification.permission_prompt → waiting_user
    PostToolUse.Bash → working
    ");
}

#[test]
fn compaction_in_the_middle_of_a_turn_stays_working() {
    insta::assert_snapshot!(states(
        "UserPromptSubmit SubagentStop.compact SessionStart.compact PreToolUse.Bash Stop
         SessionStart.compact SessionStart.resume"
    ), @"
    UserPromptSubmit → working
    SubagentStop.compact → working
    SessionStart.compact → working
    PreToolUse.Bash → working
    Stop → completed ok
    SessionStart.compact → completed
    SessionStart.resume → completed
    ");
}

#[test]
fn sub_agents_never_revive_or_end_their_parent() {
    insta::assert_snapshot!(states(
        "UserPromptSubmit PreToolUse.Agent SubagentStart PreToolUse.Bash.subagent
         PostToolUse.Bash.subagent SubagentStop PostToolUse.Agent Stop
         PreToolUse.Bash.subagent SubagentStop SessionEnd.other SubagentStart
         PostToolUse.Bash.subagent"
    ), @"
    UserPromptSubmit → working
    PreToolUse.Agent → working
    SubagentStart → working
    PreToolUse.Bash.subagent → working
    PostToolUse.Bash.subagent → working
    SubagentStop → working
    PostToolUse.Agent → working
    Stop → completed ok
    PreToolUse.Bash.subagent → completed ok
    SubagentStop → completed ok
    SessionEnd.other → stopped
    SubagentStart → stopped
    PostToolUse.Bash.subagent → stopped
    ");
    assert!(run("PreToolUse.Bash.subagent SubagentStop").session.runs.is_empty());
}

#[test]
fn a_sub_agents_dialog_waits_for_the_user_until_that_agent_goes_on() {
    insta::assert_snapshot!(states(
        "UserPromptSubmit PreToolUse.Agent PermissionRequest.Bash#a PostToolUse.Bash#b
         SubagentStop#b PreToolUse.Bash PostToolUse.Bash#a
         PermissionRequest.Bash#a SubagentStop#a
         Stop PermissionRequest.Bash#a"
    ), @"
    UserPromptSubmit → working
    PreToolUse.Agent → working
    PermissionRequest.Bash#a → waiting_user
    PostToolUse.Bash#b → waiting_user
    SubagentStop#b → waiting_user
    PreToolUse.Bash → waiting_user
    PostToolUse.Bash#a → working
    PermissionRequest.Bash#a → waiting_user
    SubagentStop#a → working
    Stop → completed ok
    PermissionRequest.Bash#a → waiting_user
    ");
}

/// `Read` of two files, of which `out` needs the user's approval.
fn read_event(driver: &SessionDriver, name: &str, file: &str) -> Event {
    let id = if name == "PermissionRequest" {
        String::new()
    } else {
        format!(",\"tool_use_id\":\"{file}\"")
    };
    let payload = format!(
        r#"{{"session_id":"s","hook_event_name":"{name}","tool_name":"Read","tool_input":{{"file_path":"{file}"}}{id}}}"#
    );
    let mut reader = HookReader::new();
    reader.feed(payload.as_bytes()).unwrap();
    let context = driver.context();
    interpret(reader.finish().unwrap(), context).unwrap().0
}

impl SessionDriver {
    fn read(&mut self, name: &str, file: &str) -> State {
        self.now = self.now.plus(Duration::from_millis(1));
        let event = read_event(self, name, file);
        self.session = advance(self.session.clone(), &event).0;
        self.session.state()
    }
}

#[test]
fn other_tools_of_a_batch_do_not_close_an_open_dialog() {
    let mut driver = run("UserPromptSubmit");
    assert_eq!(driver.read("PreToolUse", "out"), State::Working);
    assert_eq!(driver.read("PreToolUse", "in"), State::Working);
    assert_eq!(driver.read("PermissionRequest", "out"), State::WaitingUser);
    assert_eq!(driver.read("PostToolUse", "in"), State::WaitingUser);
    assert_eq!(driver.read("PostToolUse", "out"), State::Working);
}

#[test]
fn two_dialogs_of_one_batch_are_both_waited_for() {
    let mut driver = run("UserPromptSubmit");
    for file in ["one", "two"] {
        driver.read("PreToolUse", file);
    }
    assert_eq!(driver.read("PermissionRequest", "one"), State::WaitingUser);
    assert_eq!(driver.read("PermissionRequest", "two"), State::WaitingUser);
    assert_eq!(driver.read("PostToolUse", "two"), State::WaitingUser);
    assert_eq!(driver.read("PostToolUseFailure", "one"), State::Working);
    assert!(driver.session.runs[0].calls.is_empty());
}

/// The same file twice: the requests cannot be distinguished, the calls can.
#[test]
fn two_equal_calls_have_a_dialog_each() {
    let mut driver = run("UserPromptSubmit");
    let mut tell = |name: &str, id: &str| {
        driver.now = driver.now.plus(Duration::from_millis(1));
        let mut event = read_event(&driver, name, "same");
        if let EventKind::ToolStarting { call, .. } | EventKind::ToolEnded { call, .. } =
            &mut event.kind
        {
            call.id = Some(id.to_owned());
        }
        driver.session = advance(driver.session.clone(), &event).0;
        driver.session.state()
    };
    tell("PreToolUse", "1");
    tell("PreToolUse", "2");
    tell("PermissionRequest", "");
    assert_eq!(tell("PermissionRequest", ""), State::WaitingUser);
    assert_eq!(tell("PostToolUse", "1"), State::WaitingUser, "the other is still asked about");
    assert_eq!(tell("PostToolUse", "2"), State::Working);
}

#[test]
fn a_question_is_one_dialog_though_two_hooks_tell_of_it() {
    let driver =
        run("UserPromptSubmit PreToolUse.AskUserQuestion PermissionRequest.AskUserQuestion");
    assert_eq!(driver.session.runs[0].waits.len(), 1);
}

#[test]
fn the_answer_to_an_elicitation_leaves_the_dialog_of_a_call_open() {
    let mut driver = run("UserPromptSubmit");
    driver.read("PreToolUse", "out");
    assert_eq!(driver.read("PermissionRequest", "out"), State::WaitingUser);
    driver.step("Elicitation.form");
    driver.step("ElicitationResult.accept");
    assert_eq!(driver.session.state(), State::WaitingUser);
    assert_eq!(driver.read("PostToolUse", "out"), State::Working);
}

#[test]
fn of_calls_without_an_id_only_a_question_is_waited_for_and_not_a_late_one() {
    let state = |words: &str, word: &str| {
        let driver = run(words);
        let mut event = driver.event(word);
        let EventKind::ToolStarting { call, .. } = &mut event.kind else { panic!("{word}") };
        call.id = None;
        advance(driver.session.clone(), &event).0.state()
    };
    assert_eq!(state("UserPromptSubmit", "PreToolUse.AskUserQuestion"), State::WaitingUser);
    assert_eq!(state("UserPromptSubmit", "PreToolUse.Bash"), State::Working);
    let late = state("UserPromptSubmit PreToolUse.Bash ~2s", "PreToolUse.AskUserQuestion");
    assert_eq!(late, State::Working);
}

#[test]
fn a_turn_that_ends_forgets_its_own_calls_and_not_those_of_a_background_agent() {
    let driver = run("UserPromptSubmit PreToolUse.Bash PreToolUse.Bash#a Stop");
    let agents: Vec<_> = driver.session.runs[0].calls.iter().map(|call| &call.agent_id).collect();
    assert_eq!(agents, [&Some("a".to_owned())]);
}

#[test]
fn a_dialog_counts_in_whatever_order_parallel_hooks_arrive() {
    let mut driver = run("UserPromptSubmit");
    driver.read("PreToolUse", "out");
    driver.read("PreToolUse", "in");
    let mut request = read_event(&driver, "PermissionRequest", "out");
    request.at = driver.now;
    driver.read("PostToolUse", "in");
    let (session, effect) = advance(driver.session.clone(), &request);
    assert_eq!((session.state(), effect), (State::WaitingUser, SessionEffect::Applied));
    // But a request whose call has ended changes nothing any more.
    driver.read("PostToolUse", "out");
    let (session, effect) = advance(driver.session.clone(), &request);
    assert_eq!((session.state(), effect), (State::Working, SessionEffect::Late));
}

#[test]
fn a_dialog_whose_call_is_not_known_is_closed_by_the_next_tool_event() {
    insta::assert_snapshot!(states(
        "UserPromptSubmit PermissionRequest.Bash PostToolUse.Write PermissionRequest.Bash
         PreToolUse.Read"
    ), @"
    UserPromptSubmit → working
    PermissionRequest.Bash → waiting_user
    PostToolUse.Write → working
    PermissionRequest.Bash → waiting_user
    PreToolUse.Read → working
    ");
}

#[test]
fn a_background_agents_dialog_outlives_the_turn() {
    insta::assert_snapshot!(states(
        "UserPromptSubmit PreToolUse.Agent PermissionRequest.Bash#a Stop UserPromptSubmit
         Stop PostToolUse.Bash#a PermissionRequest.Bash#a Interrupted"
    ), @"
    UserPromptSubmit → working
    PreToolUse.Agent → working
    PermissionRequest.Bash#a → waiting_user
    Stop → waiting_user
    UserPromptSubmit → waiting_user
    Stop → waiting_user
    PostToolUse.Bash#a → completed ok
    PermissionRequest.Bash#a → waiting_user
    Interrupted → completed ok
    ");
}

#[test]
fn kt_43_a_session_that_ends_after_an_interrupted_turn_is_stopped() {
    insta::assert_snapshot!(states(
        "SessionStart.startup UserPromptSubmit PreToolUse.Bash Interrupted SessionEnd.other"
    ), @"
    SessionStart.startup → completed
    UserPromptSubmit → working
    PreToolUse.Bash → working
    Interrupted → completed interrupted
    SessionEnd.other → stopped
    ");
}

#[test]
fn esc_and_death_are_told_by_observers_x31() {
    insta::assert_snapshot!(states(
        "SessionStart.startup Interrupted UserPromptSubmit PreToolUse.Bash Interrupted
         UserPromptSubmit PermissionRequest.Bash DialogsClosed PermissionRequest.Bash Interrupted
         DialogsClosed UserPromptSubmit ProcessGone ProcessGone Interrupted"
    ), @"
    SessionStart.startup → completed
    Interrupted → completed
    UserPromptSubmit → working
    PreToolUse.Bash → working
    Interrupted → completed interrupted
    UserPromptSubmit → working
    PermissionRequest.Bash → waiting_user
    DialogsClosed → working
    PermissionRequest.Bash → waiting_user
    Interrupted → completed interrupted
    DialogsClosed → completed interrupted
    UserPromptSubmit → working
    ProcessGone → stopped
    ProcessGone → stopped
    Interrupted → stopped
    ");
}

#[test]
fn kt_44_56_a_returned_prompt_and_a_closed_pane_end_the_run_that_was_shown_there() {
    insta::assert_snapshot!(states(
        "PromptReturned SessionStart.startup PromptReturned Stop
         UserPromptSubmit PermissionRequest.Bash PaneClosed PostToolUse.Bash
         UserPromptSubmit ~3s PromptReturned SessionEnd.other"
    ), @"
    PromptReturned → stopped
    SessionStart.startup → completed
    PromptReturned → stopped
    Stop → stopped
    UserPromptSubmit → working
    PermissionRequest.Bash → waiting_user
    PaneClosed → stopped
    PostToolUse.Bash → stopped
    UserPromptSubmit → working
    PromptReturned → stopped
    SessionEnd.other → stopped
    ");
    // A run in another process continues.
    let driver = run("SessionStart.startup UserPromptSubmit @2 SessionStart.resume PromptReturned");
    assert_eq!(driver.session.state(), State::Working);
    let ended = driver.session.runs.iter().filter_map(|run| run.ended.as_ref());
    assert_eq!(ended.map(|end| end.reason.as_str()).collect::<Vec<_>>(), ["prompt returned"]);
}

#[test]
fn a_side_run_ends_without_stopping_the_session_of_the_tui() {
    let mut driver = run("SessionStart.startup UserPromptSubmit PermissionRequest.Bash
         @2 SessionStart.resume UserPromptSubmit Stop SessionEnd.other");
    insta::assert_snapshot!(driver.changes.join("\n"), @"
    SessionStart.startup → completed
    UserPromptSubmit → working
    PermissionRequest.Bash → waiting_user
    SessionStart.resume → waiting_user
    UserPromptSubmit → waiting_user
    Stop → waiting_user
    SessionEnd.other → waiting_user
    ");
    "@1 PostToolUse.Bash Stop SessionEnd.other @3 SessionStart.resume @2 SessionEnd.other"
        .split_whitespace()
        .for_each(|word| driver.step(word));
    insta::assert_snapshot!(driver.changes[7..].join("\n"), @"
    PostToolUse.Bash → working
    Stop → completed ok
    SessionEnd.other → stopped
    SessionStart.resume → completed
    SessionEnd.other → completed
    ");
}

#[test]
fn clear_ends_the_old_id_and_coming_back_revives_it() {
    insta::assert_snapshot!(states(
        "SessionStart.startup UserPromptSubmit Stop SessionEnd.clear PostToolUse.Bash
         Notification.idle_prompt SessionStart.resume"
    ), @"
    SessionStart.startup → completed
    UserPromptSubmit → working
    Stop → completed ok
    SessionEnd.clear → stopped
    PostToolUse.Bash → stopped
    Notification.idle_prompt → stopped
    SessionStart.resume → completed
    ");
}

#[test]
fn an_event_that_comes_late_is_dropped_and_a_clock_set_back_counts() {
    insta::assert_snapshot!(states(
        "UserPromptSubmit PreToolUse.Bash Stop ~5s PostToolUse.Bash ~3600s UserPromptSubmit Stop"
    ), @"
    UserPromptSubmit → working
    PreToolUse.Bash → working
    Stop → completed ok
    PostToolUse.Bash → completed ok (late)
    UserPromptSubmit → working
    Stop → completed ok
    ");
}

#[test]
fn the_end_of_the_open_turn_is_never_late_nor_is_the_next_prompt() {
    insta::assert_snapshot!(states("UserPromptSubmit PreToolUse.Bash ~5s Stop"), @"
    UserPromptSubmit → working
    PreToolUse.Bash → working
    Stop → completed ok
    ");
    let mut driver = run("UserPromptSubmit Stop ~5s");
    let mut prompt = driver.event("UserPromptSubmit");
    prompt.facts.prompt_id = Some("next".to_owned());
    let (session, effect) = advance(driver.session.clone(), &prompt);
    assert_eq!((session.state(), effect), (State::Working, SessionEffect::Applied));
    // The same prompt again is an echo, and so is its end.
    driver.step("UserPromptSubmit");
    assert_eq!(driver.session.state(), State::Completed);
    let end = driver.event("Stop");
    assert_eq!(advance(driver.session.clone(), &end).1, SessionEffect::Late);
    // A late end of an older turn does not end the running one.
    let driver = run("UserPromptSubmit PreToolUse.Bash ~5s");
    let mut end = driver.event("Stop");
    end.facts.prompt_id = Some("before".to_owned());
    let (session, effect) = advance(driver.session.clone(), &end);
    assert_eq!((session.state(), effect), (State::Working, SessionEffect::Late));
}

#[test]
fn a_turn_whose_prompt_nobody_saw_has_no_other_turns_prompt() {
    let driver = run("UserPromptSubmit PreToolUse.Bash Interrupted");
    for word in ["Stop", "Stop.active"] {
        let mut end = driver.event(word);
        end.at = driver.now.plus(Duration::from_secs(60));
        end.facts.prompt_id = Some("other".to_owned());
        let (session, _) = advance(driver.session.clone(), &end);
        let turn = &session.runs[0].turn;
        assert_eq!((turn.prompt_id.as_deref(), &turn.prompt), (Some("other"), &None), "{word}");
        assert_eq!((turn.started_at, turn.is_over), (None, true));
    }
    // Codex names turns differently: a review starts one and completes another.
    let mut driver = run_of(Agent::Codex, "UserPromptSubmit");
    let mut end = driver.event("Stop");
    end.facts.prompt_id = Some("other".to_owned());
    driver.session = advance(driver.session.clone(), &end).0;
    assert!(driver.session.runs[0].turn.prompt.is_some());
}

#[test]
fn a_late_goodbye_is_still_a_goodbye() {
    let driver = run("UserPromptSubmit Stop ~2s SessionEnd.other");
    assert_eq!(driver.session.state(), State::Stopped);
}

#[test]
fn hooks_installed_in_the_middle_of_a_session_start_from_what_they_see() {
    assert_eq!(states("PostToolUse.Bash"), "PostToolUse.Bash → working");
    assert_eq!(states("Stop"), "Stop → completed ok");
    assert_eq!(states("SessionEnd.other"), "SessionEnd.other → stopped");
    assert_eq!(states("Notification.idle_prompt"), "Notification.idle_prompt → completed");
}

#[test]
fn speech_of_the_turn_is_kept_even_from_a_late_event() {
    let speaks = |words: &str| {
        let driver = run(words);
        let speaks = &driver.session.runs[0].turn.speaks;
        speaks.iter().map(|call| call.outcome.as_str()).collect::<Vec<_>>().join(" ")
    };
    // The recordings call another plugin's speak; hook_wire's tests call Turnbridge's.
    assert_eq!(speaks("UserPromptSubmit PostToolUse.mcp__plugin_probe_voice__speak"), "");
    let mut driver = run("UserPromptSubmit PreToolUse.Bash");
    let mut event = driver.event("PostToolUse.Skill");
    event.at = driver.now.minus(Duration::from_secs(1));
    event.kind = EventKind::ToolEnded {
        call: Default::default(),
        speak: Some(SpeakCall { at: event.at, prompt_id: None, outcome: SpeakOutcome::Spoken }),
    };
    let (session, effect) = advance(driver.session.clone(), &event);
    assert_eq!((session.runs[0].turn.speaks.len(), effect), (1, SessionEffect::Late));
    event.agent_id = Some("a".into());
    let (session, _) = advance(driver.session.clone(), &event);
    assert!(session.runs[0].turn.speaks.is_empty(), "a sub-agent's speech is not the agent's");
    driver.step("UserPromptSubmit");
    assert!(driver.session.runs[0].turn.speaks.is_empty(), "a new turn begins silent");
}

#[test]
fn a_batch_that_repeats_a_speech_that_was_told_is_no_second_one() {
    let driver = run("UserPromptSubmit");
    let call = |outcome| SpeakCall { at: driver.now, prompt_id: None, outcome };
    let mut ended = driver.event("PostToolUse.Skill");
    ended.kind =
        EventKind::ToolEnded { call: Default::default(), speak: Some(call(SpeakOutcome::Failed)) };
    let mut batch = driver.event("PostToolBatch");
    batch.kind = EventKind::ToolBatchEnded { speaks: vec![call(SpeakOutcome::Refused)] };
    let outcomes = |events: &[&Event]| {
        let start = driver.session.clone();
        let session = events.iter().fold(start, |session, event| advance(session, event).0);
        let speaks = session.runs[0].turn.speaks.iter();
        speaks.map(|call| call.outcome.as_str()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(outcomes(&[&batch]), "refused", "nothing else tells of a call that never ran");
    assert_eq!(outcomes(&[&ended, &batch]), "failed");
}

#[test]
fn since_is_when_the_state_changed_not_when_the_last_event_came() {
    let driver = run("UserPromptSubmit +10s PreToolUse.Bash +10s PostToolUse.Bash");
    assert_eq!(driver.session.since(), Timestamp::from_millis(1_000_001));
    let driver = run("UserPromptSubmit +10s Stop +5s UserPromptSubmit");
    assert_eq!(driver.session.since(), Timestamp::from_millis(1_015_003));
}

#[test]
fn one_ended_run_is_remembered_and_the_others_are_not() {
    let driver =
        run("@1 SessionStart.startup SessionEnd.other @2 SessionStart.resume SessionEnd.other
         @3 SessionStart.resume UserPromptSubmit");
    let pids: Vec<_> = driver.session.runs.iter().map(|run| run.process.pid).collect();
    assert_eq!(pids, [2, 3]);
    let crowd = (1..100).map(|pid| format!("@{pid} SessionStart.startup ")).collect::<String>();
    let pids: Vec<_> = run(&crowd).session.runs.iter().map(|run| run.process.pid).collect();
    assert_eq!(pids, (100 - MAX_RUNS as u32..100).collect::<Vec<_>>(), "the last ones");
}

#[test]
fn the_plugin_is_remembered_whichever_registration_came_first() {
    let plugin = crate::session::Plugin { root: "/opt/tb".into(), by_plugin_dir: true, gate: None };
    let mut driver = run("SessionStart.startup");
    let mut twin = driver.event("SessionStart.startup");
    twin.host = Some(RunEnvironment { plugin: Some(plugin.clone()), ..RunEnvironment::default() });
    note_twin(&mut driver.session, &twin);
    assert_eq!(driver.session.runs[0].host.plugin, Some(plugin.clone()));
    driver.step("UserPromptSubmit");
    assert_eq!(driver.session.runs[0].host.plugin, Some(plugin));
}

#[test]
fn what_a_later_hook_finds_around_it_is_what_is_known_of_the_run() {
    let driver = run("SessionStart.startup");
    let mut event = driver.event("UserPromptSubmit");
    event.host =
        Some(RunEnvironment { entrypoint: Some("cli".into()), ..RunEnvironment::default() });
    let (session, _) = advance(driver.session.clone(), &event);
    assert!(session.runs[0].host.is_interactive());
    // An observer reports no host.
    event.host = None;
    assert!(advance(session, &event).0.runs[0].host.is_interactive());
}

#[test]
fn the_other_live_processes_of_a_session_are_looked_for() {
    let mut driver = run("@1 SessionStart.startup @2 SessionStart.resume @3 SessionStart.resume
         SessionEnd.other @4 SessionStart.resume");
    driver.process = ProcessKey::UNKNOWN;
    driver.step("SessionStart.resume");
    let pids = |own: u32| {
        let own = ProcessKey { pid: own, start: 1 };
        runs_to_check(&driver.session, own).iter().map(|process| process.pid).collect::<Vec<_>>()
    };
    assert_eq!(pids(2), [1, 4]);
    assert_eq!(pids(9), [1, 2, 4]);
}

fn spoken_in(driver: &mut SessionDriver, prompt_id: &str) {
    let mut event = driver.event("PostToolUse.Skill");
    let call = SpeakCall {
        at: driver.now,
        prompt_id: Some(prompt_id.to_owned()),
        outcome: SpeakOutcome::Spoken,
    };
    event.kind = EventKind::ToolEnded { call: Default::default(), speak: Some(call) };
    driver.session = advance(driver.session.clone(), &event).0;
}

/// The hook of the new turn's prompt was killed: its speech is recognised by its id.
#[test]
fn a_turn_that_is_known_by_its_end_alone_keeps_its_own_speech_and_no_other() {
    let stop = |driver: &SessionDriver, id: &str| {
        let mut event = driver.event("Stop");
        event.kind = EventKind::StopBlocked { answer: None };
        event.facts.prompt_id = Some(id.to_owned());
        let turn = advance(driver.session.clone(), &event).0.runs[0].turn.clone();
        let spoken = turn.speaks.into_iter().map(|call| call.prompt_id.unwrap());
        (turn.prompt_id.unwrap(), spoken.collect::<Vec<_>>().join(" "))
    };
    let mut driver = run("UserPromptSubmit");
    spoken_in(&mut driver, "p");
    spoken_in(&mut driver, "other");
    assert_eq!(stop(&driver, "other"), ("other".to_owned(), "other".to_owned()));
    // `!command` ends under the id of the turn before it, and has spoken nothing.
    driver.step("Stop");
    assert_eq!(stop(&driver, "p"), ("p".to_owned(), String::new()));
}

#[test]
fn of_very_many_speeches_the_first_and_the_last_are_kept() {
    let mut driver = run("UserPromptSubmit");
    for number in 0..40 {
        spoken_in(&mut driver, &number.to_string());
    }
    let speaks = turn_of(&driver).speaks;
    let ends = [&speaks[0], &speaks[speaks.len() - 1]].map(|call| call.prompt_id.as_deref());
    assert_eq!((speaks.len(), ends), (16, [Some("0"), Some("39")]));
}

#[test]
fn a_typed_speak_command_is_speech_of_its_turn() {
    let mut driver = run("SessionStart.startup");
    typed(&mut driver, "/cvi:speak All done.");
    assert_eq!(turn_of(&driver).speech(Some("p")), Some(SpeakOutcome::Spoken));
    let mut driver = run("SessionStart.startup UserPromptSubmit");
    assert_eq!(turn_of(&driver).speech(Some("p")), None);
    typed(&mut driver, "/cvi:speak All done.");
    assert_eq!(turn_of(&driver).speech(Some("p")), Some(SpeakOutcome::Spoken));
}

/// X8, X9: a Stop that the gate has blocked is not the end of the turn.
#[test]
fn a_blocked_stop_leaves_the_turn_open_and_remembers_that_it_was_blocked() {
    let mut driver = SessionDriver::new();
    for word in ["SessionStart.startup", "UserPromptSubmit"] {
        driver.step(word);
    }
    let blocked = |driver: &SessionDriver| {
        let kind = EventKind::StopBlocked { answer: Some("x".into()) };
        Event { kind, ..driver.event("Stop") }
    };
    driver.session = advance(driver.session.clone(), &blocked(&driver)).0;
    let turn = driver.session.runs[0].turn.clone();
    assert_eq!(driver.session.state(), State::Working);
    assert_eq!((turn.is_reminded, turn.is_over), (true, false));
    driver.step("Stop.active");
    let ended = driver.session.runs[0].turn.clone();
    assert_eq!((driver.session.state(), ended.is_over), (State::Completed, true));
    assert_eq!(ended.prompt, turn.prompt);
    // Events that follow without a prompt belong to another turn, which has not been reminded.
    driver.session = advance(driver.session.clone(), &blocked(&driver)).0;
    let next = driver.session.runs[0].turn.clone();
    assert_eq!((next.prompt, next.is_reminded, next.is_over), (None, true, false));
    driver.step("UserPromptSubmit");
    assert!(!driver.session.runs[0].turn.is_reminded);
}

#[test]
fn speech_counts_for_its_own_turn_alone() {
    use crate::gate::speak::SpeakOutcome::{Failed, Refused, Spoken};
    let call = |prompt_id: Option<&str>, outcome| SpeakCall {
        at: Timestamp::from_millis(1),
        prompt_id: prompt_id.map(str::to_owned),
        outcome,
    };
    let mut turn = Turn { speaks: vec![call(Some("a"), Spoken)], ..Turn::default() };
    assert_eq!(turn.speech(Some("a")), Some(Spoken));
    assert_eq!(turn.speech(None), Some(Spoken));
    assert_eq!(turn.speech(Some("b")), None);
    turn.speaks = vec![call(None, Spoken), call(None, Failed), call(None, Refused)];
    assert_eq!(turn.speech(Some("b")), Some(Spoken));
    turn.speaks.remove(0);
    assert_eq!(turn.speech(Some("b")), Some(Refused));
    turn.is_over = true;
    assert_eq!(turn.speech(Some("b")), None);
}

#[test]
fn a_turn_may_begin_before_its_prompt_is_known() {
    let mut driver = SessionDriver::new();
    driver.step("TurnStarted");
    let turn = driver.session.runs[0].turn.clone();
    assert_eq!(driver.session.state(), State::Working);
    assert_eq!((turn.prompt, turn.started_at), (None, Some(driver.now)));

    let started_at = driver.now;
    driver.step("+3s");
    let mut named = driver.event("TurnStarted");
    named.facts.prompt_id = Some("t".to_owned());
    let (session, _) = advance(driver.session.clone(), &named);
    assert_eq!(session.runs[0].turn.prompt_id.as_deref(), Some("t"));
    driver.step("UserPromptSubmit");
    let turn = driver.session.runs[0].turn.clone();
    assert_eq!(turn.started_at, Some(started_at), "the prompt is the turn's own");
    assert!(turn.prompt.is_some());

    driver.step("PermissionRequest.Bash");
    driver.step("TurnStarted");
    assert_eq!(driver.session.state(), State::Working, "what an old turn asked is over");
    assert_eq!(driver.session.runs[0].turn.prompt, None);
}

#[track_caller]
fn codex_states(words: &str) -> String {
    run_of(Agent::Codex, words).changes.join("\n")
}

#[test]
fn codex_hooks_tell_of_a_permission_request_and_of_an_interrupt() {
    insta::assert_snapshot!(codex_states(
        "SessionStart-startup UserPromptSubmit PreToolUse-Bash PermissionRequest-Bash
         PostToolUse-Bash PreToolUse-request_user_input Interrupt SessionEnd"
    ), @"
    SessionStart-startup → completed
    UserPromptSubmit → working
    PreToolUse-Bash → working
    PermissionRequest-Bash → waiting_user
    PostToolUse-Bash → working
    PreToolUse-request_user_input → waiting_user
    Interrupt → completed interrupted
    SessionEnd → stopped
    ");
}

/// The request has a reason in addition to the call's input.
#[test]
fn a_permission_request_of_codex_belongs_to_the_call_with_its_command() {
    let mut driver = run_of(Agent::Codex, "UserPromptSubmit");
    let mut tell = |name: &str, rest: &str| {
        driver.now = driver.now.plus(Duration::from_millis(1));
        let payload =
            format!(r#"{{"session_id":"s","hook_event_name":"{name}","tool_name":"Bash",{rest}}}"#);
        let mut reader = HookReader::new();
        reader.feed(payload.as_bytes()).unwrap();
        let event = interpret(reader.finish().unwrap(), driver.context()).unwrap().0;
        driver.session = advance(driver.session.clone(), &event).0;
        driver.session.state()
    };
    for call in ["a", "b"] {
        let rest = format!(r#""tool_use_id":"{call}","tool_input":{{"command":"touch {call}"}}"#);
        assert_eq!(tell("PreToolUse", &rest), State::Working);
    }
    let asked = r#""tool_input":{"command":"touch b","description":"May I?"}"#;
    assert_eq!(tell("PermissionRequest", asked), State::WaitingUser);
    let other = r#""tool_use_id":"a","tool_input":{"command":"touch a"},"tool_response":"""#;
    assert_eq!(tell("PostToolUse", other), State::WaitingUser);
    let allowed = r#""tool_use_id":"b","tool_input":{"command":"touch b"},"tool_response":"""#;
    assert_eq!(tell("PostToolUse", allowed), State::Working);
}

#[test]
fn a_codex_turn_ends_once_whichever_road_tells_it() {
    let driver = run_of(Agent::Codex, "UserPromptSubmit Stop +0.5s");
    let (session, effect) = advance(driver.session.clone(), &driver.event("Stop"));
    assert_eq!((session, effect), (driver.session, SessionEffect::Ignored));
    // Another hook has continued the agent: the same turn ends again, and keeps its prompt.
    let driver = run_of(Agent::Codex, "UserPromptSubmit Stop PreToolUse-Bash Stop");
    assert_eq!(driver.session.detail(), Some(&Detail::Ok));
    assert!(driver.session.runs[0].turn.prompt.is_some());
}

/// The prompt of an addition, as Claude Code 2.1.326 sends it: with the id of the running turn.
fn typed(driver: &mut SessionDriver, text: &str) {
    driver.now = driver.now.plus(Duration::from_secs(1));
    let mut event = driver.event("UserPromptSubmit");
    event.kind = EventKind::PromptSubmitted { prompt: text.to_owned() };
    driver.session = advance(driver.session.clone(), &event).0;
}

fn turn_of(driver: &SessionDriver) -> Turn {
    driver.session.runs[0].turn.clone()
}

#[test]
fn live_8_what_is_typed_while_a_turn_runs_is_an_addition_to_it() {
    let mut driver =
        run("SessionStart.startup UserPromptSubmit PreToolUse.Bash PermissionRequest.Bash");
    let before = turn_of(&driver);
    typed(&mut driver, "and the tests");
    let turn = turn_of(&driver);
    assert_eq!((&turn.prompt, turn.started_at), (&before.prompt, before.started_at));
    assert_eq!(turn.additions.len(), 1);
    assert!(turn.has_unread());
    // It does not close the open dialog.
    assert_eq!(driver.session.state(), State::WaitingUser);
    driver.step("PostToolUse.Bash");
    driver.step("PostToolBatch");
    assert!(!turn_of(&driver).has_unread(), "it goes to the agent with the tool's result");
    driver.step("Stop");
    assert_eq!(turn_of(&driver).next_prompt(), None);
    driver.step("UserPromptSubmit");
    assert_eq!(turn_of(&driver).additions, [], "the next prompt begins a turn");
}

#[test]
fn live_8_a_prompt_of_another_turn_or_of_none_that_is_known_is_no_addition() {
    let prompted = |words: &str, id: &str| {
        let driver = run(words);
        let mut event = driver.event("UserPromptSubmit");
        event.kind = EventKind::PromptSubmitted { prompt: "next".into() };
        event.facts.prompt_id = Some(id.to_owned());
        let turn = advance(driver.session.clone(), &event).0.runs[0].turn.clone();
        (turn.prompt.map(|prompt| prompt.text), turn.additions.len())
    };
    let next = (Some("next".to_owned()), 0);
    // The end of the turn before was not seen.
    assert_eq!(prompted("UserPromptSubmit", "other"), next);
    // The hooks were installed while a turn ran.
    assert_eq!(prompted("PreToolUse.Bash", "p"), next);
    // That turn was interrupted, or is over.
    assert_eq!(prompted("UserPromptSubmit Interrupted", "p"), next);
    assert_eq!(prompted("UserPromptSubmit Stop PreToolUse.Bash", "p"), next);
}

#[test]
fn live_8_of_very_many_additions_the_first_and_the_last_are_kept() {
    let mut driver = run("UserPromptSubmit");
    for number in 0..40 {
        typed(&mut driver, &number.to_string());
    }
    let additions = turn_of(&driver).additions;
    let ends = [&additions[0], &additions[additions.len() - 1]].map(|one| one.prompt.text.as_str());
    assert_eq!((additions.len(), ends), (MOST_ADDITIONS, ["0", "39"]));
}

#[test]
fn live_8_what_the_agent_has_not_read_is_the_prompt_of_the_next_turn() {
    let ended = || {
        let mut driver = run("SessionStart.startup UserPromptSubmit");
        typed(&mut driver, "one more thing");
        typed(&mut driver, "and another");
        driver.step("Stop");
        driver
    };
    let prompt = Some(Prompt::head_of("one more thing\nand another"));
    // No hook reports its beginning. The first tool does, or the end, by their new id.
    for word in ["PreToolUse.Bash", "Stop", "StopFailure.server_error"] {
        let mut driver = ended();
        let at = driver.now;
        let mut event = driver.event(word);
        event.facts.prompt_id = Some("next".to_owned());
        driver.session = advance(driver.session, &event).0;
        let turn = turn_of(&driver);
        assert_eq!((turn.prompt_id.as_deref(), &turn.prompt), (Some("next"), &prompt), "{word}");
        assert_eq!(turn.started_at, Some(at), "{word}");
    }
    // After Esc it runs immediately, whether an observer has seen the Esc or not.
    for seen in [&["Interrupted"][..], &[]] {
        for word in ["PreToolUse.Bash", "Stop", "StopFailure.server_error"] {
            let mut driver = run("SessionStart.startup UserPromptSubmit");
            typed(&mut driver, "one more thing");
            typed(&mut driver, "and another");
            seen.iter().for_each(|word| driver.step(word));
            let mut event = driver.event(word);
            event.facts.prompt_id = Some("next".to_owned());
            driver.session = advance(driver.session, &event).0;
            let turn = turn_of(&driver);
            let found = (turn.prompt_id.as_deref(), &turn.prompt);
            assert_eq!(found, (Some("next"), &prompt), "{word} after {seen:?}");
        }
    }
    // Or Claude's process note reports it first.
    let mut driver = ended();
    driver.step("TurnStarted");
    assert_eq!(driver.session.state(), State::Working);
    assert_eq!(turn_of(&driver).prompt, prompt);
    // A long one is not known here: the transcript has it.
    let mut driver = run("SessionStart.startup UserPromptSubmit");
    typed(&mut driver, &"long ".repeat(1_000));
    assert_eq!((turn_of(&driver).has_unread(), turn_of(&driver).next_prompt()), (true, None));
}
