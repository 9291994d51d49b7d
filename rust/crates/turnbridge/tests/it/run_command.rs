//! Tests `turnbridge run`, which starts an agent in this terminal with the data by which Turnbridge
//! recognises it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::Value;
use testkit::{StandIn, Tmux, skipped, wait_until};
use turnbridge_core::sinks::tvine_project::project_id;

use crate::support::world::World;

const TIMEOUT: Duration = Duration::from_secs(60);

fn run(world: &World, program: Option<&Path>, arguments: &[&str]) -> Output {
    let bin = world.hermetic.root().join("bin");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = match program {
        Some(program) => {
            let mut command = Command::new(program);
            command.env_clear().envs(world.hermetic.environment());
            command.current_dir(world.hermetic.project());
            command
        }
        None => world.command("turnbridge"),
    };
    command.env("PATH", path).env("KITTY_WINDOW_ID", "4").arg("run").args(arguments);
    command.output().unwrap()
}

fn stand_in(world: &World, name: &str) -> StandIn {
    StandIn::new(&world.hermetic.root().join("bin"), name, "exit 7")
}

#[test]
fn tv_6_7_x34_claude_gets_a_session_id_unless_the_session_is_named() {
    let world = World::new();
    let claude = stand_in(&world, "claude");
    assert_eq!(run(&world, None, &["--", "claude", "fix it"]).status.code(), Some(7));
    assert_eq!(run(&world, None, &["claude", "-r", "x"]).status.code(), Some(7));
    assert_eq!(run(&world, None, &["--", "claude", "mcp", "list"]).status.code(), Some(7));
    let calls = claude.calls();
    assert_eq!(calls[0].len(), 3, "{calls:?}");
    assert_eq!((calls[0][0].as_str(), calls[0][2].as_str()), ("--session-id", "fix it"));
    assert_eq!(calls[0][1].len(), 36);
    assert_eq!(calls[1], ["-r", "x"]);
    assert_eq!(calls[2], ["mcp", "list"]);
}

#[test]
fn tv_4_8_the_plugin_around_the_executable_is_loaded_for_this_run_only() {
    let world = World::new();
    let claude = stand_in(&world, "claude");
    let plugin = world.hermetic.root().join("my plugin");
    fs::create_dir_all(plugin.join("bin")).unwrap();
    fs::create_dir_all(plugin.join(".claude-plugin")).unwrap();
    fs::write(plugin.join(".claude-plugin/plugin.json"), "{}").unwrap();
    let program = plugin.join("bin/turnbridge");
    fs::copy(env!("CARGO_BIN_EXE_turnbridge"), &program).unwrap();
    run(&world, Some(&program), &["--", "claude", "-c"]);
    let settings = world.hermetic.claude_config_dir().join("settings.json");
    assert!(!settings.exists());
    fs::write(&settings, r#"{"enabledPlugins":{"turnbridge@somewhere":true}}"#).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_turnbridge-status"), plugin.join("bin/turnbridge-status"))
        .unwrap();
    let installed = serde_json::json!({
        "version": 2, "plugins": {"turnbridge@somewhere": [{"scope": "user", "installPath": plugin}]},
    });
    let plugins = world.hermetic.claude_config_dir().join("plugins");
    fs::create_dir_all(&plugins).unwrap();
    fs::write(plugins.join("installed_plugins.json"), installed.to_string()).unwrap();
    run(&world, Some(&program), &["--", "claude", "-c"]);
    let calls = claude.calls();
    assert_eq!(calls[0], ["--plugin-dir", plugin.to_str().unwrap(), "-c"]);
    assert_eq!(calls[1], ["-c"], "Claude Code loads it by itself");
}

#[test]
fn tv_9_10_11_30_x34_claude_is_told_where_its_status_goes() {
    let world = World::new();
    let print =
        r#"printf '%s|%s|%s' "$TVINE_PROJECT_DIR" "$TVINE_SESSION_ID" "$TVINE_SOCKET_PATH""#;
    let claude = StandIn::new(&world.hermetic.root().join("bin"), "claude", print);
    fs::create_dir(world.hermetic.project().join(".git")).unwrap();
    let told = |arguments: &[&str]| String::from_utf8(run(&world, None, arguments).stdout).unwrap();
    let tvine = world.hermetic.home().join(".tvine");
    let project = world.hermetic.project();
    let project = tvine.join("projects").join(project_id(project.to_str().unwrap()));
    let expected =
        |id: &str| format!("{}|{id}|{}", project.display(), tvine.join("tvine.sock").display());
    let new = told(&["--", "claude", "fix it"]);
    assert_eq!(new, expected(&claude.calls()[0][1]));
    let id = "825c8529-ee09-4cb8-8902-dd785b12ca0a";
    assert_eq!(told(&["--", "claude", "-r", id]), expected(id));
    // Claude chooses the session; hooks report its id.
    assert_eq!(told(&["--", "claude", "-c"]), expected(""));
    assert_eq!(told(&["--", "claude", "mcp", "list"]), "||");
    let below = world.hermetic.project().join("deep");
    fs::create_dir(&below).unwrap();
    let mut command = world.command("turnbridge");
    let path = format!("{}:/bin:/usr/bin", world.hermetic.root().join("bin").display());
    command.env("PATH", path).current_dir(below).args(["run", "--", "claude", "-r", id]);
    let output = command.output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected(id));
}

