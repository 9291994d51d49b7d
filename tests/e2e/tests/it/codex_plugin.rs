//! Tests this repository as Codex's plugin: its own hooks run, Claude's do not. Also tests that
//! doctor reports whether Codex runs them.

use serde_json::{Value, json};
use testkit::{Codex, Hermetic, ModelReply};

use crate::codex_exec::{long_tool, signal, start_long_tool, with_sub_agent};
use crate::interactive::hosts_are_told;
use crate::support::agent_home::{SessionSelection, executable, stdout_of};
use crate::support::codex_world::{CODE_MODEL, CodexWorld, run, thread_told};
use crate::support::gates;
use crate::support::hosts::{INSTANCE, PANE, TVINE_SESSION, pairs};
use crate::support::terminal::state_of;

#[test]
fn a_turn_of_codex_exec_is_told_to_everyone_by_the_plugin_s_hooks() {
    let Some(codex) = gates::fast() else { return };
    check_turn(codex, Hermetic::new());
}

/// Codex installs the plugin below its home and runs the hooks by a shell.
#[test]
fn the_plugin_s_hooks_run_below_a_codex_home_with_a_space_a_quote_and_a_dollar() {
    let Some(codex) = gates::fast() else { return };
    check_turn(codex, Hermetic::with_codex_folder("my co'dex $HOME"));
}

#[track_caller]
fn check_turn(codex: Codex, hermetic: Hermetic) {
    let script = vec![
        ModelReply::tool("exec_command", json!({"cmd": "echo one"})),
        ModelReply::text("One was said."),
    ];
    let world = CodexWorld::with_plugin_in(hermetic, codex, script);
    let settings = world.codex_config();
    let output = run(&mut world.exec("say one"));
    stdout_of(&output);
    let thread = thread_told(&output);

    hosts_are_told(&world, "Idle SessionEnd", "stopped SessionEnd");
    let lines = world.kawaii.lines();
    assert_eq!(
        pairs(&lines, "event", "hook"),
        [
            "completed SessionStart",
            "working UserPromptSubmit",
            "completed Stop",
            "stopped SessionEnd"
        ]
    );
    let messages = world.tvine.messages();
    assert_eq!(
        pairs(&messages, "status", "event"),
        [
            "Idle SessionStart",
            "Busy UserPromptSubmit",
            "Busy PreToolUse",
            "Busy PostToolUse",
            "Idle Stop",
            "Idle SessionEnd",
        ]
    );
    assert_eq!(messages.last(), Some(&world.tvine.status()));
    for line in &lines {
        assert_eq!(line["source"], "codex");
        assert_eq!(line["session_id"], thread);
        assert_eq!(line["pane_id"], PANE);
        assert_eq!(line["instance_id"], INSTANCE);
    }
    for message in &messages {
        assert_eq!(message["session_id"], TVINE_SESSION);
        assert_eq!(message["agent_session_id"], thread);
    }

    assert_eq!(world.sessions(SessionSelection::Live), Vec::<Value>::new());
    let session = world.only_session(SessionSelection::All);
    assert_eq!(session["session_id"], thread);
    assert_eq!(session["tool"], "codex");
    assert_eq!(session["state"], "stopped");
    assert_eq!(session["cwd"], json!(world.hermetic.project()));
    let turn = world.only_turn(&session);
    assert_eq!(turn["prompt"], "say one");
    assert_eq!(turn["answer"], "One was said.");
    assert_eq!(turn["detail"], "ok");
    assert_eq!(world.state(&thread)["state"], "completed");

    let run = world.only_run(&session);
    assert_eq!(run["origin"], "plugin");
    let root = run["plugin_root"].as_str().expect("the plugin's root");
    let cache = world.hermetic.codex_home().join("plugins/cache/turnbridge/turnbridge");
    assert!(root.starts_with(cache.to_str().expect("UTF-8")), "{root}");
    // Claude's hooks.json would have called the gate, which is on in this test.
    assert_eq!(world.decisions(), Vec::<String>::new());
    assert_eq!(world.api.requests().len(), 2, "the turn was continued");
    assert_eq!(world.codex_config(), settings, "config.toml has changed");
    world.assert_no_problems();
}

#[test]
fn an_interrupted_codex_exec_is_told_as_such_and_its_thread_comes_back_when_it_is_resumed() {
    let Some(codex) = gates::slow() else { return };
    let world = CodexWorld::with_plugin(codex, vec![long_tool(), ModelReply::text("Here again.")]);
    let mut process = start_long_tool(&world);
    assert_eq!(state_of(&world.only_session(SessionSelection::Live)), "working");
    signal(&process, "-INT");
    process.wait().expect("wait for codex");
    assert_eq!(state_of(&world.only_session(SessionSelection::All)), "stopped");
    let thread = world.only_thread();
    stdout_of(&run(&mut world.exec_with(&["resume", &thread, "go on"])));
    assert_eq!(
        pairs(&world.kawaii.lines(), "event", "hook"),
        [
            "completed SessionStart",
            "working UserPromptSubmit",
            "completed Interrupt",
            "stopped SessionEnd",
            "completed SessionStart",
            "working UserPromptSubmit",
            "completed Stop",
            "stopped SessionEnd",
        ]
    );
    let session = world.only_session(SessionSelection::All);
    assert_eq!(session["session_id"], thread);
    // An interrupted turn has no answer, so it has no record.
    let turn = world.only_turn(&session);
    assert_eq!((&turn["prompt"], &turn["answer"]), (&json!("go on"), &json!("Here again.")));
    world.assert_no_problems();
}

