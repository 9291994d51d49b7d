//! Tests the Stop gate with the real claude: which turns it holds, and its messages to the model
//! and the user.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Claude, ModelReply, Script};

use crate::support::gates::{self, note};
use crate::support::hosts::pairs;
use crate::support::terminal::AgentTerminal;
use crate::support::timeouts::{TIMEOUT, wait_for};
use crate::support::world::{ApiWorld, SessionSelection, stdout_of};

const TOOL: &str = "mcp__plugin_turnbridge_voice__speak";
const REASON: &str = "CVI check failed: /cvi:speak not called";

fn speak(text: &str) -> ModelReply {
    ModelReply::tool(TOOL, json!({"text": text}))
}

/// Adds a sound card without output: ALSA's null device plays as fast as it can.
fn add_silent_sound_card(world: &ApiWorld) {
    let path = world.hermetic.home().join(".asoundrc");
    fs::write(path, "pcm.!default { type null }\nctl.!default { type null }\n")
        .expect("write .asoundrc");
}

/// Returns for each request to the model whether it contains the gate's reason.
fn reminded(world: &ApiWorld) -> Vec<bool> {
    let requests = world.api.requests();
    requests.iter().map(|request| request.to_string().contains(REASON)).collect()
}

/// CVI-T5, CVI-18, X9, X8.
#[test]
fn an_interactive_turn_ends_once_when_the_agent_has_spoken_and_keeps_both_answers() {
    let Some(claude) = gates::fast() else { return };
    let script = vec![
        ModelReply::text("The bug is fixed."),
        speak("I fixed the bug."),
        ModelReply::text("Spoken."),
    ];
    let world = ApiWorld::with_gate(claude, script);
    add_silent_sound_card(&world);
    let terminal = AgentTerminal::start(&world);
    terminal.submit("fix the bug");
    let session = terminal.wait_for_state("completed/ok");
    assert_eq!(reminded(&world), [false, true, true]);
    let turn = world.only_turn(&session);
    assert_eq!(turn["prompt"], "fix the bug");
    assert_eq!(turn["earlier_answers"], json!(["The bug is fixed."]));
    assert_eq!(turn["answer"], "Spoken.");
    world.wait_for_decisions(&["not_spoken", "reminded"]);
    terminal.exit();
    // There is no dialog, since the agent may use Turnbridge's own tool. The turn is completed
    // once.
    assert_eq!(
        pairs(&world.kawaii.lines(), "event", "hook"),
        [
            "completed SessionStart",
            "working UserPromptSubmit",
            "completed Stop",
            "stopped SessionEnd"
        ]
    );
    world.assert_no_problems();
}

fn first_turn(world: &ApiWorld) -> Value {
    let session = world.only_session(SessionSelection::All);
    let shown = world.show(session["session_id"].as_str().unwrap_or_default());
    shown["turns"][0].clone()
}

/// The result of one `claude -p` turn that the gate judged as if a user were listening.
struct Headless {
    answer: String,
    /// The rules by which its Stops were judged.
    rules: Vec<String>,
    /// The first turn, if there are several: a sub-agent that ends in the background begins another
    /// one.
    turn: Value,
    /// All requests to the model, as one text.
    asked: String,
}

impl Headless {
    #[track_caller]
    fn run(
        claude: Claude,
        script: impl Into<Script>,
        prepare: impl Fn(&ApiWorld, &mut Command),
    ) -> Headless {
        Headless::run_prompt(claude, "do it", script, prepare)
    }

    #[track_caller]
    fn run_prompt(
        claude: Claude,
        prompt: &str,
        script: impl Into<Script>,
        prepare: impl Fn(&ApiWorld, &mut Command),
    ) -> Headless {
        let world = ApiWorld::with_gate(claude, script);
        world.configure("[gate]\nheadless = true\n");
        add_silent_sound_card(&world);
        let mut command = world.claude();
        command.args(["-p", prompt]);
        prepare(&world, &mut command);
        let answer = stdout_of(&command.output().expect("run claude"));
        world.assert_no_problems();
        Headless {
            answer,
            rules: world.decisions(),
            turn: first_turn(&world),
            asked: Value::Array(world.api.requests()).to_string(),
        }
    }
}

