//! Tests that Claude speaks through the plugin's MCP server, and that the speech outlives claude.

use std::fs;
use std::process::{Command, Output};

use serde_json::json;
use testkit::ModelReply;

use crate::support::gates;
use crate::support::timeouts::wait_for;
use crate::support::world::{ApiWorld, stdout_of};

const TOOL: &str = "mcp__plugin_turnbridge_voice__speak";

/// Adds an engine that records its text and then speaks until it is ended.
fn add_engine(world: &ApiWorld) {
    let folder = world.hermetic.root().join("engines");
    fs::create_dir(&folder).expect("create a folder");
    let name = if cfg!(target_os = "macos") { "say" } else { "spd-say" };
    let script = "#!/bin/sh\n[ \"$1\" = --cancel ] && exit\n\
                  { printf '[%s] ' \"$@\"; cat; echo; echo $$; } > \"$HOME/heard.new\"\n\
                  mv \"$HOME/heard.new\" \"$HOME/heard\"\nexec sleep 60\n";
    let path = folder.join(name);
    testkit::write_program(&path, script);
}

/// Runs Claude. Returns its answer, and the engine's input. The engine speaks until then.
#[track_caller]
fn run(world: &ApiWorld, command: &mut Command) -> (String, String) {
    add_engine(world);
    let folders = std::env::var("PATH").expect("a PATH");
    command.env("PATH", format!("{}/engines:{folders}", world.hermetic.root().display()));
    let output: Output = command.output().expect("run claude");
    let answer = stdout_of(&output);
    let path = world.hermetic.home().join("heard");
    let heard = fs::read_to_string(path).unwrap_or_else(|error| {
        panic!("nothing was heard: {error}\n{:#?}", world.api.requests().last())
    });
    let (said, pid) = heard.trim_end().rsplit_once('\n').expect("two lines");
    assert!(is_alive(pid), "the speech ended with claude");
    fs::remove_file(world.hermetic.state_dir().join("speaking")).expect("cut it off");
    wait_for("the end of the engine", || match is_alive(pid) {
        true => Err(format!("{pid} lives")),
        false => Ok(()),
    });
    (answer, said.to_owned())
}

fn is_alive(pid: &str) -> bool {
    let state = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().expect("run ps");
    let state = String::from_utf8_lossy(&state.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

#[test]
fn a_summary_is_spoken_through_the_mcp_tool_and_outlives_claude() {
    let Some(claude) = gates::fast() else { return };
    let script = vec![
        ModelReply::tool(TOOL, json!({"text": "All tests pass."})),
        ModelReply::text("The tests pass."),
    ];
    let world = ApiWorld::new(claude, script);
    let mut command = world.claude();
    command.args(["-p", "run the tests"]);
    let (answer, said) = run(&world, &mut command);
    assert_eq!(answer, "The tests pass.\n");
    assert!(said.contains("All tests pass."), "{said}");
    let last = world.api.requests().pop().expect("a request").to_string();
    assert!(last.contains("Speaking."), "{last}");
    world.assert_no_problems();
}

#[test]
fn a_typed_speak_command_brings_the_model_to_the_tool() {
    let Some(claude) = gates::slow() else { return };
    let script =
        vec![ModelReply::tool(TOOL, json!({"text": "Hello there."})), ModelReply::text("Said.")];
    let world = ApiWorld::new(claude, script);
    let mut command = world.claude();
    command.args(["-p", "/turnbridge:speak Hello there."]);
    let (answer, said) = run(&world, &mut command);
    assert_eq!(answer, "Said.\n");
    assert!(said.contains("Hello there."), "{said}");
    let first = world.api.requests().remove(0).to_string();
    assert!(first.contains("What the user asked to have said: Hello there."), "{first}");
    assert!(first.contains(TOOL), "{first}");
}
