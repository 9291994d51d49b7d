//! Tests that a message is accepted once, that a reply is claimed once, and that the files show how
//! far it has come, also after a kill or a restart of the machine.

use super::*;
use turnbridge_core::ids::{Agent, SessionKey};
use turnbridge_core::notices::route::Route;
use turnbridge_core::replies::holder::StartedProgram;
use turnbridge_core::replies::reply::ReplySource;
use turnbridge_core::replies::reply_plan::ReplyProgress;
use turnbridge_core::replies::thread_message::ThreadMessage;
use turnbridge_core::replies::turn_trace::TurnEnd;
use turnbridge_core::session::event::ProcessKey;
use turnbridge_core::slack::slack_ts::SlackTs;
use turnbridge_core::slack::thread_marks::ThreadKey;

const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

fn reply(ts: &str) -> Reply {
    let thread = ThreadKey::new("D1", "1.000000");
    let reply = Reply::from_slack(thread, ts.into(), "U1".into(), "go on".into());
    let reply = Reply { event_id: Some(format!("Ev{ts}")), ..reply };
    reply.addressed(Some(&Route::new("D1", "1.000000", session(), NOW)), NOW)
}

fn inbox() -> (tempfile::TempDir, StatePaths) {
    let folder = tempfile::tempdir().unwrap();
    let paths = StatePaths::below(folder.path());
    (folder, paths)
}

fn ids(paths: &StatePaths) -> Vec<String> {
    entries(paths).unwrap().into_iter().map(|entry| entry.reply.ts).collect()
}

fn progress(paths: &StatePaths, id: &str) -> ReplyProgress {
    entry(paths, id).unwrap().unwrap().progress
}

/// X12 takes SLV-49 back: a message that Slack delivers again is dropped.
#[test]
fn a_message_is_taken_once_by_its_event_and_by_its_time_and_after_it_was_finished() {
    let (_folder, paths) = inbox();
    assert!(ids(&paths).is_empty());
    assert_eq!(accept(&paths, &reply("20.1"), NOW).unwrap(), Accepted::New);
    assert_eq!(accept(&paths, &reply("3.000200"), NOW).unwrap(), Accepted::New);
    assert_eq!(ids(&paths), ["3.000200", "20.1"]);
    let other_event = Reply { event_id: Some("Ev-x".into()), ..reply("20.1") };
    assert_eq!(accept(&paths, &other_event, NOW).unwrap(), Accepted::Known);
    let same_event = Reply { event_id: Some("Ev20.1".into()), ..reply("99.0") };
    assert_eq!(accept(&paths, &same_event, NOW).unwrap(), Accepted::Known);
    finish(&paths, "slack-D1-20.1").unwrap();
    assert_eq!(accept(&paths, &reply("20.1"), NOW).unwrap(), Accepted::Known);
    assert_eq!(ids(&paths), ["3.000200"]);
    let finished = finished(&paths).unwrap();
    assert_eq!(finished.len(), 1);
    assert_eq!(finished[0].0.text, "go on");
}

#[test]
fn killed_between_the_reply_and_its_mark_nothing_is_lost_and_nothing_doubled() {
    let (_folder, paths) = inbox();
    accept(&paths, &reply("1.0"), NOW).unwrap();
    fs::remove_file(paths.inbox_dir().join("seen.jsonl")).unwrap();
    assert_eq!(accept(&paths, &reply("1.0"), NOW).unwrap(), Accepted::Known);
    assert_eq!(ids(&paths), ["1.0"]);
    // Half a line, as a full disk leaves it, affects no other.
    append_line(&paths.inbox_dir().join("seen.jsonl"), b"{\"at\":1,\"eve").unwrap();
    assert_eq!(accept(&paths, &reply("2.0"), NOW).unwrap(), Accepted::New);
    let again = Reply { id: "slack-D1-x".into(), ..reply("2.0") };
    assert_eq!(accept(&paths, &again, NOW).unwrap(), Accepted::Known);
}

#[test]
fn what_was_seen_is_kept_for_a_quarter_of_an_hour_and_for_thousands_of_messages() {
    let (_folder, paths) = inbox();
    let path = paths.inbox_dir().join("seen.jsonl");
    let line = |number: usize, at: Timestamp| {
        format!("{{\"at\":{},\"event_id\":\"E{number}\"}}\n", at.as_micros())
    };
    let old = NOW.minus(Duration::from_secs(3_600));
    let mut lines: String = (0..8_000).map(|number| line(number, old)).collect();
    lines.extend((8_000..8_192).map(|number| line(number, NOW)));
    append_line(&path, lines.as_bytes()).unwrap();
    accept(&paths, &reply("1.0"), NOW).unwrap();
    let kept = fs::read_to_string(&path).unwrap();
    assert_eq!(kept.lines().count(), 4_096);
    assert!(kept.contains("\"E8191\"") && !kept.contains("\"E100\""));
    let young: String = (0..9_000).map(|number| line(number, NOW)).collect();
    append_line(&path, young.as_bytes()).unwrap();
    accept(&paths, &reply("2.0"), NOW).unwrap();
    assert!(fs::read_to_string(&path).unwrap().lines().count() > 9_000);
}

