//! Tests the board's server: its address and port, its headers, the events and the data of its
//! pages, and its settings. The submodules test refused requests, replies and the sign-in.

#[cfg(target_os = "linux")]
mod process_list;
mod refusals;
mod replies;
pub mod sign_in;
pub mod site;

use std::fs;
use std::io::Write as _;

use serde_json::{Value, json};
use testkit::wait_until;

use crate::support::world::World;
use site::{BoardSite, SESSION, TIMEOUT, WITHOUT_SLACK};

#[test]
fn its_address_has_the_token_in_the_fragment_and_is_gone_with_the_daemon() {
    use std::os::unix::fs::PermissionsExt;
    let mut site = BoardSite::start();
    let file = site.world.hermetic.state_dir().join("board.json");
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let url = format!("http://127.0.0.1:{}/#{}\n", site.port, site.token);
    assert_eq!(site.world.turnbridge(&["board"]), url);
    let log = fs::read_to_string(site.world.hermetic.state_dir().join("logs/daemon.log")).unwrap();
    assert!(!log.contains(&site.token), "{log}");
    let old = site.token.clone();
    site.stop_daemon();
    assert!(!file.exists());
    let output = site.world.command("turnbridge").arg("board").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(String::from_utf8(output.stderr).unwrap(), @"
    error: no daemon runs, and the board is its page
    hint: start it with `turnbridge daemon`, then run `turnbridge board` again
    ");
    site.start_daemon();
    assert_ne!(site.token, old);
}

#[test]
fn it_moves_when_the_config_names_another_port_and_says_when_it_cannot() {
    let site = BoardSite::start();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    site.world.configure(&format!("{WITHOUT_SLACK}[board]\nport = {port}\n"));
    let log = site.world.hermetic.state_dir().join("logs/daemon.log");
    wait_until(TIMEOUT, "the complaint", || {
        let text = fs::read_to_string(&log).unwrap_or_default();
        text.contains("could not serve the board").then_some(())
    });
    let output = site.world.command("turnbridge").arg("board").output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let (error, hint) = error.split_once('\n').unwrap();
    let expected = format!("error: the daemon serves no board: port {port}: ");
    assert!(error.starts_with(&expected), "{error}");
    insta::assert_snapshot!(hint, @"hint: end the program that has the port, or choose another `[board] port` in `config.toml`; it is tried again every 30 s");
    let status = site.world.turnbridge(&["daemon", "status"]);
    assert!(status.contains(&format!("the daemon serves no board: port {port}: ")), "{status}");
    drop(taken);
    site.world.configure(&format!("# again\n{WITHOUT_SLACK}[board]\nport = {port}\n"));
    let board = wait_until(TIMEOUT, "the board", || site.board());
    assert_eq!(board["port"], port);
}

/// A browser may resolve `localhost` to either address.
#[test]
fn a_port_that_another_program_has_at_the_other_address_is_told_everywhere() {
    let Ok(other) = std::net::TcpListener::bind("[::1]:0") else {
        return testkit::skipped("this machine has no IPv6");
    };
    let port = other.local_addr().unwrap().port();
    let site = BoardSite::with(World::new(), &format!("{WITHOUT_SLACK}[board]\nport = {port}\n"));
    assert_eq!(site.port, port);
    let output = site.world.command("turnbridge").arg("board").output().unwrap();
    let without_port = |text: &[u8]| {
        String::from_utf8_lossy(text)
            .replace(&port.to_string(), "PORT")
            .replace(&site.token, "TOKEN")
    };
    insta::assert_snapshot!(without_port(&output.stdout), @"http://127.0.0.1:PORT/#TOKEN");
    insta::assert_snapshot!(without_port(&output.stderr), @"note: another program listens at [::1]:PORT; open 127.0.0.1, never `localhost`");
    assert_eq!(site.board().unwrap()["is_ipv6_taken"], true);
    let status = site.world.turnbridge(&["daemon", "status"]);
    let board = status.split_once("board:").unwrap().1;
    insta::assert_snapshot!(without_port(board.as_bytes()), @"
     another program listens at [::1]:PORT, its port
    hint: open http://127.0.0.1:PORT/ only, not `localhost`
    ");
    let log = fs::read_to_string(site.world.hermetic.state_dir().join("logs/daemon.log")).unwrap();
    assert!(log.contains("another program listens at [::1] with the board's port"), "{log}");
    // Browser storage for that name is shared with the other program.
    for host in ["localhost", "[::1]"] {
        let headers = format!("Host: {host}:{port}\r\nAuthorization: Bearer {}\r\n", site.token);
        assert_eq!(site.request("GET", "/api/sessions", &headers, "").status, 403, "{host}");
        assert_eq!(site.request("GET", "/", &headers, "").status, 403, "{host}");
    }
    assert_eq!(site.get("/api/sessions").status, 200);
}

#[test]
fn its_page_and_every_answer_forbid_what_they_do_not_need() {
    let site = BoardSite::start();
    let host = format!("Host: {}\r\n", site.host());
    for (path, kind) in [
        ("/", "text/html"),
        ("/board.js", "text/javascript"),
        ("/markdown.js", "text/javascript"),
        ("/board.css", "text/css"),
    ] {
        let page = site.request("GET", path, &host, "");
        assert_eq!(page.status, 200, "{path}");
        assert!(page.head.contains(&format!("Content-Type: {kind}; charset=utf-8")), "{path}");
        assert!(!page.body.contains(&site.token) && !page.body.is_empty(), "{path}");
        check_headers(&page.head);
    }
    check_headers(&site.get("/api/sessions").head);
    check_headers(&site.request("GET", "/api/sessions", &host, "").head);
    assert_eq!(site.get("/../Cargo.toml").status, 404);
    assert_eq!(site.get("/api/nothing").status, 404);
}

#[track_caller]
fn check_headers(head: &str) {
    for header in [
        "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; \
         connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'",
        "X-Content-Type-Options: nosniff",
        "Referrer-Policy: no-referrer",
        "Cache-Control: no-store",
        "Cross-Origin-Resource-Policy: same-origin",
    ] {
        assert!(head.lines().any(|line| line == header), "{header}\n{head}");
    }
}

#[test]
fn kt_t5_tv_25_sessions_are_told_as_hooks_change_them() {
    let site = BoardSite::start();
    let mut events = site.events();
    let snapshot = events.next("snapshot").unwrap();
    assert_eq!((&snapshot["language"], &snapshot["sessions"]), (&json!("en"), &json!([])));
    site.hook("UserPromptSubmit", json!({ "prompt": "fix it" }));
    let card = events.next("session").unwrap();
    assert_eq!((&card["state"], &card["prompt"]), (&json!("working"), &json!("fix it")));
    assert_eq!((&card["project"], &card["has_pane"]), (&json!("project"), &json!(false)));
    site.hook("PermissionRequest", json!({ "tool_name": "Bash", "tool_input": {} }));
    let card = events.next("session").unwrap();
    assert_eq!((&card["state"], &card["waiting_for"]), (&json!("waiting_user"), &json!(["Bash"])));
    site.hook("Stop", json!({ "last_assistant_message": "fixed" }));
    let states = std::iter::from_fn(|| events.next("session"));
    let last = states.into_iter().find(|card| card["state"] == "completed").unwrap();
    assert_eq!(last["detail"], "ok");
    site.hook("SessionEnd", json!({ "reason": "other" }));
    let mut states = std::iter::from_fn(|| events.next("session"));
    states.find(|card| card["state"] == "stopped").unwrap();
    // A second stream begins with the current state, and both end with the board.
    let mut second = site.events();
    let snapshot = second.next("snapshot").unwrap();
    assert_eq!(snapshot["sessions"][0]["session_id"], SESSION);
    let file = site.world.session_file(SESSION);
    fs::remove_file(file).unwrap();
    assert_eq!(second.next("gone").unwrap()["session_id"], SESSION);
    let mut site = site;
    site.stop_daemon();
    assert!(events.next("nothing").is_none() && second.next("nothing").is_none());
}

/// KT-3: nothing but its rollout tells of it.
#[test]
fn kt_t6_sessions_are_told_as_a_rollout_of_codex_grows() {
    let site = BoardSite::start();
    let mut events = site.events();
    events.next("snapshot").unwrap();
    let folder = site.world.hermetic.codex_home().join("sessions/2026/11/15");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("rollout-2026-11-15T18-22-08-{SESSION}.jsonl"));
    let write = |kind: &str, payload: Value| {
        let at = turnbridge_store::clock::now().to_string();
        let line = json!({ "timestamp": at, "type": kind, "payload": payload });
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&path).unwrap();
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    };
    let mut next_state = || {
        let card = events.next("session").unwrap();
        assert_eq!((&card["tool"], &card["session_id"]), (&json!("codex"), &json!(SESSION)));
        card["state"].as_str().unwrap().to_owned()
    };
    let cwd = site.world.hermetic.project();
    write(
        "session_meta",
        json!({ "id": SESSION, "session_id": SESSION, "cwd": cwd, "cli_version": "0.169.0",
            "source": "cli", "thread_source": "user" }),
    );
    write("event_msg", json!({ "type": "task_started", "turn_id": "t" }));
    write("event_msg", json!({ "type": "user_message", "message": "fix it" }));
    while next_state() != "working" {}
    let question = json!({ "type": "function_call", "name": "request_user_input", "call_id": "q" });
    write("response_item", question);
    while next_state() != "waiting_user" {}
}

