//! Tests hooks that both the plugin and settings.json register: every event counts once (X7).

use serde_json::json;

use crate::support::world::{World, lines_of, payload};

/// X7.
#[test]
fn every_event_counts_once_in_any_order_of_arrival_from_the_first_session_start_on() {
    let world = World::new();
    let kawaii = world.hermetic.root().join("kawaii.jsonl");
    let world =
        world.with("KAWAII_NOTIFY_PATH", kawaii.to_str().unwrap()).with("KAWAII_PANE_ID", "p1");
    let events = [
        payload("SessionStart", json!({"source": "startup"})),
        payload("UserPromptSubmit", json!({"prompt": "one"})),
        // Two identical notifications are two events.
        payload("UserPromptSubmit", json!({"prompt": "one"})),
        payload("Stop", json!({"last_assistant_message": "done"})),
        payload("SessionEnd", json!({"reason": "other"})),
    ];
    for (index, event) in events.iter().enumerate() {
        let mut origins = ["plugin", "settings"];
        if index % 2 == 1 {
            origins.reverse();
        }
        let program = if event["hook_event_name"] == "Stop" {
            "turnbridge-stop-gate"
        } else {
            "turnbridge-status"
        };
        for origin in origins {
            world.hook(program, &["--origin", origin], event.to_string().as_bytes());
        }
    }
    let lines = lines_of(&std::fs::read_to_string(kawaii).unwrap());
    let hooks: Vec<_> = lines.iter().map(|line| line["hook"].as_str().unwrap()).collect();
    assert_eq!(
        hooks,
        ["SessionStart", "UserPromptSubmit", "UserPromptSubmit", "Stop", "SessionEnd"]
    );
    let turns = world.hermetic.state_dir().join("turns");
    let file = std::fs::read_dir(turns).unwrap().next().unwrap().unwrap().path();
    assert_eq!(lines_of(&std::fs::read_to_string(file).unwrap()).len(), 1);
}

#[test]
fn both_at_the_same_time_still_count_once() {
    let world = World::new();
    let kawaii = world.hermetic.root().join("kawaii.jsonl");
    let world =
        world.with("KAWAII_NOTIFY_PATH", kawaii.to_str().unwrap()).with("KAWAII_PANE_ID", "p1");
    for round in 0..20 {
        let event = payload("UserPromptSubmit", json!({"prompt": format!("{round}")}));
        std::thread::scope(|scope| {
            for origin in ["plugin", "settings"] {
                let (world, event) = (&world, event.to_string());
                scope.spawn(move || {
                    world.hook("turnbridge-status", &["--origin", origin], event.as_bytes());
                });
            }
        });
    }
    assert_eq!(lines_of(&std::fs::read_to_string(kawaii).unwrap()).len(), 20);
}
