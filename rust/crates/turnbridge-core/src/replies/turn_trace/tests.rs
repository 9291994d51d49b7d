//! Tests that the prompt and the end of its turn are found in recorded and composed transcripts and
//! rollouts.

use super::*;
use serde_json::json;

const BEFORE: &str = "2026-01-01T11:59:59.000Z";
const AFTER: &str = "2026-01-01T12:00:00.100Z";

fn since() -> Timestamp {
    Timestamp::parse("2026-01-01T12:00:00.000Z").unwrap()
}

/// A transcript of records, each of which descends from the one before.
fn transcript(records: &[Value]) -> Vec<u8> {
    let mut text = String::from("cut off\"}\n");
    for (number, record) in records.iter().enumerate() {
        let mut whole = json!({
            "timestamp": AFTER, "uuid": number.to_string(),
            "parentUuid": number.checked_sub(1).map(|parent| parent.to_string()),
        });
        whole.as_object_mut().unwrap().extend(record.as_object().unwrap().clone());
        text += &format!("{whole}\n");
    }
    text.into_bytes()
}

fn user(content: impl Into<Value>) -> Value {
    json!({"type": "user", "promptId": "own", "message": {"content": content.into()}})
}

fn assistant(stop_reason: Option<&str>) -> Value {
    json!({"type": "assistant", "message": {"model": "m", "stop_reason": stop_reason, "content": []}})
}

fn trace(records: &[Value]) -> TurnTrace {
    in_transcript(&transcript(records), "go on", since())
}

#[test]
fn a_prompt_counts_only_since_the_run_began() {
    let blocks = json!([{"type": "text", "text": "go on"}]);
    for content in [json!("go on"), json!(" go on\n"), blocks] {
        assert_eq!(trace(&[user(content)]), TurnTrace::Open);
    }
    let mut old = user("go on");
    old["timestamp"] = BEFORE.into();
    assert_eq!(trace(&[old]), TurnTrace::Absent);
    let mut at_once = user("go on");
    at_once["timestamp"] = since().to_string().into();
    assert_eq!(trace(&[at_once]), TurnTrace::Open, "in the same millisecond");
    assert_eq!(trace(&[user("go on, but")]), TurnTrace::Absent);
    let literal = transcript(&[user("a\\nb")]);
    assert_eq!(in_transcript(&literal, "a\r\nb", since()), TurnTrace::Open);
    assert_eq!(in_transcript(b"", "go on", since()), TurnTrace::Absent);
    let enqueued = json!({"type": "queue-operation", "operation": "enqueue", "content": "go on"});
    assert_eq!(trace(&[enqueued]), TurnTrace::Open);
    let another = json!({"type": "queue-operation", "operation": "enqueue", "content": "wait"});
    assert_eq!(trace(&[another]), TurnTrace::Absent);
}

#[test]
fn a_turn_of_claude_ends_by_its_last_record_only() {
    let tool = || vec![user("go on"), assistant(Some("tool_use"))];
    assert_eq!(trace(&tool()), TurnTrace::Open);
    let result = || user(json!([{"type": "tool_result", "content": "x"}]));
    assert_eq!(trace(&[tool(), vec![result()]].concat()), TurnTrace::Open);
    let ended = || [tool(), vec![result(), assistant(Some("end_turn"))]].concat();
    assert_eq!(trace(&ended()), TurnTrace::Ended(TurnEnd::Ok));
    // A Stop hook has continued the agent.
    let on = [ended(), vec![user("Stop hook feedback:\nx")]].concat();
    assert_eq!(trace(&on), TurnTrace::Open);
    let stopped = user(json!([{"type": "text", "text": "[Request interrupted by user]"}]));
    assert_eq!(trace(&[tool(), vec![stopped]].concat()), TurnTrace::Ended(TurnEnd::Interrupted));
    let mut error = assistant(Some("stop_sequence"));
    error["isApiErrorMessage"] = true.into();
    error["message"]["model"] = "<synthetic>".into();
    assert_eq!(trace(&[user("go on"), error]), TurnTrace::Ended(TurnEnd::Failed));
}

