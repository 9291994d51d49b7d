//! Tests `turnbridge sessions`: the table for users, the JSON and the templates for programs.

use serde_json::{Value, json};

use crate::support::world::{SESSION, World, payload};

/// Creates three sessions with the ages of their names, at a fixed time.
fn three_sessions() -> World {
    let world = World::new().with("COLUMNS", "80");
    let call = |world: &World, id: &str, seconds_ago: i64, event: &str, more: Value| {
        let mut payload = payload(event, more);
        payload["session_id"] = json!(id);
        payload["cwd"] = json!(format!("/home/user/{id}"));
        let mut command = world.command("turnbridge-status");
        let at = 1_800_000_000 - seconds_ago;
        command.env("TURNBRIDGE_NOW", format!("{at}000000"));
        let output = crate::support::world::feed(command, payload.to_string().as_bytes());
        crate::support::world::assert_silent_success(&output);
    };
    call(
        &world,
        "beta",
        300,
        "UserPromptSubmit",
        json!({"prompt": "Fix the\n  failing tests, all of them, in every crate of the workspace"}),
    );
    call(&world, "beta", 200, "PermissionRequest", json!({"tool_name": "Bash"}));
    call(
        &world,
        "alpha",
        7_200,
        "UserPromptSubmit",
        json!({"prompt": "日本語の長いプロンプトを一行に収める必要があります。とても長いです。"}),
    );
    call(&world, "gamma", 20, "UserPromptSubmit", json!({"prompt": "hi"}));
    call(&world, "gamma", 10, "StopFailure", json!({"error": "rate_limit"}));
    call(&world, "old", 90_000, "SessionEnd", json!({"reason": "other"}));
    world.with("TURNBRIDGE_NOW", "1800000000000000")
}

