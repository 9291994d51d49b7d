//! Tests that a session's file is read back as the same session, and that an unusable file reads as
//! absent.

use super::*;
use crate::agents::hook_wire::{CallContext, HookReader, interpret};
use crate::ids::Agent;
use crate::session::advance::advance;

fn a_busy_session() -> Session {
    let key = SessionKey::of("claude", "825c8529-ee09-4cb8-8902-dd785b12ca0a").unwrap();
    let mut session = Session::new(key, Timestamp::from_millis(1_000));
    session.claims.note(SeenEvent { payload: 0xabc, origin: "plugin".into() });
    let payloads = [
        include_str!("../../../testdata/claude/hooks/SessionStart.startup.json"),
        include_str!("../../../testdata/claude/hooks/UserPromptSubmit.json"),
        include_str!("../../../testdata/claude/hooks/PermissionRequest.Bash.json"),
    ];
    for (index, payload) in payloads.into_iter().enumerate() {
        let mut reader = HookReader::new();
        reader.feed(payload.as_bytes()).unwrap();
        let context = CallContext {
            agent: Agent::Claude,
            at: Timestamp::from_millis(2_000 + index as i64),
            process: ProcessKey { pid: 42, start: 4_242 },
            host: RunEnvironment {
                origin: "plugin".into(),
                entrypoint: Some("cli".into()),
                project_dir: Some("/home/user/project".into()),
                config_dir: None,
                plugin: Some(Plugin {
                    root: "/opt/tb".into(),
                    by_plugin_dir: true,
                    gate: Some("false".into()),
                }),
                env: [("TMUX_PANE".to_owned(), "%1".to_owned())].into(),
            },
        };
        let (event, problems) = interpret(reader.finish().unwrap(), context).unwrap();
        assert!(problems.is_empty());
        session = advance(session, &event).0;
    }
    session.runs[0].turn.speaks.push(SpeakCall {
        at: Timestamp::from_millis(2_500),
        prompt_id: None,
        outcome: SpeakOutcome::Refused,
    });
    session
}

#[test]
fn a_session_file_reads_back_as_the_same_session() {
    let session = a_busy_session();
    assert_eq!(read_session(&write_session(&session)), Some(session.clone()));
    let mut ended = session;
    ended.runs[0].ended =
        Some(SessionEnd { at: Timestamp::from_millis(3), reason: "other".into() });
    let failed = Detail::Failed { error: "rate_limit".into() };
    ended.runs[0].activity = Activity::Completed(Some(failed));
    ended.runs[0].calls.push(OpenCall {
        id: "toolu_1".into(),
        tool: "Bash".into(),
        input: u64::MAX,
        agent_id: Some("a".into()),
    });
    ended.runs[0].turn.prompt = Some(Prompt { text: "long".into(), whole: false });
    ended.runs[0].turn.is_reminded = true;
    assert_eq!(read_session(&write_session(&ended)), Some(ended));
}

#[test]
fn the_file_is_plain_json_with_the_state_on_top() {
    let text = String::from_utf8(write_session(&a_busy_session())).unwrap();
    insta::assert_snapshot!(text.replace(",\"", ",\n\""), @r#"
    {"version":1,
    "tool":"claude",
    "session_id":"825c8529-ee09-4cb8-8902-dd785b12ca0a",
    "state":"waiting_user",
    "updated_at":"1970-01-01T00:00:02.002000Z",
    "created_at":"1970-01-01T00:00:01.000000Z",
    "cwd":"/home/user/project",
    "transcript_path":"/home/user/.claude/projects/-home-user-project/825c8529-ee09-4cb8-8902-dd785b12ca0a.jsonl",
    "permission_mode":"default",
    "model":"claude-opus-4-8[1m]",
    "sequence":3,
    "runs":[{"pid":42,
    "start":4242,
    "started_at":"1970-01-01T00:00:02.000000Z",
    "activity":"working",
    "waits":[{"opened_at":"1970-01-01T00:00:02.002000Z",
    "tool":"Bash"}],
    "since":"1970-01-01T00:00:02.002000Z",
    "last_event":"PermissionRequest",
    "last_at":"1970-01-01T00:00:02.002000Z",
    "sequence":3,
    "turn":{"prompt_id":"57523bab-912f-40c0-844c-6acc66f1df0b",
    "prompt":"hello there",
    "started_at":"1970-01-01T00:00:02.001000Z",
    "speaks":[{"at":"1970-01-01T00:00:02.500000Z",
    "outcome":"refused"}]},
    "origin":"plugin",
    "entrypoint":"cli",
    "interactive":true,
    "project_dir":"/home/user/project",
    "plugin_root":"/opt/tb",
    "by_plugin_dir":true,
    "plugin_gate":"false",
    "env":{"TMUX_PANE":"%1"}}],
    "claims":["0000000000000abc plugin"]}
    "#);
}

#[test]
fn a_file_that_cannot_be_understood_reads_as_absent() {
    let text = String::from_utf8(write_session(&a_busy_session())).unwrap();
    assert!(read_session(b"").is_none());
    assert!(read_session(&text.as_bytes()[..text.len() - 1]).is_none());
    assert!(read_session(text.replace("\"version\":1", "\"version\":2").as_bytes()).is_none());
    assert!(
        read_session(text.replace("\"tool\":\"claude\"", "\"tool\":\"x\"").as_bytes()).is_none()
    );
    assert!(read_session(b"{\"version\":1,\"tool\":\"claude\",\"session_id\":\"../x\"}").is_none());
    assert!(read_session(b"{\"version\":1,\"tool\":\"claude\",\"session_id\":\"x\"}").is_some());
    // A field of a later minor version does not make the session unreadable.
    assert!(
        read_session(text.replace("{\"version\"", "{\"new\":[],\"version\"").as_bytes()).is_some()
    );
}
