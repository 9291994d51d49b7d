//! Tests that hooks accept every recorded payload without a log entry, and what they store of a
//! turn and its session.

use serde_json::{Value, json};

use crate::support::world::{World, payload, recordings};

#[test]
fn every_recorded_payload_is_taken_without_a_word() {
    let world = World::new();
    for (_, bytes) in recordings() {
        let payload: Value = serde_json::from_slice(&bytes).unwrap();
        world.status(&payload);
    }
    assert_eq!(world.hooks_log(), Vec::<Value>::new());
    assert!(world.sessions().len() > 10);
}

#[test]
fn a_turn_is_recorded_with_its_prompt_and_its_answer() {
    let world = World::new();
    let long = "a long prompt, 日本語 \"quoted\"\n".repeat(10_000);
    for (prompt, answer) in [("short", "one"), (&*long, "two\n\nlines")] {
        world.status(&payload("UserPromptSubmit", json!({"prompt": prompt, "prompt_id": "p"})));
        world.status(&payload("Stop", json!({"last_assistant_message": answer, "prompt_id": "p"})));
    }
    world.status(&payload("UserPromptSubmit", json!({"prompt": "fails"})));
    let failure = json!({"error": "rate_limit", "last_assistant_message": "API Error: 429"});
    world.status(&payload("StopFailure", failure));
    let shown: Value = serde_json::from_str(&world.turnbridge(&[
        "sessions",
        "show",
        crate::support::world::SESSION,
        "--json",
    ]))
    .unwrap();
    let turns = shown["turns"].as_array().unwrap();
    let of = |name: &str| turns.iter().map(|turn| turn[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("prompt"), [json!("short"), json!(long), json!("fails")]);
    assert_eq!(of("answer"), [json!("one"), json!("two\n\nlines"), json!("API Error: 429")]);
    assert_eq!(of("detail"), [json!("ok"), json!("ok"), json!("failed")]);
    assert_eq!(of("error"), [Value::Null, Value::Null, json!("rate_limit")]);
    // The file that every hook rewrites stays small.
    let session_file =
        std::fs::metadata(world.session_file(crate::support::world::SESSION)).unwrap();
    assert!(session_file.len() < 8_192, "{}", session_file.len());
}

#[test]
fn what_later_parts_need_is_kept() {
    let world = World::new()
        .with("TMUX", "/tmp/tmux-1000/default,1,0")
        .with("TMUX_PANE", "%7")
        .with("WT_SESSION", "w")
        .with("CLAUDE_CODE_ENTRYPOINT", "cli")
        .with("CLAUDE_PROJECT_DIR", "/home/user/project")
        .with("CLAUDE_PLUGIN_ROOT", "/opt/turnbridge")
        .with("CLAUDE_PLUGIN_DATA", "/home/user/.claude/plugins/data/turnbridge-inline");
    let facts = json!({"prompt": "go", "prompt_id": "p1", "permission_mode": "plan"});
    world.status(&payload("UserPromptSubmit", facts));
    let skill = json!({"tool_name": "Skill", "tool_input": {"skill": "cvi:speak"}, "prompt_id": "p1", "cwd": "/home/user/project/sub"});
    world.status(&payload("PostToolUse", skill));
    let file: Value = serde_json::from_slice(
        &std::fs::read(world.session_file(crate::support::world::SESSION)).unwrap(),
    )
    .unwrap();
    assert_eq!(file["permission_mode"], "plan");
    assert_eq!(file["cwd"], "/home/user/project/sub");
    let run = &file["runs"][0];
    assert_eq!(run["pid"], std::process::id(), "in exec form the caller is the agent");
    assert_eq!(run["interactive"], true);
    assert_eq!(run["project_dir"], "/home/user/project");
    assert_eq!(run["plugin_root"], "/opt/turnbridge");
    assert_eq!(run["by_plugin_dir"], true);
    let panes = json!({"TMUX": "/tmp/tmux-1000/default,1,0", "TMUX_PANE": "%7", "WT_SESSION": "w"});
    assert_eq!(run["env"], panes);
    assert_eq!(run["turn"]["prompt"], "go");
    assert_eq!(run["turn"]["prompt_id"], "p1");
    assert_eq!(run["turn"]["speaks"][0]["outcome"], "spoken");
}

#[test]
fn a_turn_without_a_prompt_of_its_own_is_not_recorded_under_the_last_one() {
    let world = World::new();
    world.status(&payload("UserPromptSubmit", json!({"prompt": "first"})));
    let stop = |answer: &str, active: bool| {
        payload("Stop", json!({"last_assistant_message": answer, "stop_hook_active": active}))
    };
    world.status(&stop("one", false));
    // Another Stop hook continued the turn; then `!ls` made it answer once more.
    world.status(&stop("one, continued", true));
    world.status(&stop("of the command", false));
    let shown = world.turnbridge(&["sessions", "show", crate::support::world::SESSION, "--json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let prompts: Vec<_> =
        shown["turns"].as_array().unwrap().iter().map(|turn| turn["prompt"].clone()).collect();
    assert_eq!(prompts, [json!("first"), json!("first"), Value::Null]);
}