/// Seen with 2.1.197: the next resume adds text after a turn that was killed.
#[test]
fn a_later_resume_does_not_end_a_turn_that_was_cut_off() {
    let mut filler = assistant(Some("stop_sequence"));
    filler["message"]["model"] = "<synthetic>".into();
    let mut next = user("another");
    next["promptId"] = "next".into();
    let killed = [user("go on"), filler, next, assistant(Some("end_turn"))];
    assert_eq!(trace(&killed), TurnTrace::Left);
}

#[test]
fn the_turn_of_another_process_in_the_same_transcript_is_another_turn() {
    let mut beside = user("from the terminal");
    beside["parentUuid"] = "elsewhere".into();
    let mut answer = assistant(Some("end_turn"));
    answer["parentUuid"] = "1".into();
    assert_eq!(trace(&[user("go on"), beside, answer]), TurnTrace::Open);
    let mut sub_agent = assistant(Some("end_turn"));
    sub_agent["isSidechain"] = true.into();
    assert_eq!(trace(&[user("go on"), sub_agent]), TurnTrace::Open);
}

/// Seen with 2.1.197: `/compact` is a user record, `/cost` a system one.
#[test]
fn a_command_without_a_turn_ends_with_what_it_printed() {
    let name = "<command-name>/compact</command-name>\n<command-args></command-args>";
    let printed = "<local-command-stdout>Compacted</local-command-stdout>";
    let search = |records: &[Value], prompt| in_transcript(&transcript(records), prompt, since());
    assert_eq!(search(&[user(name)], "/compact"), TurnTrace::Open);
    assert_eq!(search(&[user(name), user(printed)], "/compact"), TurnTrace::Ended(TurnEnd::Ok));
    let system = |content: &str| json!({"type": "system", "content": content});
    let cost = "<command-name>/cost</command-name>";
    assert_eq!(search(&[system(cost), system(printed)], "/cost"), TurnTrace::Ended(TurnEnd::Ok));
    assert_eq!(search(&[user(name)], "/cost"), TurnTrace::Absent);
    let review = "<command-name>/review</command-name><command-args>the code</command-args>";
    assert_eq!(search(&[user(review)], "/review the code"), TurnTrace::Open);
    assert_eq!(search(&[user(review)], "/review another"), TurnTrace::Absent);
}

#[test]
fn recorded_transcripts_tell_how_their_turns_ended() {
    let record = |name: &str| match name {
        "plain" => include_str!("../../../testdata/claude/transcripts/plain.jsonl"),
        "tools" => include_str!("../../../testdata/claude/transcripts/tools.jsonl"),
        "stop_exit2" => include_str!("../../../testdata/claude/transcripts/stop_exit2.jsonl"),
        _ => include_str!("../../../testdata/claude/transcripts/interactive_interrupt.jsonl"),
    };
    let prompt_of = |text: &str, number: usize| {
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let prompts = lines.filter(|line| line.get("promptSource").is_some());
        let prompt = prompts.map(|line| line["message"]["content"].as_str().unwrap().to_owned());
        prompt.collect::<Vec<_>>().swap_remove(number)
    };
    let since = Timestamp::from_millis(0);
    for (name, number, expected) in [
        ("plain", 0, TurnTrace::Ended(TurnEnd::Ok)),
        ("tools", 0, TurnTrace::Ended(TurnEnd::Ok)),
        ("stop_exit2", 0, TurnTrace::Ended(TurnEnd::Ok)),
        ("interrupt", 0, TurnTrace::Ended(TurnEnd::Ok)),
        ("interrupt", 1, TurnTrace::Ended(TurnEnd::Interrupted)),
        ("interrupt", 2, TurnTrace::Open),
    ] {
        let text = record(name);
        let found = in_transcript(text.as_bytes(), &prompt_of(text, number), since);
        assert_eq!(found, expected, "{name} {number}");
    }
}

