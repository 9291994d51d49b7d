//! How fast the board is. Figures are told, and only what is far off fails, in the slow gate.

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use testkit::Hermetic;

use crate::board::Board;
use crate::gates;
use crate::patience::wait_for;
use crate::scene::Scene;

const SESSION: &str = "00000000-0000-4000-8000-000000000000";

fn payload(scene: &Scene, event: &str, more: Value) -> Value {
    let mut payload = json!({
        "session_id": SESSION,
        "transcript_path": "/nowhere/transcript.jsonl",
        "cwd": scene.hermetic.project(),
        "hook_event_name": event,
    });
    payload.as_object_mut().expect("an object").extend(more.as_object().expect("more").clone());
    payload
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970")
}

#[test]
fn cards_change_within_a_fifth_of_a_second_of_a_hook() {
    let Some(mut browser) = gates::slow_browser() else { return };
    let scene = Scene::new(Hermetic::new());
    let board = Board::start(&scene, None, "");
    browser.open(&board.url);
    browser.wait_for("#connection", "Live");
    browser.order("observe", json!({}));
    let mut called = Vec::new();
    for _ in 0..20 {
        for (event, state, more) in [
            ("UserPromptSubmit", "working", json!({ "prompt": "again" })),
            ("PermissionRequest", "waiting_user", json!({ "tool_name": "Bash", "tool_input": {} })),
            ("Stop", "completed", json!({ "last_assistant_message": "done" })),
        ] {
            called.push((now(), state));
            board.hook(&payload(&scene, event, more));
            browser.order("wait", json!({ "selector": format!(".card[data-state={state}]") }));
        }
    }
    let seen = browser.order("seen", json!({}))["seen"].clone();
    let seen = seen.as_array().expect("what was seen");
    assert_eq!(seen.len(), called.len(), "{seen:#?}");
    let mut late: Vec<u128> = Vec::new();
    for ((at, state), seen) in called.iter().zip(seen) {
        assert!(seen["words"].as_str().is_some_and(|words| words.starts_with(state)), "{seen}");
        let shown = Duration::from_millis(seen["at"].as_u64().expect("a time"));
        late.push(shown.saturating_sub(*at).as_millis());
    }
    late.sort_unstable();
    let (median, most) = (late[late.len() / 2], late[late.len() - 1]);
    gates::note(&format!(
        "board: from the start of a hook to the card: median {median} ms, most {most} ms"
    ));
    assert!(median < 200 && most < 1_000, "{late:?}");
}

/// 500 sessions of 10 turns each.
#[cfg(target_os = "linux")]
#[test]
fn five_hundred_sessions_load_in_a_second_and_cost_the_daemon_little() {
    let Some(mut browser) = gates::slow_browser() else { return };
    let scene = Scene::new(Hermetic::new());
    let board = Board::start(&scene, None, "");
    let answer = "A paragraph of an answer, with `code` and **more**.\n\n".repeat(40);
    board.hook(&payload(&scene, "UserPromptSubmit", json!({ "prompt": "what is going on here?" })));
    board.hook(&payload(&scene, "Stop", json!({ "last_assistant_message": answer })));
    let state = scene.hermetic.state_dir();
    let read = |path: &str| fs::read_to_string(state.join(path)).expect("a file of the session");
    let session = read(&format!("sessions/claude-{SESSION}.json"));
    let turn = read(&format!("turns/claude-{SESSION}.jsonl"));
    let memory = || rss_of(board.daemon.id());
    let before = memory();
    for number in 1..500 {
        let id = format!("00000000-0000-4000-8000-{number:012}");
        let write = |path: String, text: String| {
            fs::write(state.join(path), text).expect("write a session");
        };
        write(format!("turns/claude-{id}.jsonl"), turn.replace(SESSION, &id).repeat(10));
        write(format!("sessions/claude-{id}.json"), session.replace(SESSION, &id));
    }
    // The daemon itself looks at all of them too; what the board adds comes after that.
    let settled = wait_for("a daemon at rest", || {
        let first = memory();
        std::thread::sleep(Duration::from_secs(2));
        let second = memory();
        if first == second { Ok(second) } else { Err(format!("{first} and {second} KB")) }
    });
    let mut loads = Vec::new();
    for _ in 0..5 {
        let order = json!({ "url": board.url, "until": "li:nth-child(500) .card" });
        browser.order("open", order);
        let loaded = browser.order("loaded", json!({}));
        loads.push(loaded["milliseconds"].as_f64().expect("a time"));
        browser.press(&["j", "j", "Enter"]);
        browser.wait_for(".turn .answer", "A paragraph");
    }
    let after = memory();
    loads.sort_by(f64::total_cmp);
    let (median, most) = (loads[2], loads[4]);
    gates::note(&format!(
        "board: 500 sessions, 5,000 turns: all cards painted after {median:.0} ms, at most {most:.0} ms; \
         daemon {before} KB, {settled} KB with the sessions, {after} KB after five pages and threads"
    ));
    assert!(median < 3_000.0, "{loads:?}");
    assert!(after.saturating_sub(before) < 40_000, "{before} {settled} {after}");
}

#[cfg(target_os = "linux")]
fn rss_of(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("its status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