#[test]
fn a_thread_has_its_turns_a_page_at_a_time() {
    let site = BoardSite::start();
    for number in 1..=5 {
        site.turn(&format!("prompt {number}"));
    }
    site.hook("UserPromptSubmit", json!({ "prompt": "prompt 6" }));
    let prompts = |page: &Value| -> Vec<String> {
        let turns = page["turns"].as_array().unwrap().iter();
        turns.map(|turn| turn["prompt"].as_str().unwrap().to_owned()).collect()
    };
    let page = |query: &str| site.get(&format!("/api/sessions/claude/{SESSION}{query}")).json();
    let newest = page("?limit=2");
    assert_eq!(prompts(&newest), ["prompt 4", "prompt 5"]);
    assert_eq!((&newest["first"], &newest["total"]), (&json!(3), &json!(5)));
    assert_eq!(newest["open_turn"]["prompt"], "prompt 6");
    assert_eq!(newest["turns"][1]["answer"], "done: prompt 5");
    let older = page("?before=3&limit=2");
    assert_eq!(prompts(&older), ["prompt 2", "prompt 3"]);
    assert_eq!(prompts(&page("?before=1&limit=99999999999999999999")), ["prompt 1"]);
    assert_eq!(prompts(&page("")).len(), 5);
    for wrong in ["claude/../x", "claude/..", "rm/x", &format!("codex/{SESSION}"), "claude"] {
        let answer = site.get(&format!("/api/sessions/{wrong}"));
        assert_eq!(answer.status, 404, "{wrong}");
    }
}