fn write_settings(folder: &Path, name: &str, settings: &Value) {
    fs::create_dir_all(folder).expect("make the folder of settings");
    fs::write(folder.join(name), settings.to_string()).expect("write settings");
}

#[test]
fn a_script_gets_its_answer_and_only_whoever_wants_it_hears_more() {
    let Some(claude) = gates::slow() else { return };
    let world = ApiWorld::with_gate(claude, vec![ModelReply::text("The first answer.")]);
    let mut command = world.claude();
    command.args(["-p", "do it"]);
    assert_eq!(stdout_of(&command.output().expect("run claude")), "The first answer.\n");
    assert_eq!(world.decisions(), ["alone"]);
    drop(world);

    let Some(claude) = gates::slow() else { return };
    let script =
        vec![ModelReply::text("The first answer."), ModelReply::text("The second answer.")];
    let run = Headless::run(claude, script, |_, _| {});
    assert_eq!(run.answer, "The second answer.\n");
    assert_eq!(run.rules, ["not_spoken", "reminded"]);
    assert_eq!(run.turn["earlier_answers"], json!(["The first answer."]));
    assert_eq!(run.turn["answer"], "The second answer.");
}

/// CVI-T1..T3, CVI-T5, CVI-8, and the layers above them that the real claude honours.
#[test]
fn with_the_sandbox_on_in_any_layer_no_turn_is_held() {
    let on = json!({"sandbox": {"enabled": true}});
    let off = json!({"sandbox": {"enabled": false}});
    let layers =
        ["project/settings.local", "project/settings", "user/settings.local", "user/settings"];
    let mut cases: Vec<_> = layers.iter().map(|layer| (vec![(*layer, &on)], "sandbox")).collect();
    cases.push((vec![("user/settings.local", &off), ("user/settings", &on)], "not_spoken"));
    cases.push((vec![("project/settings", &off), ("user/settings.local", &on)], "not_spoken"));
    for (files, rule) in cases {
        let Some(claude) = gates::slow() else { return };
        let script =
            vec![ModelReply::text("Done."), speak("It is done."), ModelReply::text("Said.")];
        let world = ApiWorld::with_gate(claude, script);
        add_silent_sound_card(&world);
        for (file, settings) in &files {
            let (layer, name) = file.split_once('/').expect("a layer and a name");
            let folder = match layer {
                "user" => world.hermetic.claude_config_dir(),
                _ => world.hermetic.project().join(".claude"),
            };
            write_settings(&folder, &format!("{name}.json"), settings);
        }
        let terminal = AgentTerminal::start(&world);
        terminal.submit("do it");
        let session = terminal.wait_for_state("completed/ok");
        let held = rule == "not_spoken";
        world.wait_for_decisions(if held { &["not_spoken", "reminded"] } else { &["sandbox"] });
        assert_eq!(reminded(&world).contains(&true), held, "{files:?}");
        let turn = world.only_turn(&session);
        assert_eq!(turn["answer"], if held { "Said." } else { "Done." });
        terminal.exit();
        world.assert_no_problems();
    }
}

