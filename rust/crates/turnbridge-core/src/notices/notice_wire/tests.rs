//! Tests that notices and their progress are read and written unchanged, those of version 0.1.0 to
//! the letter.

use super::*;
use crate::ids::{Agent, SessionKey};
use crate::notices::notice::Cause;

const NOTICE_OF_0_1_0: &str =
    include_str!("../../../../turnbridge/testdata/state-0.1.0/outbox/claude-25f99e2de8d7448f.json");
const PROGRESS_OF_0_1_0: &str = include_str!(
    "../../../../turnbridge/testdata/state-0.1.0/outbox/claude-25f99e2de8d7448f.progress"
);
const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

fn key() -> SessionKey {
    SessionKey::of("claude", "825c8529-ee09-4cb8-8902-dd785b12ca0a").unwrap()
}

fn read(text: &str) -> Notice {
    read_notice(text.as_bytes()).unwrap()
}

fn written(notice: &Notice) -> String {
    String::from_utf8(write_notice(notice)).unwrap()
}

fn thread() -> ThreadPlace {
    ThreadPlace { channel: "D1".into(), thread_ts: "1.0".into(), after_ts: "2.5".into() }
}

fn in_thread() -> Destination {
    Destination { channel: ChannelName::SLACK, thread: Some(thread()) }
}