#[test]
fn a_turn_of_codex_ends_by_its_own_record() {
    let line = |at: &str, payload: Value| {
        format!("{}\n", json!({"timestamp": at, "type": "event_msg", "payload": payload}))
    };
    let said = |at: &str| {
        let item = json!({"type": "UserMessage", "content": [{"type": "text", "text": "go on\n"}]});
        line(at, json!({"type": "item_completed", "turn_id": "t", "item": item}))
    };
    let search =
        |records: &str, prompt, through| in_rollout(records.as_bytes(), prompt, through, since());
    let trace = |rest: &str| search(&(said(AFTER) + rest), "go on", PromptRoute::Anything);
    assert_eq!(trace(""), TurnTrace::Open);
    assert_eq!(search(&said(BEFORE), "go on", PromptRoute::Anything), TurnTrace::Absent);
    assert_eq!(search(&said(AFTER), "go", PromptRoute::Anything), TurnTrace::Absent);
    // The same words, typed by the user, are not the queued prompt.
    for (trigger, expected) in [
        (json!("queue"), TurnTrace::Open),
        (Value::Null, TurnTrace::Open),
        (json!("user"), TurnTrace::Absent),
        (json!("exec"), TurnTrace::Absent),
    ] {
        let attribution = json!({"turn_trigger": trigger});
        let started = json!({"type": "task_started", "turn_attribution": attribution});
        let records = line(AFTER, started) + &said(AFTER);
        assert_eq!(search(&records, "go on", PromptRoute::Queue), expected, "{trigger}");
        assert_eq!(search(&records, "go on", PromptRoute::Anything), TurnTrace::Open, "{trigger}");
    }
    let complete = line(AFTER, json!({"type": "task_complete", "turn_id": "t"}));
    assert_eq!(trace(&complete), TurnTrace::Ended(TurnEnd::Ok));
    // The end of the turn before it does not count.
    let before = complete.clone() + &said(AFTER);
    assert_eq!(search(&before, "go on", PromptRoute::Anything), TurnTrace::Open);
    assert_eq!(search(&complete, "go on", PromptRoute::Anything), TurnTrace::Absent);
    let failed = json!({"type": "task_complete", "turn_id": "t", "error": {"message": "x"}});
    assert_eq!(trace(&line(AFTER, failed)), TurnTrace::Ended(TurnEnd::Failed));
    let aborted = line(AFTER, json!({"type": "turn_aborted"}));
    assert_eq!(trace(&aborted), TurnTrace::Ended(TurnEnd::Interrupted));
    let next = line(AFTER, json!({"type": "task_started", "turn_id": "u"}));
    assert_eq!(trace(&(next + &complete)), TurnTrace::Left);
}

#[test]
fn each_turn_that_the_queue_has_started_with_a_prompt_counts_once() {
    let event = |at: &str, payload: Value| {
        format!("{}\n", json!({"timestamp": at, "type": "event_msg", "payload": payload}))
    };
    let turn = |at: &str, trigger: &str, text: &str, end: Option<&str>| {
        // A record of an older Codex does not say what started the turn.
        let attribution = (!trigger.is_empty()).then(|| json!({"turn_trigger": trigger}));
        let item = json!({"type": "UserMessage", "content": [{"text": text}]});
        let started = json!({"type": "task_started", "turn_attribution": attribution});
        let said = json!({"type": "item_completed", "item": item});
        let end = end.map_or(String::new(), |end| event(at, json!({"type": end})));
        event(at, started) + &event(at, said) + &end
    };
    let records = [
        turn(BEFORE, "queue", "go on", Some("task_complete")),
        turn(AFTER, "user", "go on", Some("task_complete")),
        turn(AFTER, "", "go on", Some("task_complete")),
        turn(AFTER, "queue", "go on", Some("task_complete")),
        turn(AFTER, "queue", "other", Some("turn_aborted")),
        turn(AFTER, "queue", "go on", Some("turn_aborted")),
        turn(AFTER, "queue", "go on", None),
        turn(AFTER, "queue", "go on", None),
    ];
    let turns = queued_turns(records.concat().as_bytes(), "go on", since());
    let ended = |end| TurnTrace::Ended(end);
    let expected =
        [ended(TurnEnd::Ok), ended(TurnEnd::Interrupted), TurnTrace::Left, TurnTrace::Open];
    assert_eq!(turns, expected);
}
