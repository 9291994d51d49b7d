//! Tests that another process deletes old session files, so that no hook waits for it, and that
//! `sessions` counts the stopped sessions.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::json;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::files::file_lock::FileLock;

use crate::support::world::{World, payload};

const TIMEOUT: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Creates a session that ended `days` ago, with its file from hooks.
fn stale_session(world: &World, id: &str, days: u32) -> PathBuf {
    let of = |event: &str, more| {
        let mut payload = payload(event, more);
        payload["session_id"] = json!(id);
        payload
    };
    world.status(&of("UserPromptSubmit", json!({"prompt": "go"})));
    world.status(&of("SessionEnd", json!({"reason": "other"})));
    let path = world.session_file(id);
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(SystemTime::now() - DAY * days).unwrap();
    path
}

/// Sets up daily use of Turnbridge.
fn look_daily(world: &World) {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let now = Timestamp::from_millis(since_1970.as_millis() as i64);
    let looks: String = (2..6).rev().map(|days| format!("{}\n", now.minus(DAY * days))).collect();
    fs::write(world.hermetic.state_dir().join("pruned"), looks).unwrap();
}

#[test]
fn a_session_that_starts_waits_for_no_pruning_and_another_process_does_it() {
    let world = World::new();
    let old = stale_session(&world, "old", 40);
    let young = stale_session(&world, "young", 20);
    look_daily(&world);
    // The lock blocks the pruner, so that the hook itself would have removed any missing file.
    let lock = world.hermetic.state_dir().join("prune.lock");
    let held = FileLock::acquire(&lock, TIMEOUT).unwrap();
    world.status(&payload("SessionStart", json!({"source": "startup"})));
    assert!(old.exists());
    drop(held);
    testkit::wait_until(TIMEOUT, "the old session's end", || {
        world.status(&payload("SessionStart", json!({"source": "startup"})));
        (!old.exists()).then_some(())
    });
    assert!(young.exists());
    assert!(world.hooks_log().is_empty(), "{:?}", world.hooks_log());
}

#[test]
fn sessions_counts_the_stopped_ones_and_shows_one_by_the_beginning_of_its_id() {
    let world = World::new();
    for number in 0..3 {
        stale_session(&world, &format!("stopped-{number}"), 1);
    }
    let table = world.turnbridge(&["sessions"]);
    assert!(table.contains("3 stopped"), "{table}");
    let shown = world.turnbridge(&["sessions", "show", "stopped-1", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["session"]["session_id"], "stopped-1", "{shown}");
}
