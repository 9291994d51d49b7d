//! Tests that recorded payloads of both agents become the right events, and that wrong or missing
//! fields are reported.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::*;

fn context(agent: Agent) -> CallContext {
    CallContext {
        agent,
        at: Timestamp::from_millis(1),
        process: ProcessKey { pid: 1, start: 1 },
        host: RunEnvironment::default(),
    }
}

fn parse(json: &str) -> Result<(Event, Vec<&'static str>), String> {
    parse_of(Agent::Claude, json)
}

fn parse_of(agent: Agent, json: &str) -> Result<(Event, Vec<&'static str>), String> {
    let mut reader = HookReader::new();
    reader.feed(json.as_bytes()).map_err(|error| error.to_string())?;
    let payload = reader.finish().map_err(|error| error.to_string())?;
    interpret(payload, context(agent)).map_err(|unusable| format!("{unusable:?}"))
}

#[test]
fn every_recorded_payload_is_read_and_ours_are_understood() {
    for agent in Agent::ALL {
        let understood: BTreeSet<_> =
            recordings(agent).iter().filter_map(|path| check_recording(agent, path)).collect();
        let all: BTreeSet<_> =
            HookEventName::of(agent).map(|name| name.as_str().to_owned()).collect();
        assert_eq!(understood, all, "every event of {agent} has a recording");
    }
}

/// Since 2.1.326 Claude calls it there too.
#[test]
fn a_permission_request_of_claude_p_is_no_dialog_since_nobody_is_asked() {
    let text = r#"{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"Bash"}"#;
    let kind_in = |entrypoint: Option<&str>| {
        let mut reader = HookReader::new();
        reader.feed(text.as_bytes()).unwrap();
        let host = RunEnvironment {
            entrypoint: entrypoint.map(str::to_owned),
            ..RunEnvironment::default()
        };
        let context = CallContext { host, ..context(Agent::Claude) };
        interpret(reader.finish().unwrap(), context).unwrap().0.kind
    };
    for entrypoint in [None, Some("cli"), Some("claude-vscode")] {
        let kind = kind_in(entrypoint);
        assert!(matches!(kind, EventKind::DialogOpened { .. }), "{entrypoint:?}: {kind:?}");
    }
    let other = EventKind::Notified { kind: NotificationKind::Other };
    assert_eq!(kind_in(Some("sdk-cli")), other);
}

#[test]
fn a_notification_that_claude_needs_an_answer_is_an_open_dialog() {
    for (kind, expected) in [
        ("permission_prompt", NotificationKind::DialogOpen),
        ("elicitation_dialog", NotificationKind::DialogOpen),
        ("agent_needs_input", NotificationKind::DialogOpen),
        ("elicitation_url_dialog", NotificationKind::DialogOpen),
        ("worker_permission_prompt", NotificationKind::DialogOpen),
        ("idle_prompt", NotificationKind::Idle),
        ("auth_success", NotificationKind::Other),
    ] {
        let text = format!(
            r#"{{"session_id":"s","hook_event_name":"Notification","notification_type":"{kind}"}}"#
        );
        assert_eq!(parse(&text).unwrap().0.kind, EventKind::Notified { kind: expected }, "{kind}");
    }
}

/// The files in `testdata/AGENT/hooks…`: a folder for each recorded version of the agent.
fn recordings(agent: Agent) -> Vec<PathBuf> {
    let folder = format!("{}/testdata/{agent}", env!("CARGO_MANIFEST_DIR"));
    let entries =
        |folder: PathBuf| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let name_of = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let versions = entries(folder.into()).filter(|path| name_of(path).starts_with("hooks"));
    versions.flat_map(entries).collect()
}

/// Returns the name of its event if Turnbridge registers it.
#[track_caller]
fn check_recording(agent: Agent, path: &Path) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "a test reads its recordings")]
    let text = std::fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let name = name.split(['.', '-']).next().unwrap().to_owned();
    match parse_of(agent, &text) {
        Ok((event, problems)) => {
            assert!(problems.is_empty(), "{}: {problems:?}", path.display());
            assert_eq!(event.name, name);
            Some(name)
        }
        Err(error) => {
            assert_eq!(error, "OtherEvent", "{}", path.display());
            assert_eq!(HookEventName::parse(&name, agent), None);
            let recorded: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(recorded["hook_event_name"], *name, "{}", path.display());
            None
        }
    }
}

