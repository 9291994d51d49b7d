//! Tests that speech is found in recorded and composed transcripts, and only in the current turn.

use super::*;

const SKILL: &str = include_str!("../../../testdata/claude/transcripts/skill.jsonl");
const MCP: &str = include_str!("../../../testdata/claude/transcripts/mcp.jsonl");
const COMMAND: &str = include_str!("../../../testdata/claude/transcripts/cmd.jsonl");
const BLOCKED: &str = include_str!("../../../testdata/claude/transcripts/stop_exit2.jsonl");

/// A recorded transcript in which Turnbridge's plugin replaces the probe plugin.
fn ours(recorded: &str) -> String {
    recorded
        .replace("probe:greet", "turnbridge:speak")
        .replace("mcp__plugin_probe_", "mcp__plugin_turnbridge_")
        .replace("/probe:foo", "/cvi:speak")
}

fn read(transcript: &str, prompt_id: &str, answer: &str) -> TurnTail {
    let turn = TurnKey { prompt_id: Some(prompt_id), answer: Some(answer) };
    read_turn_tail(transcript.as_bytes(), turn)
}

const SKILL_PROMPT: &str = "bf4e748a-b38d-40c5-9f43-68c84d46b1fd";
const MCP_PROMPT: &str = "63b04a8e-e2d5-4c5a-9ee6-81f8eac50730";
const COMMAND_PROMPT: &str = "daea7e83-5b3e-4c77-93fd-3c0b5c532a91";
const BLOCKED_PROMPT: &str = "b635ada9-e174-45e7-80a2-403e3c0b7adf";

#[test]
fn cvi_17_speech_is_found_by_skill_by_mcp_tool_and_by_typed_command() {
    let spoken = |answer: bool| TurnTail {
        speech: Some(SpeakOutcome::Spoken),
        reaches_start: true,
        has_answer: answer,
    };
    assert_eq!(read(&ours(SKILL), SKILL_PROMPT, "greeted."), spoken(true));
    assert_eq!(read(&ours(MCP), MCP_PROMPT, "spoke."), spoken(true));
    assert_eq!(read(&ours(COMMAND), COMMAND_PROMPT, "something else"), spoken(false));
}

#[test]
fn other_skills_tools_and_commands_are_no_speech() {
    for (recorded, prompt) in [(SKILL, SKILL_PROMPT), (MCP, MCP_PROMPT), (COMMAND, COMMAND_PROMPT)]
    {
        let seen = read(recorded, prompt, "");
        assert_eq!((seen.speech, seen.reaches_start), (None, true));
    }
}

#[test]
fn a_call_without_its_result_is_no_speech_yet() {
    let transcript = ours(SKILL);
    let until = transcript.find("Launching skill").unwrap();
    let seen = read(&transcript[..until], SKILL_PROMPT, "greeted.");
    assert_eq!(seen, TurnTail { speech: None, reaches_start: true, has_answer: false });
}

#[test]
fn only_the_turn_under_way_counts() {
    // Speech in the turn before is ignored, whether this turn has a prompt there or not.
    let two = format!("{}{BLOCKED}", ours(SKILL));
    let seen = read(&two, BLOCKED_PROMPT, "second");
    assert_eq!(seen, TurnTail { speech: None, reaches_start: true, has_answer: true });
    let seen = read(&ours(SKILL), BLOCKED_PROMPT, "second");
    assert_eq!(seen, TurnTail { speech: None, reaches_start: true, has_answer: false });
}

#[test]
fn feedback_of_a_hook_does_not_begin_a_turn() {
    // The first answer, the feedback and the second answer are one turn.
    let from_feedback = &BLOCKED[BLOCKED.find("\"first\"").unwrap()..];
    assert!(!read(from_feedback, BLOCKED_PROMPT, "second").reaches_start);
    assert!(read(BLOCKED, BLOCKED_PROMPT, "second").reaches_start);
}