/// Claude Code writes it when a background task has ended.
#[test]
fn a_note_of_claude_to_itself_is_shown_by_its_summary() {
    let site = BoardSite::start();
    let note = |what: &str| {
        format!(
            "<task-notification>\n<task-id>a</task-id>\n<summary>{what}</summary>\n</task-notification>"
        )
    };
    let mut events = site.events();
    events.next("snapshot").unwrap();
    site.turn(&note("Agent \"a\" finished"));
    site.hook("UserPromptSubmit", json!({ "prompt": note("Agent \"b\" finished") }));
    let mut cards = std::iter::from_fn(|| events.next("session"));
    cards.find(|card| card["prompt"] == "Agent \"b\" finished").unwrap();
    let page = site.get(&format!("/api/sessions/claude/{SESSION}")).json();
    assert_eq!(page["turns"][0]["prompt"], "Agent \"a\" finished", "{page:#}");
    assert_eq!(page["open_turn"]["prompt"], "Agent \"b\" finished", "{page:#}");
}

#[test]
fn the_settings_say_who_else_uses_the_slack_app() {
    let site = BoardSite::start();
    assert_eq!(site.get("/api/settings").json()["replies"], Value::Null);
    let path = site.world.hermetic.state_dir().join("daemon.json");
    let mut status: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    status["replies"] = json!({
        "machines": [{"name": "desk", "is_this": true}, {"name": "laptop", "is_this": false}],
        "listeners": 2, "too_many_listeners": false, "asks_every_seconds": 3, "unjudged": 0,
    });
    fs::write(&path, status.to_string()).unwrap();
    assert_eq!(site.get("/api/settings").json()["replies"], status["replies"]);
}