#[test]
fn x34_what_a_host_application_has_set_stays() {
    let world = World::new().with("TVINE_PROJECT_DIR", "/host/p").with("TVINE_SESSION_ID", "s1");
    let print =
        r#"printf '%s|%s|%s' "$TVINE_PROJECT_DIR" "$TVINE_SESSION_ID" "$TVINE_SOCKET_PATH""#;
    StandIn::new(&world.hermetic.root().join("bin"), "claude", print);
    let output = run(&world, None, &["--", "claude", "fix it"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "/host/p|s1|");
}

fn panes(world: &World) -> Vec<Value> {
    let list: Value = serde_json::from_str(&world.turnbridge(&["pane", "list", "--json"])).unwrap();
    list["panes"].as_array().unwrap().clone()
}

#[test]
fn x34_codex_leaves_a_marker_on_the_pane() {
    if Command::new("tmux").arg("-V").output().is_err() {
        skipped("`tmux` is not installed");
        return;
    }
    let world = World::new();
    let codex = stand_in(&world, "codex");
    let start = |variables: &[(&str, &str)]| {
        let mut command = world.command("turnbridge");
        let bin = world.hermetic.root().join("bin");
        command.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
        command.envs(variables.iter().copied()).args(["run", "--", "codex", "-m", "x"]);
        let calls = codex.calls().len();
        let tmux = Tmux::start(&world.hermetic, &command);
        wait_until(TIMEOUT, "the agent", || codex.calls().get(calls).cloned())
            .into_iter()
            .zip(["-m", "x"])
            .for_each(|(given, expected)| assert_eq!(given, expected));
        drop(tmux);
    };
    start(&[("CLAUDECODE", "1")]);
    assert!(panes(&world).is_empty(), "it runs inside of another agent");
    start(&[]);
    let panes = panes(&world);
    assert!(panes[0]["pane"].as_str().unwrap().ends_with(":%0"), "{panes:?}");
    assert_eq!(panes[0]["waiting"], true);
}

#[test]
fn an_agent_without_a_terminal_takes_no_pane_over() {
    let world = World::new();
    stand_in(&world, "codex");
    assert_eq!(run(&world, None, &["--", "codex", "exec"]).status.code(), Some(7));
    assert!(panes(&world).is_empty());
}

#[test]
fn what_is_no_agent_is_not_started() {
    let world = World::new();
    let refused = |arguments: &[&str]| {
        let output = run(&world, None, arguments);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    insta::assert_snapshot!(refused(&["--", "vim", "x"]), @"
    error: `vim` is no agent
    hint: run `turnbridge run -- claude` or `… -- codex`
    ");
    assert!(refused(&["--", "env", "claude"]).contains("`env` is no agent"));
}
