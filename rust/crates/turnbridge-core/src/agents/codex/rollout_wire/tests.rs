//! Tests that lines of rollouts are parsed, and that unknown, damaged and cut ones do no harm.

use super::*;

#[track_caller]
fn record(line: &str) -> RolloutRecord {
    parse_line(line.as_bytes()).record
}

fn recorded(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/codex/rollouts");
    #[expect(clippy::disallowed_methods, reason = "a test reads its recordings")]
    std::fs::read_to_string(format!("{folder}/{name}.jsonl")).unwrap()
}

#[track_caller]
fn meta(text: &str) -> ThreadMeta {
    match record(text.lines().next().unwrap()) {
        RolloutRecord::SessionMeta(meta) => meta,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_thread_says_whose_it_is() {
    let root = meta(&recorded("spawn"));
    let child = meta(&recorded("spawn-sub1"));
    assert_eq!(root.kind, ThreadKind::User);
    assert_eq!(root.root_id, root.id);
    assert_eq!(child.kind, ThreadKind::SubAgent);
    assert_eq!((&child.root_id, &child.parent_id), (&root.id, &root.id));
    assert_ne!(child.id, root.id);
    assert_eq!(child.cli_version.as_deref(), Some("0.166.0"));

    let old = meta(&recorded("legacy-0.98.0-plain"));
    assert_eq!((old.kind, old.dialect), (ThreadKind::User, Dialect::Legacy));
    assert_eq!(old.root_id, old.id, "there was no other id then");

    let review = r#"{"type":"session_meta","payload":{"id":"b","session_id":"a","source":{"subagent":"review"}}}"#;
    assert_eq!(meta(review).kind, ThreadKind::Review);
    let other =
        r#"{"type":"session_meta","payload":{"id":"b","source":{"subagent":{"other":"x"}}}}"#;
    assert_eq!(meta(other).kind, ThreadKind::SubAgent);
}

#[test]
fn the_error_of_a_task_has_codex_own_word() {
    let kind = |error: &str| {
        let line = format!(
            r#"{{"type":"event_msg","payload":{{"type":"task_complete","last_agent_message":null,"error":{error}}}}}"#
        );
        match record(&line) {
            RolloutRecord::TaskComplete { error, .. } => error.map(|error| error.kind),
            other => panic!("{other:?}"),
        }
    };
    let some = |kind: &str| Some(kind.to_owned());
    assert_eq!(kind("null"), None);
    assert_eq!(
        kind(r#"{"message":"m","codex_error_info":"usage_limit_exceeded"}"#),
        some("usage_limit_exceeded")
    );
    assert_eq!(
        kind(
            r#"{"message":"m","codex_error_info":{"http_connection_failed":{"http_status_code":502}}}"#
        ),
        some("http_connection_failed")
    );
    assert_eq!(kind(r#"{"message":"m","codex_error_info":{"new":1}}"#), some("other"));
    assert_eq!(kind(r#""it broke""#), some("other"));
    assert_eq!(kind("{}"), some("other"));
}

#[test]
fn what_codex_puts_in_is_not_what_the_user_said() {
    for name in ["tui-long", "legacy-0.98.0-int", "tui-hook-decisions", "exec-resumed"] {
        for line in recorded(name).lines() {
            if let RolloutRecord::UserMessage { text } = record(line) {
                assert!(text.starts_with("[["), "{name}: {text}");
            }
        }
    }
    let both = r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>\n</environment_context>"},{"type":"input_text","text":"hello"}]}}"#;
    assert_eq!(record(both), RolloutRecord::UserMessage { text: "hello".to_owned() });
}

#[test]
fn a_tool_of_somebody_else_is_not_codex_question() {
    let tool = |namespace: &str| {
        let line = format!(
            r#"{{"type":"response_item","payload":{{"type":"function_call","name":"request_user_input",{namespace}"call_id":"c"}}}}"#
        );
        match record(&line) {
            RolloutRecord::CallBegan { tool, .. } => tool,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(tool(""), "request_user_input");
    assert_eq!(tool(r#""namespace":"functions","#), "request_user_input");
    assert_eq!(tool(r#""namespace":"mcp__x","#), "mcp__x.request_user_input");
}

#[test]
fn lines_of_any_shape_are_skipped() {
    for line in [
        "",
        "null",
        "7",
        "[]",
        "{}",
        r#"{"type":7,"payload":{"type":"task_complete"}}"#,
        r#"{"type":"event_msg"}"#,
        r#"{"type":"event_msg","payload":null}"#,
        r#"{"type":"event_msg","payload":"task_complete"}"#,
        r#"{"type":"event_msg","payload":[{"type":"task_complete"}]}"#,
        r#"{"type":"event_msg","payload":{"type":["task_complete"]}}"#,
        r#"{"type":"event_msg","payload":{"payload":{"type":"task_complete"}}}"#,
        r#"{"type":"event_msg","payload":{"type":"task_complete"}"#,
        r#"{"type":"event_msg","payload":{"type":"task_complete"}}x"#,
        r#"{"type":"something_new","payload":{"type":"task_complete"}}"#,
    ] {
        let read = record(line);
        assert!(
            matches!(read, RolloutRecord::Other | RolloutRecord::Unreadable | RolloutRecord::Blank),
            "{line}: {read:?}"
        );
    }
}

#[test]
fn chunks_of_any_size_give_the_same_lines() {
    let text = recorded("tui-codemode");
    let read = |size: usize| {
        let (mut reader, mut lines) = (RolloutReader::default(), Vec::new());
        for chunk in text.as_bytes().chunks(size) {
            reader.feed(chunk, |line| lines.push(line));
        }
        lines.extend(reader.finish());
        lines
    };
    let whole = read(text.len());
    assert_eq!(whole.len(), text.lines().count());
    for size in [1, 7, 4096] {
        assert_eq!(read(size), whole, "{size}");
    }
}