#[test]
fn the_answer_is_known_when_it_is_the_last_text() {
    assert!(read(BLOCKED, BLOCKED_PROMPT, "second\n").has_answer);
    assert!(!read(BLOCKED, BLOCKED_PROMPT, "first").has_answer);
    assert!(!read(BLOCKED, BLOCKED_PROMPT, "second and more").has_answer);
    let long = "x".repeat(10_000);
    assert!(read(&BLOCKED.replace("second", &long), BLOCKED_PROMPT, &long).has_answer);
    assert!(!read(BLOCKED, BLOCKED_PROMPT, "").has_answer);
}

#[test]
fn an_attempt_counts_and_a_wrong_call_does_not() {
    use SpeakOutcome::{Failed, Refused, Spoken};
    macro_rules! speech_in {
        ($name:literal) => {{
            let transcript =
                include_str!(concat!("../../../testdata/claude/transcripts/", $name, ".jsonl"));
            let turn = TurnKey { prompt_id: None, answer: Some("done.") };
            let seen = read_turn_tail(transcript.as_bytes(), turn);
            assert!(seen.has_answer && seen.reaches_start, "{seen:?}");
            seen.speech
        }};
    }
    assert_eq!(speech_in!("speak_mcp"), Some(Spoken));
    assert_eq!(speech_in!("speak_no_engine"), Some(Failed));
    assert_eq!(speech_in!("speak_refused"), Some(Refused));
    assert_eq!(speech_in!("speak_skill_refused"), Some(Refused));
    assert_eq!(speech_in!("speak_unknown_skill"), None);
}

#[test]
fn a_command_of_the_user_begins_a_turn_under_the_old_prompt_id() {
    let transcript = include_str!("../../../testdata/claude/transcripts/bang.jsonl");
    let until = transcript.find("next prompt").unwrap();
    let seen = read(&transcript[..until], "0009878c-60dc-4c37-b1b3-f340e08beb9f", "bang answer.");
    assert_eq!(seen, TurnTail { speech: None, reaches_start: true, has_answer: true });
    // Speech before it does not count.
    let at = transcript[..transcript.find("<bash-input>").unwrap()].rfind('\n').unwrap() + 1;
    let call = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Skill","input":{"skill":"cvi:speak"}}]}}"#;
    let result = r#"{"type":"user","promptId":"0009878c-60dc-4c37-b1b3-f340e08beb9f","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}}"#;
    let before = format!("{}{call}\n{result}\n", &transcript[..at]);
    let read = |text: &str| read(text, "0009878c-60dc-4c37-b1b3-f340e08beb9f", "").speech;
    assert_eq!(read(&before), Some(SpeakOutcome::Spoken));
    assert_eq!(read(&format!("{before}{}", &transcript[at..until])), None);
}

#[test]
fn any_bytes_at_all_are_read_to_an_end() {
    for length in (0..SKILL.len()).step_by(61) {
        read_turn_tail(&SKILL.as_bytes()[length..], TurnKey { prompt_id: None, answer: None });
        read_turn_tail(&SKILL.as_bytes()[..length], TurnKey { prompt_id: None, answer: None });
    }
    let noise = b"\xff\n{\n[]\n\"\n{\"type\":\"user\",\"message\":7}\n\n";
    assert!(read_turn_tail(noise, TurnKey { prompt_id: None, answer: None }).reaches_start);
}

/// Time quadratic in the number of calls would be minutes.
#[test]
fn very_many_calls_in_one_message_take_time_in_proportion() {
    let list = |each: &dyn Fn(usize) -> String| (0..50_000).map(each).collect::<Vec<_>>().join(",");
    let calls = list(&|n| format!(r#"{{"id":"c{n}","name":"Skill","input":{{"skill":"speak"}}}}"#));
    let results = list(&|n| format!(r#"{{"tool_use_id":"c{n}","is_error":true,"content":"x"}}"#));
    let tail = format!(
        "{{\"type\":\"assistant\",\"message\":{{\"content\":[{calls}]}}}}\n\
         {{\"type\":\"user\",\"message\":{{\"content\":[{results}]}}}}\n"
    );
    let seen = read_turn_tail(tail.as_bytes(), TurnKey { prompt_id: None, answer: None });
    assert!(!seen.reaches_start);
}
