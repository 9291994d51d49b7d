//! Tests the Stop gate as Claude calls it: its exit codes, its texts, and the order of the settings
//! that decide.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use serde_json::{Value, json};

use crate::support::world::{SESSION, World, assert_silent_success, feed, payload};

const ON: &str = r#"{"sandbox":{"enabled":true}}"#;
/// The text that Claude Code shows to the user, who sees no stderr of a hook that exits 0.
const SHOWN_NOTE: &str = "{\"systemMessage\":\"ℹ️  CVI is disabled in sandbox mode\"}\n";
const OFF: &str = r#"{"sandbox":{"enabled":false}}"#;
const PROMPT: &str = "prompt-1";

/// A turn in the world's own project, with calls like the plugin's.
struct GateTurn<'world> {
    world: &'world World,
    prompt_id: &'static str,
}

impl<'world> GateTurn<'world> {
    /// Begins a turn with the user's prompt.
    fn begin(world: &'world World) -> GateTurn<'world> {
        GateTurn::begin_with(world, PROMPT, "fix it")
    }

    fn begin_with(world: &'world World, prompt_id: &'static str, prompt: &str) -> GateTurn<'world> {
        let turn = GateTurn { world, prompt_id };
        assert_silent_success(&turn.event("UserPromptSubmit", json!({"prompt": prompt})));
        turn
    }

    fn event(&self, name: &str, more: Value) -> Output {
        let mut payload = payload(name, more);
        payload["cwd"] = json!(self.world.hermetic.project());
        payload["prompt_id"] = json!(self.prompt_id);
        let program = if name == "Stop" { "turnbridge-stop-gate" } else { "turnbridge-status" };
        let mut command = self.world.command(program);
        command.args(["--origin", "plugin"]);
        feed(command, payload.to_string().as_bytes())
    }

    fn stop(&self) -> Output {
        self.event(
            "Stop",
            json!({"stop_hook_active": false, "last_assistant_message": "All done."}),
        )
    }

    fn stop_again(&self) -> Output {
        let more = json!({"stop_hook_active": true, "last_assistant_message": "I have spoken."});
        self.event("Stop", more)
    }

    fn tool(&self, event: &str, tool: &str, input: Value, more: Value) {
        let mut fields = json!({"tool_name": tool, "tool_input": input, "tool_use_id": "t1"});
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert_silent_success(&self.event(event, fields));
    }
}

/// Sends one Stop of a turn without speech.
fn stop_of(world: &World) -> Output {
    GateTurn::begin(world).stop()
}

#[track_caller]
fn assert_blocked(output: &Output) {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    let reason = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = reason.lines().collect();
    assert_eq!(lines[0], "CVI check failed: /cvi:speak not called", "{reason}");
    assert_eq!(lines.len(), 2, "{reason}");
}

#[track_caller]
fn assert_skipped_for_sandbox(world: &World, output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.is_empty() || shown == SHOWN_NOTE, "{output:?}");
    let note = String::from_utf8_lossy(&output.stderr);
    assert_eq!(note, "ℹ️  CVI is disabled in sandbox mode\n");
    let decisions = world.decisions();
    assert_eq!(decisions.last().unwrap()["message"], "Sandbox enabled, skipping CVI check");
}

impl World {
    fn user_settings(&self, name: &str) -> PathBuf {
        self.hermetic.claude_config_dir().join(name)
    }

    fn project_settings(&self, name: &str) -> PathBuf {
        let folder = self.hermetic.project().join(".claude");
        fs::create_dir_all(&folder).unwrap();
        folder.join(name)
    }

    fn write_cvi_config(&self, text: &str) {
        let folder = self.hermetic.home().join(".cvi");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config"), text).unwrap();
    }
}

/// CVI-2, CVI-3, CVI-4 (no other setting), CVI-7, CVI-19.
#[test]
fn cvi_t1_with_the_sandbox_on_in_the_local_file_the_check_is_skipped() {
    let world = World::with_gate();
    fs::write(world.user_settings("settings.local.json"), ON).unwrap();
    assert_skipped_for_sandbox(&world, &stop_of(&world));
    let decision = &world.decisions()[0];
    assert_eq!(decision["rule"], "sandbox");
    assert_eq!(decision["because"], json!(world.user_settings("settings.local.json")));
    assert!(decision["micros"].is_u64(), "{decision}");
    assert_eq!(world.sessions()[0]["state"], "completed");
}