/// A killed Codex writes nothing; its thread can still be resumed.
#[test]
fn a_killed_codex_exec_comes_back_when_its_thread_is_resumed() {
    let Some(codex) = gates::slow() else { return };
    let world = CodexWorld::with_plugin(codex, vec![long_tool(), ModelReply::text("Here again.")]);
    let mut process = start_long_tool(&world);
    signal(&process, "-KILL");
    process.wait().expect("wait for codex");
    let thread = world.only_thread();
    stdout_of(&run(&mut world.exec_with(&["resume", &thread, "go on"])));
    let session = world.only_session(SessionSelection::All);
    assert_eq!(session["session_id"], thread);
    assert_eq!(state_of(&session), "stopped");
    let turn = world.only_turn(&session);
    assert_eq!((&turn["prompt"], &turn["answer"]), (&json!("go on"), &json!("Here again.")));
    world.assert_no_problems();
}

#[test]
fn a_sub_agent_of_codex_is_no_session_and_ends_no_turn() {
    let Some(codex) = gates::slow() else { return };
    let world = CodexWorld::with_plugin(codex, with_sub_agent());
    let output = run(world.exec("have them counted").args(CODE_MODEL));
    stdout_of(&output);
    assert_eq!(world.rollouts().len(), 2);
    let session = world.only_session(SessionSelection::All);
    assert_eq!(session["session_id"], thread_told(&output));
    hosts_are_told(&world, "Idle SessionEnd", "stopped SessionEnd");
    let messages = pairs(&world.tvine.messages(), "status", "event");
    assert!(messages.contains(&"Busy SubagentStop".to_owned()), "{messages:?}");
    assert_eq!(
        pairs(&world.kawaii.lines(), "event", "hook"),
        [
            "completed SessionStart",
            "working UserPromptSubmit",
            "completed Stop",
            "stopped SessionEnd"
        ]
    );
    let turn = world.only_turn(&session);
    let told = (&turn["prompt"], &turn["answer"]);
    assert_eq!(told, (&json!("have them counted"), &json!("They were counted.")));
    world.assert_no_problems();
}

/// The config contains a hash for each hook, and Codex detects that the hashes are wrong.
#[test]
fn doctor_says_by_codex_s_own_word_whether_it_runs_our_hooks() {
    let Some(codex) = gates::fast() else { return };
    let world = CodexWorld::with_plugin(codex, Vec::new());
    world.configure(&format!("[resume]\ncodex = '{}'\n", world.codex.program().display()));
    let path = world.hermetic.codex_home().join("config.toml");
    let config = std::fs::read_to_string(&path).expect("read Codex's config.toml");
    // The other tests do this by an option.
    let config = config.replace("plugins = false", "plugins = true");
    std::fs::write(&path, &config).expect("write Codex's config.toml");
    let earlier = world.api.strays();
    let found = || {
        let mut command = world.hermetic.command(executable("turnbridge"));
        let agent = world.codex.command(&world.hermetic, &world.api);
        command.envs(agent.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = command.args(["doctor", "--offline", "--json"]).output().expect("run doctor");
        let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
        let findings = report["findings"].as_array().expect("findings").clone();
        let of_plugin =
            |finding: &&Value| finding["what"].to_string().contains("hooks of the plugin");
        findings.iter().find(of_plugin).map(|finding| finding["what"].clone()).unwrap_or(report)
    };
    let name = "turnbridge@turnbridge";
    assert_eq!(found(), format!("12 of the 12 hooks of the plugin `{name}` are not trusted"));
    let hooks: Value =
        serde_json::from_str(include_str!("../../../../hooks/codex.json")).expect("our hooks");
    let mut trusted = config;
    for (event, groups) in hooks["hooks"].as_object().expect("events") {
        let event = event.chars().fold(String::new(), |name, c| {
            let gap = if c.is_uppercase() && !name.is_empty() { "_" } else { "" };
            format!("{name}{gap}{}", c.to_ascii_lowercase())
        });
        for group in 0..groups.as_array().map_or(0, Vec::len) {
            let key = format!("{name}:hooks/codex.json:{event}:{group}:0");
            trusted += &format!("[hooks.state.'{key}']\ntrusted_hash = 'sha256:0'\n");
        }
    }
    std::fs::write(&path, trusted).expect("write Codex's config.toml");
    let changed =
        "0 are not trusted, 12 were changed since you trusted them, and 0 are switched off";
    assert_eq!(found(), format!("of the 12 hooks of the plugin `{name}` {changed}"));
    assert_eq!(world.api.strays(), earlier, "Codex's server has looked for news");
}