#[test]
fn a_notice_says_its_channels_in_its_first_bytes_and_one_of_0_1_0_is_for_slack() {
    let channels = |notice: &Notice| {
        let bytes = write_notice(notice);
        assert_eq!(read_notice(&bytes).as_ref(), Some(notice));
        let head = &bytes[..bytes.len().min(300)];
        channels_in(head).unwrap().iter().map(ChannelName::to_string).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(channels(&read(NOTICE_OF_0_1_0)), "slack");
    assert!(!written(&read(NOTICE_OF_0_1_0)).contains("channels"), "0.1 knows no such field");
    let mail = ChannelName::parse("mail").unwrap();
    let said = Notice { prompt: Some("\"channels\":[\"x\"]".into()), ..read(NOTICE_OF_0_1_0) };
    assert_eq!(channels(&said), "slack", "what people said is no channel");
    assert_eq!(channels(&said.sent_to(vec![ChannelName::SLACK, mail.clone()])), "slack mail");
    assert_eq!(channels(&said.sent_to(vec![mail])), "mail");
    let after = |rest: &str| channels_in(format!("{{\"created_at\":\"x\",{rest}").as_bytes());
    assert_eq!(after("\"channels\":[\"slack\",\"mail\",\"slack\"]").unwrap().len(), 2, "each once");
    assert_eq!(after("\"channels\":[\"../x\"]"), Some(vec![ChannelName::SLACK]));
    for other in
        ["", "\"channels\":", "\"channels\":7}", " \"channels\": [\"mail\"]", "\"id\":\"a\""]
    {
        assert_eq!(after(other), None, "{other}");
    }
}

#[test]
fn a_notice_of_0_1_0_is_read_and_written_to_the_letter() {
    let file = NOTICE_OF_0_1_0.trim_end();
    assert_eq!(written(&read(file)), file);
    assert_eq!(serde_json::to_string(&notice_json(&read(file))).unwrap(), file);
}

#[test]
fn a_notice_of_every_kind_reads_back_as_the_same_notice() {
    let id = || "n".to_owned();
    let word = |to| Notice::word(id(), to, in_thread(), "received".into(), NOW);
    let full = Notice {
        turn_id: Some("p".into()),
        cwd: Some("/w".into()),
        transcript_path: Some("/t".into()),
        prompt: Some("go".into()),
        answers: vec!["a".into(), "b".into()],
        ..Notice::turn(id(), key(), NOW)
    };
    let notices = [
        Notice::turn(id(), key(), NOW),
        full,
        Notice::failed(id(), key(), "rate_limit".into(), NOW),
        Notice::waiting(id(), key(), Some("Bash".into()), NOW),
        word(key().into()),
        word(NamedSession::nobody()),
        Notice::problem(Cause::ChainFailed, NOW),
    ];
    for notice in &notices {
        assert_eq!(&read(&written(notice)), notice);
    }
    let kinds = NoticeKind::ALL.map(|kind| notices.iter().any(|notice| notice.kind == kind));
    assert_eq!(kinds, [true; 5]);
}

/// The format of 0.1.0: with words where others have a session.
#[test]
fn what_is_told_of_no_session_is_written_to_the_letter() {
    let problem = Notice::problem(Cause::ChainFailed, NOW);
    insta::assert_snapshot!(written(&problem), @r#"{"version":1,"id":"codex-chain_failed-2023-11-14","kind":"problem","created_at":"2023-11-14T22:13:20.000000Z","tool":"codex","session_id":"","subject":"chain_failed"}"#);
    assert_eq!(read(&written(&problem)).session.agent(), Some(Agent::Codex));
    let word = Notice::word("w".into(), NamedSession::nobody(), in_thread(), "No.".into(), NOW);
    insta::assert_snapshot!(written(&word), @r#"{"version":1,"id":"w","kind":"word","created_at":"2023-11-14T22:13:20.000000Z","tool":"","session_id":"","answers":["No."],"thread":{"channel":"D1","thread_ts":"1.0","after_ts":"2.5"}}"#);
}

/// A newer version may have queued it; it is delivered, and its route names the session unchanged.
#[test]
fn an_agent_that_is_not_known_and_an_id_that_is_not_safe_are_kept_as_they_stand() {
    for (agent, id) in [("gemini", "s"), ("claude", "../x")] {
        let file = NOTICE_OF_0_1_0.trim_end();
        let file = file.replace("\"tool\":\"claude\"", &format!("\"tool\":\"{agent}\""));
        let own = format!("\"session_id\":\"{}\"", key().id);
        let file = file.replace(&own, &format!("\"session_id\":\"{id}\""));
        let notice = read(&file);
        assert_eq!(notice.session, NamedSession::of(agent, id));
        assert_eq!(notice.session.key(), None);
        assert_eq!(written(&notice), file);
    }
}

#[test]
fn a_time_that_is_none_loses_no_notice() {
    let file = NOTICE_OF_0_1_0.replace("2026-11-17T20:51:53.560574Z", "yesterday");
    let notice = read(&file);
    assert_eq!(notice, Notice { created_at: None, ..read(NOTICE_OF_0_1_0) });
    assert_eq!(created_at_in(file.as_bytes()), None);
    assert_eq!(read(&written(&notice)), notice);
}

#[test]
fn half_a_notice_one_without_a_usable_id_and_a_newer_versions_are_none() {
    let file = NOTICE_OF_0_1_0.trim_end();
    for (old, new) in [
        ("}", ""),
        ("\"version\":1", "\"version\":2"),
        ("\"kind\":\"turn\"", "\"kind\":\"song\""),
        ("\"id\":\"claude-25", "\"id\":\"../25"),
    ] {
        assert_eq!(read_notice(file.replace(old, new).as_bytes()), None, "{new}");
    }
}

#[test]
fn the_time_of_a_notice_stands_in_the_first_bytes_of_its_file() {
    let head = &NOTICE_OF_0_1_0.as_bytes()[..120];
    assert_eq!(created_at_in(head), read(NOTICE_OF_0_1_0).created_at);
    assert_eq!(created_at_in(&head[..70]), None);
}

fn progress(text: &str) -> NoticeProgress {
    read_progress(text.as_bytes()).unwrap()
}

/// That version had no pauses.
#[test]
fn progress_of_0_1_0_is_read_and_written_with_what_came_to_it() {
    let file = PROGRESS_OF_0_1_0.trim_end();
    let pauses = "\"pause_seconds\":0,\"waited_seconds\":0,\"last_error\"";
    let file_now = file.replace("\"last_error\"", pauses);
    let written = String::from_utf8(write_progress(&progress(file))).unwrap();
    assert_eq!(written, file_now);
}

#[test]
fn progress_reads_back_as_the_same_progress() {
    let plain = NoticeMessage { text: "a".into(), markdown: None };
    let full = NoticeProgress {
        has_arrived: true,
        messages: vec![plain, NoticeMessage { text: "b".into(), markdown: Some("**b**".into()) }],
        channel: Some("D1".into()),
        after_ts: Some("1.0".into()),
        posted: vec!["1.5".into()],
        intent: true,
        route_saved: true,
        attempts: 3,
        next_attempt_at: Some(NOW),
        pause_seconds: 40,
        waited_seconds: 30,
        last_error: Some("no".into()),
        held: true,
    };
    for own in [NoticeProgress::default(), full] {
        assert_eq!(read_progress(&write_progress(&own)), Some(own));
    }
}

#[test]
fn a_next_attempt_whose_time_is_none_is_due_and_the_rest_is_kept() {
    let garbage = progress(&PROGRESS_OF_0_1_0.replace("2026-11-17T20:52:05.072020Z", "soon"));
    let known = progress(PROGRESS_OF_0_1_0);
    assert!(known.next_attempt_at.is_some());
    assert_eq!(garbage, NoticeProgress { next_attempt_at: None, ..known });
}