#[test]
fn without_a_safe_session_id_or_an_event_name_there_is_no_event() {
    let check = |json: &str, expected: &str| assert_eq!(parse(json).unwrap_err(), expected);
    check("[]", "Invalid(\"hook_event_name\")");
    check("{}", "Invalid(\"hook_event_name\")");
    check(r#"{"hook_event_name":7,"session_id":"a"}"#, "Invalid(\"hook_event_name\")");
    check(r#"{"hook_event_name":"Stop"}"#, "Invalid(\"session_id\")");
    check(r#"{"hook_event_name":"Stop","session_id":null}"#, "Invalid(\"session_id\")");
    check(r#"{"hook_event_name":"Stop","session_id":"../../etc"}"#, "Invalid(\"session_id\")");
    check(r#"{"hook_event_name":"FutureEvent","session_id":"a"}"#, "OtherEvent");
}

#[test]
fn a_field_of_the_wrong_type_counts_as_absent_and_is_reported() {
    let (event, problems) = parse(
        r#"{"hook_event_name":"Stop","session_id":"a","cwd":7,"stop_hook_active":"yes",
            "last_assistant_message":{"text":"x"},"background_tasks":"none","prompt_id":null}"#,
    )
    .unwrap();
    assert_eq!(problems, ["cwd", "last_assistant_message", "stop_hook_active"]);
    assert_eq!(event.facts.cwd, None);
    let ended =
        EventKind::TurnEnded { answer: None, background_tasks: vec![], stop_hook_active: false };
    assert_eq!(event.kind, ended);
}

#[test]
fn slv_67_the_keys_of_a_stop_are_read() {
    for is_active in [false, true] {
        let (event, problems) = parse(&format!(
            r#"{{"session_id":"abc","transcript_path":"/t.jsonl","cwd":"/home/user/project",
                "permission_mode":"plan","hook_event_name":"Stop","stop_hook_active":{is_active}}}"#
        ))
        .unwrap();
        assert_eq!(problems, [""; 0]);
        assert_eq!((event.session.id.as_str(), event.name.as_str()), ("abc", "Stop"));
        assert_eq!(event.facts.transcript_path.as_deref(), Some("/t.jsonl"));
        assert_eq!(event.facts.cwd.as_deref(), Some("/home/user/project"));
        assert_eq!(event.facts.permission_mode.as_deref(), Some("plan"));
        let ended = EventKind::TurnEnded {
            answer: None,
            background_tasks: vec![],
            stop_hook_active: is_active,
        };
        assert_eq!(event.kind, ended);
    }
}

#[test]
fn running_background_tasks_are_kept_by_their_description() {
    let json = include_str!("../../../testdata/claude/hooks/Stop.background_tasks.json");
    let (event, _) = parse(json).unwrap();
    let EventKind::TurnEnded { background_tasks, answer, .. } = event.kind else { panic!() };
    assert_eq!(background_tasks, ["t"]);
    assert_eq!(answer.as_deref(), Some("started bg."));
    let (event, _) = parse(&json.replace("running", "completed")).unwrap();
    let EventKind::TurnEnded { background_tasks, .. } = event.kind else { panic!() };
    assert!(background_tasks.is_empty());
}

#[test]
fn speak_calls_are_noted_with_their_outcome() {
    let outcome = |json: &str| match parse(json).unwrap().0.kind {
        EventKind::ToolEnded { speak, .. } => speak.map(|call| call.outcome.as_str()),
        EventKind::ToolBatchEnded { speaks } => speaks.first().map(|call| call.outcome.as_str()),
        other => panic!("{other:?}"),
    };
    let skill = |event: &str, name: &str| {
        format!(
            r#"{{"hook_event_name":"{event}","session_id":"a","tool_name":"Skill","tool_input":{{"skill":"{name}"}}}}"#
        )
    };
    assert_eq!(outcome(&skill("PostToolUse", "cvi:speak")), Some("spoken"));
    assert_eq!(outcome(&skill("PostToolUseFailure", "cvi:speak")), Some("failed"));
    assert_eq!(outcome(&skill("PostToolUse", "probe:greet")), None);
    let batch = r#"{"hook_event_name":"PostToolBatch","session_id":"a","tool_calls":[
        {"tool_name":"Bash","tool_input":{"command":"ls"}},
        {"tool_name":"Skill","tool_input":{"skill":"turnbridge:speak"},"tool_response":"no"}]}"#;
    assert_eq!(outcome(batch), Some("refused"));
    assert_eq!(outcome(&batch.replace("turnbridge:speak", "other")), None);
}