/// X42, CVI-20: Claude does not show stderr of a hook that exits 0, but its `systemMessage`.
#[test]
fn the_person_is_shown_once_that_the_sandbox_switches_the_gate_off() {
    let Some(claude) = gates::slow() else { return };
    let world =
        ApiWorld::with_gate(claude, vec![ModelReply::text("One."), ModelReply::text("Two.")]);
    let on = json!({"sandbox": {"enabled": true}});
    write_settings(&world.hermetic.project().join(".claude"), "settings.json", &on);
    let terminal = AgentTerminal::start(&world);
    terminal.submit("first");
    let note = "CVI is disabled in sandbox mode";
    terminal.tmux.wait_for(note, TIMEOUT);
    terminal.submit("second");
    terminal.tmux.wait_for("Two.", TIMEOUT);
    world.wait_for_decisions(&["sandbox", "sandbox"]);
    terminal.wait_for_state("completed/ok");
    let screen = terminal.tmux.screen();
    assert_eq!(screen.matches(note).count(), 1, "{screen}");
    terminal.exit();
    world.assert_no_problems();
}

/// CVI-21: the MCP server runs outside.
#[test]
fn with_the_sandbox_on_the_tool_still_speaks() {
    let Some(claude) = gates::slow() else { return };
    let run =
        Headless::run(claude, vec![speak("Hello."), ModelReply::text("Said.")], |world, _| {
            let on = json!({"sandbox": {"enabled": true}});
            write_settings(&world.hermetic.claude_config_dir(), "settings.json", &on);
        });
    assert_eq!(run.rules, ["sandbox"]);
    assert!(run.asked.contains("Speaking."), "{}", run.asked);
}

#[test]
fn speech_by_every_way_in_the_same_turn_lets_it_end() {
    let skill = |name: &str| ModelReply::tool("Skill", json!({"skill": name, "args": "Done."}));
    for script in [
        vec![speak("Done."), ModelReply::text("Said.")],
        vec![skill("turnbridge:speak"), speak("Done."), ModelReply::text("Said.")],
        vec![skill("turnbridge:speak"), ModelReply::text("Said.")],
        vec![skill("cvi:speak"), ModelReply::text("Said.")],
    ] {
        let Some(claude) = gates::slow() else { return };
        let run = Headless::run(claude, script.clone(), add_cvi);
        assert_eq!(run.rules, ["spoken"], "{script:?}");
        assert_eq!(run.answer, "Said.\n");
    }
    // The skill's name without the plugin's, where only one plugin has it.
    let Some(claude) = gates::slow() else { return };
    let run = Headless::run(claude, vec![skill("speak"), ModelReply::text("Said.")], |_, _| {});
    assert_eq!(run.rules, ["spoken"]);
    for prompt in ["/turnbridge:speak Done.", "/cvi:speak Done."] {
        let Some(claude) = gates::slow() else { return };
        let run = Headless::run_prompt(claude, prompt, vec![ModelReply::text("Said.")], add_cvi);
        assert_eq!(run.rules, ["spoken"], "{prompt}");
    }
}

/// Adds a plugin with the original's name and command.
fn add_cvi(world: &ApiWorld, command: &mut Command) {
    let plugin = world.hermetic.root().join("cvi");
    write_settings(
        &plugin.join(".claude-plugin"),
        "plugin.json",
        &json!({"name": "cvi", "version": "1.0.0"}),
    );
    fs::create_dir_all(plugin.join("commands")).expect("make the commands folder");
    let body = "---\ndescription: Say it\n---\nSay this: $ARGUMENTS\n";
    fs::write(plugin.join("commands/speak.md"), body).expect("write the command");
    command.arg("--plugin-dir").arg(plugin);
}

#[test]
fn what_is_no_speech_of_this_turn_does_not_let_it_end() {
    let unknown = ModelReply::tool("Skill", json!({"skill": "cvi:speak", "args": "Done."}));
    let Some(claude) = gates::slow() else { return };
    let run = Headless::run(claude, vec![unknown, ModelReply::text("Done.")], |_, _| {});
    assert_eq!(run.rules[0], "not_spoken");

    let Some(claude) = gates::slow() else { return };
    let agent = json!({"description": "Speak", "prompt": "SUBAGENT: speak", "subagent_type": "general-purpose"});
    let script = Script::new()
        .then(ModelReply::tool("Agent", agent))
        .then(ModelReply::text("Done."))
        .on("SUBAGENT", vec![speak("I am only the helper."), ModelReply::text("Spoken.")]);
    let run = Headless::run(claude, script, |_, _| {});
    assert!(run.asked.contains("Speaking."), "the sub-agent has not spoken: {}", run.asked);
    assert_eq!(run.rules[0], "not_spoken");
}

