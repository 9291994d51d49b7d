//! Tests that prompts and answers are read from recorded and composed transcripts, also if the tail
//! is cut.

use super::*;

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("../../../../testdata/claude/transcripts/", $name, ".jsonl"))
    };
}

/// Prompt and answer, the prompt without the script of the fake model.
fn read(transcript: &str, prompt_id: Option<&str>) -> String {
    let tail = transcript.as_bytes();
    let [prompt, answer] =
        [last_prompt(tail, prompt_id), last_answer(tail, prompt_id)].map(|text| match text {
            Some(text) => text.split(" [[").next().unwrap_or_default().replace('\n', "⏎"),
            None => "(none)".to_owned(),
        });
    format!("{prompt} -> {answer}")
}

fn user(content: &str) -> String {
    format!(r#"{{"type":"user","promptId":"p","message":{{"content":{content}}}}}"#) + "\n"
}

fn assistant(blocks: &str) -> String {
    format!(r#"{{"type":"assistant","message":{{"model":"m","content":[{blocks}]}}}}"#) + "\n"
}

#[test]
fn slv_69_prompt_and_answer_are_read_from_recorded_transcripts() {
    let all = [
        recorded!("plain"),
        recorded!("tools"),
        recorded!("agent"),
        recorded!("fail"),
        recorded!("mcp"),
        recorded!("skill"),
        recorded!("cmd"),
        recorded!("stop_exit2"),
        recorded!("stop_block_cap"),
        recorded!("bang"),
        recorded!("speak_mcp"),
    ];
    insta::assert_snapshot!(all.map(|transcript| read(transcript, None)).join("\n"), @"
    hello -> Hello from the fake model.
    use tools -> All done.
    use agent -> agent done.
    fail -> ok failed.
    use mcp -> spoke.
    use skill -> greeted.
    /probe:foo a b -> foo done.
    stop1 -> second
    stopN -> done.
    next prompt -> third answer.
    please speak -> done.
    ");
}

#[test]
fn a_turn_is_found_by_its_prompt_id_among_others() {
    let transcript = recorded!("interactive_interrupt");
    let ids: Vec<_> = ["4ac845", "fc099a", "e1f88d"]
        .map(|start| {
            let at = transcript.find(&format!("\"promptId\":\"{start}")).unwrap() + 12;
            &transcript[at..at + 36]
        })
        .to_vec();
    let shown = ids.iter().map(|id| read(transcript, Some(id))).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(shown, @"
    sk -> greeted-int.
    run -> (none)
    esc -> (none)
    ");
    assert_eq!(read(transcript, Some("another")), "(none) -> (none)");
}

#[test]
fn a_command_of_the_user_is_a_prompt_under_the_old_prompt_id() {
    let transcript = recorded!("bang");
    let id = "0009878c-60dc-4c37-b1b3-f340e08beb9f";
    assert_eq!(read(transcript, Some(id)), "!echo hi -> bang answer.");
    let until = transcript.find("<bash-input>").unwrap();
    assert_eq!(read(&transcript[..until], Some(id)), "hello -> first answer.");
}

#[test]
fn the_tail_may_begin_and_end_anywhere() {
    let transcript = recorded!("tools");
    let last = transcript.rfind(r#"{"type":"text","text":"All done."#).unwrap();
    let line = transcript[..last].rfind('\n').unwrap();
    // Only the answer is left, or the beginning of it.
    assert_eq!(read(&transcript[line - 5..], Some("b7adcb")), "(none) -> All done.");
    assert_eq!(read(&transcript[..last + 30], None), "use tools -> (none)");
    for length in (0..transcript.len()).step_by(61) {
        read(&transcript[length..], None);
        read(&transcript[..length], Some("p"));
    }
    let noise = b"\xff\n{\n[]\n\"\n{\"type\":\"user\",\"message\":7}\n\n{\"type\":\"assistant\"}";
    assert_eq!((last_prompt(noise, None), last_answer(noise, None)), (None, None));
}

#[test]
fn only_what_was_said_after_the_last_tool_is_the_answer() {
    let text = |text: &str| assistant(&format!(r#"{{"type":"text","text":"{text}"}}"#));
    let thinking = assistant(r#"{"type":"thinking","thinking":"hm","text":"hm"}"#);
    let call = assistant(r#"{"type":"tool_use","id":"t","name":"Bash","input":{"text":"no"}}"#);
    let result = user(r#"[{"type":"tool_result","tool_use_id":"t","content":"no","text":"no"}]"#);
    let start = user("\"go\"") + &text("Let me see.") + &call;
    assert_eq!(read(&(start.clone() + &result), Some("p")), "go -> (none)");
    let whole = start + &result + &thinking + &text("One.") + &text(" ") + &text("Two.\\n");
    assert_eq!(read(&whole, Some("p")), "go -> One.⏎⏎Two.⏎");
}

#[test]
fn what_claude_put_in_is_neither_prompt_nor_answer() {
    let said = user("\"go\"") + &assistant(r#"{"type":"text","text":"done"}"#);
    let record = |rest: &str| {
        format!(r#"{{"type":"user","promptId":"p",{rest},"message":{{"content":"no"}}}}"#) + "\n"
    };
    for put_in in [
        record(r#""isMeta":true"#),
        record(r#""isSidechain":true"#),
        record(r#""isCompactSummary":true"#),
        user("\"<local-command-stdout>no</local-command-stdout>\""),
        user("\"<bash-stdout>no</bash-stdout><bash-stderr></bash-stderr>\""),
        user(r#"[{"type":"text","text":"[Request interrupted by user]"}]"#),
        user(r#"[{"type":"image","source":{}}]"#),
        user("\"<command-name>/model</command-name>\\n<command-args></command-args>\"")
            + &user("\"<local-command-stdout>no</local-command-stdout>\""),
        assistant(r#"{"type":"text","text":"API Error"}"#).replace("\"m\"", "\"<synthetic>\""),
        assistant(r#"{"type":"text","text":"no"}"#)
            .replace("{\"type\":\"assistant\"", "{\"type\":\"assistant\",\"isSidechain\":true"),
        "{\"type\":\"last-prompt\",\"lastPrompt\":\"no\"}\n".to_owned(),
    ] {
        assert_eq!(read(&format!("{said}{put_in}"), Some("p")), "go -> done", "{put_in}");
        assert_eq!(read(&format!("{said}{put_in}"), None), "go -> done", "{put_in}");
    }
}

#[test]
fn a_prompt_is_read_as_it_was_typed() {
    for (content, typed) in [
        (r#""two\nlines <b> 日本""#, "two⏎lines <b> 日本"),
        (r#"[{"type":"image"},{"type":"text","text":"what is this?"}]"#, "what is this?"),
        (r#"[{"type":"text","text":"<ide_opened_file>x"},{"type":"text","text":"fix"}]"#, "fix"),
        (r#""<command-name>/x:y</command-name>""#, "/x:y"),
        (
            r#""<command-message>x</command-message>\n<command-name>/x</command-name>\n<command-args>a </command-args> b</command-args>""#,
            "/x a </command-args> b",
        ),
        (r#""<command-line> is what I typed""#, "<command-line> is what I typed"),
        (r#""<bash-input>ls -l</bash-input>""#, "!ls -l"),
    ] {
        assert_eq!(read(&user(content), None), format!("{typed} -> (none)"));
    }
}

#[test]
fn nothing_is_cut_off_a_long_text() {
    let long = "x".repeat(2 << 20);
    let whole =
        user(&format!("\"{long}\"")) + &assistant(&format!(r#"{{"type":"text","text":"{long}"}}"#));
    assert_eq!(last_prompt(whole.as_bytes(), None).as_ref(), Some(&long));
    assert_eq!(last_answer(whole.as_bytes(), None).as_ref(), Some(&long));
}

/// Time quadratic in the number of blocks would be minutes.
#[test]
fn a_message_of_very_many_blocks_takes_time_in_proportion() {
    let blocks = vec![r#"{"type":"text","text":"x"}"#; 200_000].join(",");
    let line = format!(r#"{{"type":"assistant","message":{{"content":[{blocks}]}}}}"#);
    assert_eq!(last_answer(line.as_bytes(), None).map(|answer| answer.len()), Some(600_000 - 2));
}