#[test]
fn a_reply_is_claimed_once_and_its_files_tell_how_far_it_has_come() {
    let (_folder, paths) = inbox();
    accept(&paths, &reply("1.0"), NOW).unwrap();
    let id = "slack-D1-1.0";
    assert_eq!(progress(&paths, id), ReplyProgress::Waiting);
    let held = lock(&paths, id).unwrap().unwrap();
    assert_eq!(progress(&paths, id), ReplyProgress::Waiting);
    assert_eq!(claim(&paths, id, NOW).unwrap(), RunClaim::Ours);
    assert_eq!(claim(&paths, id, NOW).unwrap(), RunClaim::Taken);
    assert_eq!(claimed_at(&paths, id), Some(NOW));
    assert_eq!(progress(&paths, id), ReplyProgress::Running);
    assert!(lock(&paths, id).unwrap().is_none());
    drop_lock(held);
    assert_eq!(progress(&paths, id), ReplyProgress::Lost);
    // An agent that outlives its runner: here, this process.
    save_agent(&paths, id, std::process::id(), StartedProgram::Agent, NOW).unwrap();
    assert_eq!(progress(&paths, id), ReplyProgress::Running);
    request_stop_file(&paths, id);
    assert_eq!(progress(&paths, id), ReplyProgress::Unstopped);
    fs::remove_file(paths.inbox_dir().join(format!("{id}.agent"))).unwrap();
    let acknowledge = |event, agent| acknowledge(&paths, id, &session(), event, agent);
    acknowledge("UserPromptSubmit", ProcessKey::UNKNOWN).unwrap();
    assert_eq!(progress(&paths, id), ReplyProgress::Lost);
    assert!(acks(&paths, id).has_prompt && !has_ended(&paths, id));
    acknowledge("Stop", ProcessKey::UNKNOWN).unwrap();
    acknowledge("StopFailure", ProcessKey::UNKNOWN).unwrap();
    assert_eq!(acks(&paths, id).end, Some(TurnEnd::Ok), "the first end is the reply's own");
    // The agent itself; the wrapper that has started it has ended.
    let own = crate::process::identify(std::process::id());
    acknowledge("UserPromptSubmit", own).unwrap();
    assert_eq!(progress(&paths, id), ReplyProgress::Unstopped);
    let result = RunResult::new(RunOutcome::Done, NOW);
    save_result(&paths, id, &result).unwrap();
    assert_eq!(progress(&paths, id), ReplyProgress::Ended(result));
    finish(&paths, id).unwrap();
    // A runner that was started twice comes too late.
    assert_eq!(claim(&paths, id, NOW).unwrap(), RunClaim::Taken);
}

/// A late stop is recognised by this time.
#[test]
fn when_a_reply_was_written_is_known_of_those_from_slack() {
    let (_folder, paths) = inbox();
    accept(&paths, &reply("1700000001.000200"), NOW).unwrap();
    let board = Reply { id: "b".into(), source: ReplySource::Board, ..reply("1700000002.000200") };
    accept(&paths, &Reply { event_id: None, ..board }, NOW).unwrap();
    let written: Vec<_> =
        entries(&paths).unwrap().iter().map(|entry| entry.reply.written()).collect();
    assert_eq!(written, [SlackTs::parse("1700000001.000200"), None]);
}

/// Writes the file without a signal to any process.
fn request_stop_file(paths: &StatePaths, id: &str) {
    fs::write(paths.inbox_dir().join(format!("{id}.stop")), "").unwrap();
}

/// After a reboot, pids and start times recur.
#[cfg(target_os = "linux")]
#[test]
fn a_process_of_an_earlier_start_of_the_machine_is_not_alive() {
    let (_folder, paths) = inbox();
    accept(&paths, &reply("1.0"), NOW).unwrap();
    let id = "slack-D1-1.0";
    claim(&paths, id, NOW).unwrap();
    save_agent(&paths, id, std::process::id(), StartedProgram::Agent, NOW).unwrap();
    assert_eq!(progress(&paths, id), ReplyProgress::Running);
    let path = paths.inbox_dir().join(format!("{id}.agent"));
    let mut holder: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    holder["boot"] = "0d7b4b6d-9b0e-4e1a-8b3c-4d5e6e0c1b2a".into();
    fs::write(&path, holder.to_string()).unwrap();
    assert_eq!(progress(&paths, id), ReplyProgress::Lost);
}