#[test]
fn an_attempt_that_cannot_succeed_is_not_asked_for_again() {
    let script = || vec![speak("Done."), ModelReply::text("It cannot be said.")];
    let Some(claude) = gates::slow() else { return };
    let run = Headless::run(claude, script(), |world, command| {
        let empty = world.hermetic.root().join("no-programs");
        fs::create_dir(&empty).expect("make a folder");
        command.env("PATH", empty);
    });
    assert_eq!(run.rules, ["spoken"]);
    assert!(run.asked.contains("This machine cannot speak"), "{}", run.asked);

    // A rule of the user's overrides the plugin's permission, and without a terminal there is no
    // user to ask.
    let Some(claude) = gates::slow() else { return };
    let run = Headless::run(claude, script(), |world, _| {
        let rules = json!({"permissions": {"ask": [TOOL]}});
        write_settings(&world.hermetic.claude_config_dir(), "settings.json", &rules);
    });
    assert_eq!(run.rules, ["spoken"]);
}

#[test]
fn the_option_of_the_plugin_turns_the_gate_off() {
    let Some(claude) = gates::slow() else { return };
    let run = Headless::run(claude, vec![ModelReply::text("Done.")], |world, _| {
        let options = json!({"pluginConfigs": {"turnbridge@inline": {"options": {"gate": false}}}});
        write_settings(&world.hermetic.claude_config_dir(), "settings.json", &options);
    });
    assert_eq!(run.rules, ["off"]);
}

/// A speech of hours, and a second prompt. Also: a speech in the previous turn does not count for
/// this one.
#[test]
fn the_next_prompt_ends_the_speech_and_is_a_turn_of_its_own() {
    let Some(claude) = gates::slow() else { return };
    if Command::new("espeak-ng").arg("--version").output().is_err() {
        return testkit::skipped("`espeak-ng` is not installed");
    }
    let script = vec![
        speak(&"This goes on and on. ".repeat(20_000)),
        ModelReply::text("Speaking at length."),
        ModelReply::text("A second answer."),
        ModelReply::text("And no speech."),
    ];
    let world = ApiWorld::with_gate(claude, script);
    add_silent_sound_card(&world);
    let terminal = AgentTerminal::start(&world);
    terminal.submit("tell me everything");
    terminal.wait_for_state("completed/ok");
    let engines = engines_of(&world);
    assert_eq!(engines.len(), 1, "{engines:?}");
    terminal.type_in("that will do");
    let typed = Instant::now();
    terminal.tmux.send_key("Enter");
    wait_for("the end of the speech", || match engines_of(&world).as_slice() {
        [] => Ok(()),
        some => Err(format!("{some:?}")),
    });
    let taken = typed.elapsed();
    note(&format!(
        "a prompt ends the speech after {taken:?}, the way through the terminal included"
    ));
    assert!(taken < Duration::from_secs(2), "{taken:?}");
    world.wait_for_decisions(&["spoken", "not_spoken", "reminded"]);
    terminal.wait_for_state("completed/ok");
    terminal.exit();
    world.assert_no_problems();
}

/// Returns the process ids of the engines that speak in this world.
fn engines_of(world: &ApiWorld) -> Vec<String> {
    let home = format!("HOME={}", world.hermetic.home().display());
    let found = Command::new("pgrep").args(["-x", "espeak-ng"]).output().expect("run pgrep");
    let pids = String::from_utf8_lossy(&found.stdout).into_owned();
    let is_ours = |pid: &&str| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == home.as_bytes())
    };
    pids.lines().filter(is_ours).map(str::to_owned).collect()
}