/// TV-1.
#[test]
fn the_table_shows_live_sessions_oldest_change_first() {
    let world = three_sessions();
    insta::assert_snapshot!(world.turnbridge(&["sessions"]), @"
      TOOL    PROJECT  STATE                   PROMPT
    * claude  alpha    working 2h              日本語の長いプロンプトを一行に収める…
    ! claude  beta     waiting (Bash) 3m       Fix the failing tests, all of them, …
    - claude  gamma    failed: rate_limit 10s  hi
    ");
    insta::assert_snapshot!(world.turnbridge(&["sessions", "--all"]), @"
      TOOL    PROJECT  STATE                   PROMPT
      claude  old      stopped 1d
    * claude  alpha    working 2h              日本語の長いプロンプトを一行に収める…
    ! claude  beta     waiting (Bash) 3m       Fix the failing tests, all of them, …
    - claude  gamma    failed: rate_limit 10s  hi
    ");
}

#[test]
fn a_narrow_terminal_gets_narrow_lines() {
    let world = three_sessions().with("COLUMNS", "40");
    insta::assert_snapshot!(world.turnbridge(&["sessions"]), @"
      TOOL    PROJECT  STATE
    * claude  alpha    working 2h
    ! claude  beta     waiting (Bash) 3m
    - claude  gamma    failed: rate_limit 1…
    ");
}

#[test]
fn no_session_at_all_is_said_plainly() {
    let world = World::new();
    assert_eq!(world.turnbridge(&["sessions"]), "no live sessions\n");
    assert_eq!(world.turnbridge(&["sessions", "--json"]), "{\"version\":1,\"sessions\":[]}\n");
    world.status(&payload("SessionEnd", json!({"reason": "other"})));
    insta::assert_snapshot!(world.turnbridge(&["sessions"]), @"no live sessions; 1 stopped (`turnbridge sessions --all`)");
}

#[test]
fn the_json_keeps_to_its_schema() {
    // The query checks the schema.
    let sessions = three_sessions().sessions();
    let ids: Vec<_> = sessions.iter().map(|session| session["session_id"].clone()).collect();
    assert_eq!(ids, ["old", "alpha", "beta", "gamma"]);
    let updated: Vec<_> = sessions.iter().map(|session| session["updated_at"].as_str()).collect();
    assert!(updated.is_sorted());
    let world = World::new();
    for (_, bytes) in crate::support::world::recordings() {
        world.status(&serde_json::from_slice(&bytes).unwrap());
    }
    let sessions = world.sessions();
    for session in &sessions {
        let id = session["session_id"].as_str().unwrap();
        world.turnbridge(&["sessions", "show", id, "--json"]);
    }
    assert!(!sessions.is_empty());
}

#[test]
fn one_session_is_shown_by_the_beginning_of_its_id() {
    let world = three_sessions();
    world.status(&payload("UserPromptSubmit", json!({"prompt": "x"})));
    assert!(world.turnbridge(&["sessions", "show", &SESSION[..8]]).contains(SESSION));
    let error = |id: &str| {
        let output = world.command("turnbridge").args(["sessions", "show", id]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    insta::assert_snapshot!(error("zzz"), @"
    error: there is no session `zzz`
    hint: run `turnbridge sessions --all --json` to see every id
    ");
    let ambiguous = World::new();
    for id in ["aa1", "aa2"] {
        let mut start = payload("SessionStart", json!({"source": "startup"}));
        start["session_id"] = json!(id);
        ambiguous.status(&start);
    }
    let output = ambiguous.command("turnbridge").args(["sessions", "show", "aa"]).output().unwrap();
    insta::assert_snapshot!(String::from_utf8(output.stderr).unwrap(), @"
    error: `aa` is the beginning of 2 sessions
    hint: give more of the id: aa1, aa2
    ");
}

#[test]
fn a_session_whose_process_was_killed_is_stopped_without_anybody_writing_it() {
    let world = World::new();
    world.status(&payload("UserPromptSubmit", json!({"prompt": "x"})));
    assert_eq!(world.sessions()[0]["state"], "working");
    // The hook's caller counts as the agent; give the run a process that never existed.
    let path = world.session_file(SESSION);
    let text = std::fs::read_to_string(&path).unwrap();
    let pid = format!("\"pid\":{}", std::process::id());
    std::fs::write(&path, text.replace(&pid, "\"pid\":4194304000")).unwrap();
    let before = std::fs::read(&path).unwrap();
    assert_eq!(world.sessions()[0]["state"], "stopped");
    assert_eq!(world.turnbridge(&["sessions", "--json"]), "{\"version\":1,\"sessions\":[]}\n");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn completion_scripts_are_printed() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(world.turnbridge(&["completions", shell]).contains("sessions"), "{shell}");
    }
}

/// Creates a session in the middle of a turn. Returns also the path where Claude would note its
/// process.
fn working_session() -> (World, std::path::PathBuf, Value) {
    let world = World::new();
    let transcript = world.hermetic.root().join("transcript.jsonl");
    let prompt = json!({"prompt": "x", "transcript_path": transcript});
    world.status(&payload("UserPromptSubmit", prompt));
    let file: Value =
        serde_json::from_slice(&std::fs::read(world.session_file(SESSION)).unwrap()).unwrap();
    let run = &file["runs"][0];
    let note = json!({
        "pid": run["pid"],
        "sessionId": SESSION,
        "procStart": run["start"].to_string(),
        "status": "idle",
        "statusUpdatedAt": 4_000_000_000_000_i64,
    });
    (world.with("TURNBRIDGE_NOW", "4000000001000000"), transcript, note)
}

#[test]
fn esc_is_read_from_claudes_own_note_of_the_process_x31() {
    let (world, _, note) = working_session();
    let folder = world.hermetic.claude_config_dir().join("sessions");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{}.json", note["pid"]));
    let state = |note: &Value| {
        std::fs::write(&path, note.to_string()).unwrap();
        let session = &world.sessions()[0];
        (session["state"].clone(), session["detail"].clone())
    };
    assert_eq!(state(&json!({})), (json!("working"), Value::Null));
    let mut other = note.clone();
    other["procStart"] = json!("1");
    assert_eq!(state(&other), (json!("working"), Value::Null), "another process had that pid");
    assert_eq!(state(&note), (json!("completed"), json!("interrupted")));
}

#[test]
fn esc_is_read_from_the_transcript_when_there_is_no_note_x31() {
    let (world, transcript, _) = working_session();
    let record = |at: &str| {
        json!({
            "type": "user",
            "timestamp": at,
            "message": {"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user]"}]},
        })
    };
    std::fs::write(&transcript, format!("{}\n", record("2020-01-01T00:00:00.000Z"))).unwrap();
    assert_eq!(world.sessions()[0]["state"], "working", "from an earlier turn");
    let filler = "{\"type\":\"attachment\"}\n".repeat(10_000);
    std::fs::write(&transcript, format!("{filler}{}\n", record("2096-01-01T00:00:00.000Z")))
        .unwrap();
    assert_eq!(world.sessions()[0]["detail"], "interrupted");
}

#[test]
fn a_status_line_is_made_by_a_template() {
    let world = three_sessions();
    let line = |template: &str| world.turnbridge(&["sessions", "--format", template]);
    insta::assert_snapshot!(line("{dot} {working} at work, {waiting} waiting, {completed} done of {total}"), @"! 1 at work, 1 waiting, 1 done of 3");
    insta::assert_snapshot!(world.turnbridge(&["sessions", "--all", "--format", "{total}"]), @"4");
    insta::assert_snapshot!(world.turnbridge(&["sessions", "--format-each", "{dot} {tool} {project} {state} {age} {session_id} {prompt}"]), @"
    * claude alpha working 2h alpha 日本語の長いプロンプトを一行に収める必要があります。とても長いです。
    ! claude beta waiting (Bash) 3m beta Fix the failing tests, all of them, in every crate of the workspace
    - claude gamma failed: rate_limit 10s gamma hi
    ");
    assert_eq!(World::new().turnbridge(&["sessions", "--format", "{dot}{working}"]), "0\n");
    assert_eq!(World::new().turnbridge(&["sessions", "--format-each", "{tool}"]), "");
}

#[test]
fn a_name_that_a_template_does_not_know_is_refused_with_those_it_does() {
    let world = World::new();
    let error = |arguments: &[&str]| {
        let output = world.command("turnbridge").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    insta::assert_snapshot!(error(&["sessions", "--format", "{project}"]), @"
    error: there is no `{project}` here
    hint: there are {dot} {working} {waiting} {completed} {total}
    ");
    insta::assert_snapshot!(error(&["sessions", "--format-each", "{total}"]), @"
    error: there is no `{total}` here
    hint: there are {dot} {tool} {project} {state} {age} {session_id} {prompt}
    ");
}