/// A hook whose agent was killed during its start has another parent: init, or the user's service
/// manager. That process never ends, and must neither keep the reply running nor be stopped.
#[cfg(unix)]
#[test]
fn whoever_adopted_a_hook_is_not_taken_for_the_agent() {
    let (_folder, paths) = inbox();
    let id = "slack-D1-1.0";
    accept(&paths, &reply("1.0"), NOW).unwrap();
    claim(&paths, id, NOW).unwrap();
    let adopter = crate::process::identify(1);
    assert_ne!(adopter, ProcessKey::UNKNOWN, "process 1 cannot be seen");
    acknowledge(&paths, id, &session(), "UserPromptSubmit", adopter).unwrap();
    assert!(acks(&paths, id).has_prompt);
    assert!(!run::is_agent_alive(&paths, id));
    assert_eq!(progress(&paths, id), ReplyProgress::Lost);
}

/// An agent passes its environment on to the agents that it starts.
#[test]
fn hooks_of_another_session_acknowledge_nothing() {
    let (_folder, paths) = inbox();
    accept(&paths, &reply("1.0"), NOW).unwrap();
    let id = "slack-D1-1.0";
    let other = SessionKey::of("claude", "01a1e18e-2062-79f1-b187-979e8f997b9c").unwrap();
    for session in [other, SessionKey::new(Agent::Codex, session().id)] {
        acknowledge(&paths, id, &session, "Stop", ProcessKey::UNKNOWN).unwrap();
    }
    assert!(!has_ended(&paths, id));
}

/// Returns the session that the replies are for.
fn session() -> SessionKey {
    SessionKey::of("claude", "825c8529-ee09-4cb8-8902-dd785b12ca0a").unwrap()
}

fn drop_lock(lock: FileLock) {
    std::mem::drop(lock);
}

#[test]
fn what_was_told_is_kept_and_what_was_being_told_is_seen() {
    let (_folder, paths) = inbox();
    accept(&paths, &reply("1.0"), NOW).unwrap();
    let id = "slack-D1-1.0";
    let told = || entry(&paths, id).unwrap().map(|entry| (entry.told, entry.telling)).unwrap();
    assert_eq!(told(), (vec![], None));
    mark_message_begun(&paths, id, ThreadMessage::Receipt).unwrap();
    assert_eq!(told(), (vec![], Some(ThreadMessage::Receipt)));
    mark_message_sent(&paths, id, ThreadMessage::Receipt).unwrap();
    mark_message_begun(&paths, id, ThreadMessage::Queued).unwrap();
    assert_eq!(told(), (vec![ThreadMessage::Receipt], Some(ThreadMessage::Queued)));
}

#[test]
fn a_dropped_reply_is_gone_and_a_running_one_stays() {
    let (_folder, paths) = inbox();
    let id = "slack-D1-1.0";
    assert_eq!(super::drop(&paths, id, NOW).unwrap(), Dropped::Unknown);
    accept(&paths, &reply("1.0"), NOW).unwrap();
    let held = lock(&paths, id).unwrap().unwrap();
    assert_eq!(super::drop(&paths, id, NOW).unwrap(), Dropped::Running);
    drop_lock(held);
    assert_eq!(super::drop(&paths, id, NOW).unwrap(), Dropped::Yes);
    assert!(ids(&paths).is_empty());
    assert_eq!(claim(&paths, id, NOW).unwrap(), RunClaim::Taken);
    let dropped = finished(&paths).unwrap();
    assert_eq!(dropped[0].1.as_ref().unwrap().outcome, RunOutcome::Dropped);
}

#[test]
fn finished_replies_are_forgotten_after_a_week_and_waiting_ones_never() {
    let (_folder, paths) = inbox();
    accept(&paths, &reply("1.0"), NOW).unwrap();
    accept(&paths, &reply("2.0"), NOW).unwrap();
    mark_message_sent(&paths, "slack-D1-2.0", ThreadMessage::Receipt).unwrap();
    claim(&paths, "slack-D1-1.0", NOW).unwrap();
    finish(&paths, "slack-D1-1.0").unwrap();
    prune(&paths, SystemTime::now()).unwrap();
    assert_eq!(finished(&paths).unwrap().len(), 1);
    prune(&paths, SystemTime::now() + KEPT + Duration::from_secs(60)).unwrap();
    assert!(finished(&paths).unwrap().is_empty());
    assert!(!paths.inbox_dir().join("slack-D1-1.0.run").exists());
    assert_eq!(ids(&paths), ["2.0"]);
    assert_eq!(entries(&paths).unwrap()[0].told, [ThreadMessage::Receipt]);
}

#[test]
fn an_id_that_is_no_name_reaches_no_file() {
    let (_folder, paths) = inbox();
    let bad = Reply { id: "../x".into(), ..reply("1.0") };
    assert!(accept(&paths, &bad, NOW).is_err());
    assert!(claim(&paths, "a/b", NOW).is_err());
    let acknowledge = |id| acknowledge(&paths, id, &session(), "Stop", ProcessKey::UNKNOWN);
    assert!(acknowledge("..").is_err());
    acknowledge("nobody-waits").unwrap();
    assert!(!paths.inbox_dir().join("nobody-waits.ack").exists());
}