#[test]
fn the_settings_say_what_is_wrong_with_the_config() {
    let site = BoardSite::start();
    let problem = || site.get("/api/settings").json()["config_problem"].clone();
    assert_eq!(problem(), Value::Null);
    site.world.configure("language = \"en\"\n[board]\nport = one\n");
    let told = wait_until(TIMEOUT, "the problem", || Some(problem()).filter(|it| !it.is_null()));
    let text = site.world.turnbridge(&["daemon", "status", "--json"]);
    let status: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(told, status["daemon"]["config_problem"]);
    let error = told["error"].as_str().unwrap();
    assert!(error.contains("line 3"), "{error}");
    assert_eq!(told["is_older_in_force"], true);
    site.world.configure(WITHOUT_SLACK);
    wait_until(TIMEOUT, "its end", || problem().is_null().then_some(()));
}

/// KT-83, KT-84.
#[test]
fn the_hooks_in_claudes_settings_are_switched_and_a_failure_has_its_hint() {
    let site = BoardSite::start();
    let path = site.world.hermetic.claude_config_dir().join("settings.json");
    let before = "{\n  \"model\": \"opus\"\n}\n";
    fs::write(&path, before).unwrap();
    let settings = site.get("/api/settings").json();
    assert_eq!(settings["claude_hooks"]["registered"], "no", "{settings:#}");
    let switch =
        |on: bool| site.post("/api/settings/claude-hooks", &json!({ "enabled": on })).json();
    // The second is "apply now".
    for _ in 0..2 {
        let answer = switch(true);
        assert_eq!(answer["ok"], true, "{answer:#}");
        assert_eq!(answer["claude_hooks"]["registered"], "yes", "{answer:#}");
        assert!(fs::read_to_string(&path).unwrap().contains("turnbridge-status"));
    }
    let answer = switch(false);
    assert_eq!(
        (&answer["ok"], &answer["claude_hooks"]["registered"]),
        (&json!(true), &json!("no"))
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
    fs::write(&path, "{ // mine\n}").unwrap();
    let answer = switch(true);
    assert_eq!(answer["ok"], false, "{answer:#}");
    let error = answer["error"].as_str().unwrap();
    assert!(error.contains("settings.json") && answer["hint"].is_string(), "{answer:#}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "{ // mine\n}");
    let wrong = site.post("/api/settings/claude-hooks", &json!({ "enabled": "yes" }));
    assert_eq!(wrong.status, 422);
}

#[test]
fn the_language_is_the_configs() {
    let site = BoardSite::with(World::new(), "language = \"ja\"\n[gate]\nenabled = false\n");
    assert_eq!(site.get("/api/sessions").json()["language"], "ja");
    site.world.configure("language = \"en\"\n[gate]\nenabled = false\n");
    wait_until(TIMEOUT, "the other language", || {
        (site.get("/api/sessions").json()["language"] == "en").then_some(())
    });
}