#[test]
fn x42_cvi_20_the_person_is_shown_the_note_once_in_a_session() {
    let world = World::with_gate().with("CLAUDE_CODE_ENTRYPOINT", "cli");
    fs::write(world.user_settings("settings.local.json"), ON).unwrap();
    let shown = |output: Output| {
        assert_skipped_for_sandbox(&world, &output);
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(shown(stop_of(&world)), SHOWN_NOTE);
    assert_eq!(shown(stop_of(&world)), "");
    let mut other = payload("Stop", json!({"last_assistant_message": "x"}));
    other["session_id"] = json!("01a1e18e-2062-79f1-b187-979e8f997b9c");
    let mut command = world.command("turnbridge-stop-gate");
    command.args(["--origin", "plugin"]);
    assert_eq!(shown(feed(command, other.to_string().as_bytes())), SHOWN_NOTE);
}

#[test]
fn x42_a_program_that_runs_claude_is_shown_no_note() {
    let world = World::with_gate().with("CLAUDE_CODE_ENTRYPOINT", "sdk-cli");
    fs::write(world.user_settings("settings.local.json"), ON).unwrap();
    let output = stop_of(&world);
    assert_skipped_for_sandbox(&world, &output);
    assert!(output.stdout.is_empty(), "{output:?}");
}

/// CVI-25.
#[test]
fn cvi_t2_with_the_sandbox_off_in_the_local_file_the_turn_may_not_end_unspoken() {
    let world = World::with_gate();
    fs::write(world.user_settings("settings.local.json"), OFF).unwrap();
    assert_blocked(&stop_of(&world));
    assert_eq!(world.decisions()[0]["rule"], "not_spoken");
}

#[test]
fn cvi_t3_without_the_local_file_the_global_one_decides() {
    let world = World::with_gate();
    fs::write(world.user_settings("settings.json"), ON).unwrap();
    assert_skipped_for_sandbox(&world, &stop_of(&world));
    fs::write(world.user_settings("settings.json"), OFF).unwrap();
    assert_blocked(&stop_of(&world));
}

/// CVI-14: there is no `jq` either.
#[test]
fn cvi_t4_cvi_26_with_no_settings_and_nothing_on_the_path_the_check_runs() {
    let world = World::with_gate().with("PATH", "/nonexistent");
    assert_blocked(&stop_of(&world));
}

/// X18.
#[test]
fn cvi_8_local_false_beats_global_true() {
    let world = World::with_gate();
    fs::write(world.user_settings("settings.local.json"), OFF).unwrap();
    fs::write(world.user_settings("settings.json"), ON).unwrap();
    assert_blocked(&stop_of(&world));
}

/// CVI-24.
#[test]
fn cvi_9_cvi_10_cvi_23_a_file_that_says_nothing_is_passed_over() {
    for silent in
        ["", "{", "{// on\n\"sandbox\":{\"enabled\":true}}", r#"{"sandbox":{"enabled":"yes"}}"#]
    {
        let world = World::with_gate();
        fs::write(world.user_settings("settings.local.json"), silent).unwrap();
        fs::write(world.user_settings("settings.json"), ON).unwrap();
        assert_skipped_for_sandbox(&world, &stop_of(&world));
        fs::write(world.user_settings("settings.json"), silent).unwrap();
        assert_blocked(&stop_of(&world));
    }
}

#[test]
fn the_project_is_asked_before_the_user_and_its_local_file_first() {
    let world = World::with_gate();
    fs::write(world.user_settings("settings.local.json"), ON).unwrap();
    fs::write(world.project_settings("settings.json"), OFF).unwrap();
    assert_blocked(&stop_of(&world));
    fs::write(world.project_settings("settings.local.json"), ON).unwrap();
    assert_skipped_for_sandbox(&world, &stop_of(&world));
    // `cwd` follows every `cd` of the agent; the project is the folder of its start.
    let elsewhere = world.hermetic.root().to_str().unwrap().to_owned();
    let world = world.with("CLAUDE_PROJECT_DIR", &elsewhere);
    fs::remove_file(world.user_settings("settings.local.json")).unwrap();
    assert_blocked(&stop_of(&world));
}

#[test]
fn a_settings_folder_of_its_own_is_honoured() {
    let world = World::with_gate();
    let folder = world.hermetic.root().join("other-claude");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("settings.json"), ON).unwrap();
    fs::write(world.user_settings("settings.json"), OFF).unwrap();
    let world = world.with("CLAUDE_CONFIG_DIR", folder.to_str().unwrap());
    assert_skipped_for_sandbox(&world, &stop_of(&world));
}

/// The test uses its own file system, because `/etc` is shared.
#[cfg(target_os = "linux")]
#[test]
fn what_the_administrator_has_set_outweighs_all_other_files() {
    let world = World::with_gate();
    fs::write(world.user_settings("settings.local.json"), OFF).unwrap();
    let etc = world.hermetic.root().join("etc");
    fs::create_dir_all(etc.join("claude-code")).unwrap();
    fs::write(etc.join("claude-code/managed-settings.json"), ON).unwrap();
    let script = "mount --bind \"$1\" /etc && exec \"$2\" --origin plugin";
    let mut command = world.hermetic.command("unshare");
    command.args(["--mount", "sh", "-c", script, "sh"]).arg(&etc);
    command.arg(env!("CARGO_BIN_EXE_turnbridge-stop-gate"));
    let possible = std::process::Command::new("unshare")
        .args(["--mount", "sh", "-c", "mount --bind /tmp /etc"])
        .output();
    if !possible.is_ok_and(|output| output.status.success()) {
        return testkit::skipped("only root can mount a file system of its own");
    }
    let stop = payload("Stop", json!({"last_assistant_message": "x"}));
    assert_skipped_for_sandbox(&world, &feed(command, stop.to_string().as_bytes()));
    assert_eq!(world.decisions()[0]["because"], "/etc/claude-code/managed-settings.json");
}

#[test]
fn x9_a_blocked_turn_goes_on_and_ends_once_with_both_answers() {
    let world = World::with_gate();
    let turn = GateTurn::begin(&world);
    assert_blocked(&turn.stop());
    let session = &world.sessions()[0];
    assert_eq!(session["last_event"], "Stop");
    let file: Value =
        serde_json::from_slice(&fs::read(world.session_file(SESSION)).unwrap()).unwrap();
    assert_eq!(file["state"], "working");
    assert_eq!(turns(&world), Vec::<Value>::new());

    assert_silent_success(&turn.stop_again());
    let file: Value =
        serde_json::from_slice(&fs::read(world.session_file(SESSION)).unwrap()).unwrap();
    assert_eq!(file["state"], "completed");
    let turns = turns(&world);
    assert_eq!(turns.len(), 1, "{turns:?}");
    assert_eq!(turns[0]["earlier_answers"], json!(["All done."]));
    assert_eq!(turns[0]["answer"], "I have spoken.");
    assert_eq!(turns[0]["prompt"], "fix it");
    let rules: Vec<_> = world.decisions().iter().map(|entry| entry["rule"].clone()).collect();
    assert_eq!(rules, ["not_spoken", "reminded"]);
    assert_eq!(leftovers(&world), Vec::<String>::new());
}

#[test]
fn the_answer_of_a_blocked_turn_survives_when_the_user_stops_it() {
    let world = World::with_gate();
    assert_blocked(&stop_of(&world));
    // Esc, and another prompt.
    let next = GateTurn::begin_with(&world, "prompt-2", "something else");
    let turns = turns(&world);
    assert_eq!(turns.len(), 1, "{turns:?}");
    assert_eq!(turns[0]["detail"], "interrupted");
    assert_eq!(turns[0]["prompt"], "fix it");
    assert_eq!(turns[0]["earlier_answers"], json!(["All done."]));
    // The new turn is held too.
    assert_blocked(&next.stop());
}

fn turns(world: &World) -> Vec<Value> {
    let shown = world.turnbridge(&["sessions", "show", SESSION, "--json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    shown["turns"].as_array().unwrap().clone()
}

/// Returns files beside the record of turns.
fn leftovers(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.hermetic.state_dir().join("turns")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !name.ends_with(".jsonl")).collect()
}

#[test]
fn x9_at_most_one_block_a_turn_even_when_nothing_can_be_written() {
    let world = World::with_gate();
    // No folder can be created below a file.
    fs::create_dir_all(world.hermetic.state_dir().parent().unwrap()).unwrap();
    fs::write(world.hermetic.state_dir(), "in the way").unwrap();
    let turn = GateTurn { world: &world, prompt_id: PROMPT };
    assert_blocked(&turn.stop());
    assert_silent_success(&turn.stop_again());
}

#[test]
fn one_reminder_a_turn_even_when_claude_does_not_say_that_it_was_continued() {
    let world = World::with_gate();
    let turn = GateTurn::begin(&world);
    assert_blocked(&turn.stop());
    assert_silent_success(&turn.stop());
}

/// CVI-1.
#[test]
fn cvi_17_what_is_spoken_in_the_turn_lets_it_end_by_every_name() {
    for (tool, input) in [
        ("Skill", json!({"skill": "cvi:speak", "args": "done"})),
        ("Skill", json!({"skill": "speak"})),
        ("mcp__plugin_cvi_voice__speak", json!({"text": "done"})),
        ("mcp__turnbridge__speak", json!({"text": "done"})),
    ] {
        let world = World::with_gate();
        let turn = GateTurn::begin(&world);
        turn.tool("PreToolUse", tool, input.clone(), json!({}));
        turn.tool("PostToolUse", tool, input.clone(), json!({"tool_response": "ok"}));
        assert_silent_success(&turn.stop());
        // In the next turn it no longer counts.
        let next = GateTurn::begin_with(&world, "prompt-2", "and now?");
        assert_blocked(&next.stop());
    }
    for typed in ["/cvi:speak all done", "/turnbridge:speak"] {
        let world = World::with_gate();
        assert_silent_success(&GateTurn::begin_with(&world, PROMPT, typed).stop());
    }
}

#[test]
fn an_attempt_that_failed_or_was_refused_is_not_asked_for_twice() {
    let tool = "mcp__plugin_turnbridge_voice__speak";
    let world = World::with_gate();
    let turn = GateTurn::begin(&world);
    let error = json!({"error": "no speech engine on this machine", "is_interrupt": false});
    turn.tool("PostToolUseFailure", tool, json!({"text": "hi"}), error);
    assert_silent_success(&turn.stop());

    let batch = |response: &str| {
        let world = World::with_gate();
        let turn = GateTurn::begin(&world);
        let call = json!({"tool_name": "Skill", "tool_input": {"skill": "cvi:speak"},
            "tool_use_id": "t1", "tool_response": response});
        assert_silent_success(&turn.event("PostToolBatch", json!({"tool_calls": [call]})));
        turn.stop()
    };
    assert_silent_success(&batch(
        "Claude requested permissions to use Skill, but you haven't granted it yet.",
    ));
    assert_blocked(&batch("<tool_use_error>Unknown skill: cvi:speak</tool_use_error>"));
}

#[test]
fn a_sub_agent_does_not_speak_for_the_agent() {
    let world = World::with_gate();
    let turn = GateTurn::begin(&world);
    let more = json!({"agent_id": "a1", "agent_type": "x", "tool_response": "ok"});
    turn.tool("PostToolUse", "Skill", json!({"skill": "cvi:speak"}), more);
    assert_blocked(&turn.stop());
}

#[test]
fn every_switch_can_turn_the_gate_off() {
    for config in ["[gate]\nenabled = false", "gate = { enabled = false }", "[gate]\nenabled = 7"] {
        let world = World::with_gate();
        world.configure(config);
        assert_silent_success(&stop_of(&world));
        assert_eq!(world.decisions()[0]["rule"], "off", "{config}");
    }
    for config in
        ["CVI_ENABLED=off", "cvi_enabled=FALSE\n", r#"{"CVI_ENABLED":"off"}"#, "CVI_ENABLED=?"]
    {
        let world = World::with_gate();
        world.write_cvi_config(config);
        assert_silent_success(&stop_of(&world));
        assert_eq!(world.decisions()[0]["rule"], "off", "{config}");
    }
    let world = World::with_gate()
        .with("CLAUDE_PLUGIN_ROOT", "/opt/turnbridge")
        .with("CLAUDE_PLUGIN_OPTION_GATE", "false");
    assert_silent_success(&stop_of(&world));
}

#[test]
fn x43_a_cvi_config_that_gives_no_value_lets_the_turn_end() {
    for config in ["", "{}", "null", "[]", "junk", "SPEECH_RATE=200\n", r#"{"CVI_ENABLED":null}"#] {
        let world = World::with_gate();
        world.write_cvi_config(config);
        assert_silent_success(&stop_of(&world));
        assert_eq!(world.decisions()[0]["rule"], "off", "{config}");
    }
    // The file decides: without it the gate is on.
    assert_blocked(&stop_of(&World::with_gate()));
}

#[test]
fn cvi_16_what_is_on_or_absent_leaves_the_gate_on() {
    for config in
        ["", "[gate]\nenabled = true", "[gate]\nheadless = false", "[board]\nenabled = false"]
    {
        let world = World::with_gate();
        world.configure(config);
        world.write_cvi_config("CVI_ENABLED=on\n");
        assert_blocked(&stop_of(&world));
    }
}

#[test]
fn nobody_is_asked_to_speak_to_an_empty_room() {
    let script = World::with_gate().with("CLAUDE_CODE_ENTRYPOINT", "sdk-cli");
    assert_silent_success(&stop_of(&script));
    assert_eq!(script.decisions()[0]["rule"], "alone");
    script.configure("[gate]\nheadless = true");
    assert_blocked(&stop_of(&script));
    let reply = World::with_gate()
        .with("CLAUDE_CODE_ENTRYPOINT", "cli")
        .with("TURNBRIDGE_REPLY_ID", "Ev01-1");
    assert_silent_success(&stop_of(&reply));
    let person = World::with_gate().with("CLAUDE_CODE_ENTRYPOINT", "cli");
    assert_blocked(&stop_of(&person));
}

#[test]
fn x8_two_registrations_decide_once_and_alike() {
    for order in [["plugin", "settings"], ["settings", "plugin"]] {
        let world = World::with_gate();
        let call = |origin: &str, payload: &Value| {
            let program = if payload["hook_event_name"] == "Stop" {
                "turnbridge-stop-gate"
            } else {
                "turnbridge-status"
            };
            let mut command = world.command(program);
            command.args(["--origin", origin]);
            match origin {
                "plugin" => command.env("CLAUDE_PLUGIN_ROOT", "/opt/turnbridge"),
                _ => command.arg("--no-gate"),
            };
            feed(command, payload.to_string().as_bytes())
        };
        let prompt = payload("UserPromptSubmit", json!({"prompt": "go", "prompt_id": PROMPT}));
        let stop = payload("Stop", json!({"prompt_id": PROMPT, "last_assistant_message": "x"}));
        for origin in order {
            assert_silent_success(&call(origin, &prompt));
        }
        assert_blocked(&call(order[0], &stop));
        assert_silent_success(&call(order[1], &stop));
        assert_eq!(world.decisions().len(), 1);
    }
}

#[test]
fn a_registration_that_only_records_blocks_nothing() {
    let world = World::with_gate();
    let stop = payload("Stop", json!({"prompt_id": PROMPT, "last_assistant_message": "x"}));
    let mut command = world.command("turnbridge-stop-gate");
    command.args(["--origin", "settings", "--no-gate"]);
    assert_silent_success(&feed(command, stop.to_string().as_bytes()));
}

#[test]
fn a_stop_that_cannot_be_read_is_let_through() {
    let world = World::with_gate();
    for input in ["", "{", "[]", r#"{"hook_event_name":"Stop"}"#] {
        let command = world.command("turnbridge-stop-gate");
        assert_silent_success(&feed(command, input.as_bytes()));
    }
    assert_eq!(world.hooks_log().len(), 4);
}

mod transcripts {
    use super::*;
    use std::io::Write;

    const SKILL: &str =
        include_str!("../../../turnbridge-core/testdata/claude/transcripts/skill.jsonl");
    const SKILL_PROMPT: &str = "bf4e748a-b38d-40c5-9f43-68c84d46b1fd";

    fn spoken() -> String {
        SKILL.replace("probe:greet", "cvi:speak")
    }

    /// Sends Stop. Only this hook is registered: no other one has seen the turn.
    fn stop(world: &World, answer: &str) -> Output {
        let mut payload = payload("Stop", json!({"last_assistant_message": answer}));
        payload["prompt_id"] = json!(SKILL_PROMPT);
        payload["transcript_path"] = json!(path(world));
        feed(world.command("turnbridge-stop-gate"), payload.to_string().as_bytes())
    }

    fn path(world: &World) -> PathBuf {
        world.hermetic.root().join("transcript.jsonl")
    }

    #[test]
    fn speech_that_only_the_transcript_knows_counts() {
        let world = World::with_gate();
        fs::write(path(&world), spoken()).unwrap();
        assert_silent_success(&stop(&world, "greeted."));
        fs::write(path(&world), SKILL).unwrap();
        let world = World::with_gate();
        fs::write(path(&world), SKILL).unwrap();
        assert_blocked(&stop(&world, "greeted."));
    }

    #[test]
    fn what_claude_has_not_written_yet_is_waited_for() {
        let world = World::with_gate();
        let spoken = spoken();
        let call = spoken.find("\"tool_use\"").unwrap();
        let (early, late) = spoken.split_at(spoken[..call].rfind('\n').unwrap() + 1);
        fs::write(path(&world), early).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(90));
                let mut file = fs::OpenOptions::new().append(true).open(path(&world)).unwrap();
                file.write_all(late.as_bytes()).unwrap();
            });
            assert_silent_success(&stop(&world, "greeted."));
        });
    }

    #[test]
    fn a_long_transcript_before_the_turn_is_not_read() {
        let world = World::with_gate();
        // The speech was an hour ago, with much text since.
        let earlier = spoken().replace(SKILL_PROMPT, "earlier");
        let filler = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"x"}]}}"#;
        let many = format!("{filler}\n").repeat(5_000);
        fs::write(path(&world), format!("{earlier}{many}{SKILL}")).unwrap();
        assert_blocked(&stop(&world, "greeted."));
    }
}