#[test]
fn the_last_of_duplicate_keys_counts() {
    let (event, _) =
        parse(r#"{"hook_event_name":"Stop","session_id":"a","session_id":"b"}"#).unwrap();
    assert_eq!(event.session.id.as_str(), "b");
}

#[test]
fn what_came_of_speaking_is_told_by_the_recorded_payloads() {
    use SpeakOutcome::{Failed, Refused, Spoken};
    macro_rules! recorded {
        ($name:literal) => {
            include_str!(concat!("../../../testdata/claude/hooks/", $name, ".json"))
        };
    }
    let outcomes = |recorded: &str| -> Vec<SpeakOutcome> {
        let speaks = match parse(recorded).unwrap().0.kind {
            EventKind::ToolEnded { speak, .. } => speak.into_iter().collect(),
            EventKind::ToolBatchEnded { speaks } => speaks,
            other => panic!("{other:?}"),
        };
        speaks.iter().map(|call| call.outcome).collect()
    };
    assert_eq!(outcomes(recorded!("PostToolUse.speak")), [Spoken]);
    assert_eq!(outcomes(recorded!("PostToolUse.speak.skill")), [Spoken]);
    assert_eq!(outcomes(recorded!("PostToolUse.Skill")), []);
    assert_eq!(outcomes(recorded!("PostToolUseFailure.speak.no_engine")), [Failed]);
    assert_eq!(outcomes(recorded!("PostToolUseFailure.speak.wrong_input")), []);
    assert_eq!(outcomes(recorded!("PostToolBatch.speak.refused")), [Refused]);
    assert_eq!(outcomes(recorded!("PostToolBatch.speak.skill_refused")), [Refused]);
    assert_eq!(outcomes(recorded!("PostToolBatch.speak.denied")), [Refused]);
    assert_eq!(outcomes(recorded!("PostToolBatch.speak.unknown_skill")), []);
}

#[test]
fn a_request_of_codex_that_nobody_is_asked_about_opens_no_dialog() {
    let request = include_str!("../../../testdata/codex/hooks/PermissionRequest-Bash.json");
    let (event, _) = parse_of(Agent::Codex, request).unwrap();
    assert!(needs_reviewer(&event));
    for (reviewer, is_dialog) in
        [(None, true), (Some("user"), true), (Some("auto_review"), false), (Some("other"), false)]
    {
        let kind = reviewed_by(event.clone(), reviewer).kind;
        assert_eq!(matches!(kind, EventKind::DialogOpened { .. }), is_dialog, "{reviewer:?}");
    }
    let mut payload: serde_json::Value = serde_json::from_str(request).unwrap();
    payload["permission_mode"] = "bypassPermissions".into();
    let (event, _) = parse_of(Agent::Codex, &payload.to_string()).unwrap();
    assert_eq!(event.kind, EventKind::Notified { kind: NotificationKind::Other });
    assert!(!needs_reviewer(&event));
    // A question is always the user's; and Claude's own dialogs do not matter here.
    let question = include_str!("../../../testdata/codex/hooks/PreToolUse-request_user_input.json");
    let (event, _) = parse_of(Agent::Codex, question).unwrap();
    assert_eq!(reviewed_by(event.clone(), Some("auto_review")), event);
    let (event, _) = parse(&payload.to_string()).unwrap();
    assert!(matches!(event.kind, EventKind::DialogOpened { .. }) && !needs_reviewer(&event));
}
