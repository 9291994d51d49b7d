//! Tests `turnbridge hooks` and `turnbridge codex notify`, which change the settings of Claude Code
//! and Codex and restore them.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use serde_json::Value;

use crate::support::world::{World, feed, payload};

const SETTINGS: &str = "{\r\n\t\"model\": \"opus\",\r\n\t\"hooks\": {\r\n\t\t\"Stop\": [\r\n\t\t\t{ \"hooks\": [{ \"type\": \"command\", \"command\": \"notify-send done\" }] }\r\n\t\t]\r\n\t}\r\n}";

impl World {
    fn settings(&self) -> PathBuf {
        self.hermetic.claude_config_dir().join("settings.json")
    }

    fn codex_config(&self) -> PathBuf {
        self.hermetic.codex_home().join("config.toml")
    }

    fn tried(&self, arguments: &[&str]) -> Output {
        let mut command = self.command("turnbridge");
        command.args(arguments);
        feed(command, b"")
    }

    /// Returns the output of a command that must fail.
    #[track_caller]
    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.tried(arguments);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        self.without_paths(&String::from_utf8(output.stderr).unwrap())
    }

    #[track_caller]
    fn hooks_status(&self) -> Value {
        serde_json::from_str(&self.turnbridge(&["hooks", "status", "--form", "exec", "--json"]))
            .unwrap()
    }
}

/// KT-T1: on the system that runs the test.
#[test]
fn kt_9_16_17_t3_x1_hooks_are_applied_once_and_given_back_byte_for_byte() {
    let world = World::new();
    fs::write(world.settings(), SETTINGS).unwrap();
    fs::write(world.codex_config(), "model = 'x'\n").unwrap();
    let local = world.settings().with_file_name("settings.local.json");
    fs::write(&local, "{}").unwrap();
    let codex_before = fs::metadata(world.codex_config()).unwrap().modified().unwrap();
    assert_eq!(world.hooks_status()["registered"], "no");

    let said = world.turnbridge(&["hooks", "apply", "--form", "exec", "--yes"]);
    assert!(said.contains("+\t\t\t{\"hooks\": [{\"type\": \"command\", \"command\": "), "{said}");
    assert!(said.ends_with("take it up after `/hooks` or a restart\n"), "KT-16: {said}");
    let status = world.hooks_status();
    assert_eq!(status["registered"], "yes");
    assert!(status["backup"].as_str().unwrap().ends_with("settings.json.bak"));
    let applied = fs::read_to_string(world.settings()).unwrap();

    let said = world.turnbridge(&["hooks", "apply", "--form", "exec", "--yes"]);
    assert!(said.ends_with("is as it should be\n"), "{said}");
    assert_eq!(fs::read_to_string(world.settings()).unwrap(), applied);
    world.turnbridge(&["hooks", "remove", "--yes"]);
    assert_eq!(fs::read_to_string(world.settings()).unwrap(), SETTINGS);
    assert!(
        world.turnbridge(&["hooks", "remove", "--yes"]).starts_with("there is nothing of ours")
    );

    // KT-15, X2, SLV-71: no other program's file is written.
    assert_eq!(fs::read_to_string(&local).unwrap(), "{}");
    assert!(!world.hermetic.project().join(".claude").exists());
    // Codex's config stays unchanged.
    assert_eq!(fs::read_to_string(world.codex_config()).unwrap(), "model = 'x'\n");
    assert_eq!(fs::metadata(world.codex_config()).unwrap().modified().unwrap(), codex_before);
}

#[test]
fn kt_1_what_is_registered_is_what_claude_can_run() {
    let world = World::new();
    world.turnbridge(&["hooks", "apply", "--form", "exec", "--yes"]);
    let settings: Value = serde_json::from_slice(&fs::read(world.settings()).unwrap()).unwrap();
    for (event, program) in
        [("UserPromptSubmit", "turnbridge-status"), ("Stop", "turnbridge-stop-gate")]
    {
        let hook = &settings["hooks"][event][0]["hooks"][0];
        let mut command = world.hermetic.command(hook["command"].as_str().unwrap());
        assert!(hook["command"].as_str().unwrap().contains(program));
        command.args(hook["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()));
        let more = serde_json::json!({"prompt": "fix it", "last_assistant_message": "Done."});
        let output = feed(command, payload(event, more).to_string().as_bytes());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    assert_eq!(world.sessions()[0]["state"], "completed");
    world.turnbridge(&["hooks", "remove", "--yes"]);
    assert!(!world.settings().exists(), "it was not there before");
}

#[test]
fn after_somebody_elses_change_only_ours_goes() {
    let world = World::new();
    fs::write(world.settings(), SETTINGS).unwrap();
    world.turnbridge(&["hooks", "apply", "--yes"]);
    let edit = |text: &str| text.replace("\"opus\"", "\"haiku\"");
    fs::write(world.settings(), edit(&fs::read_to_string(world.settings()).unwrap())).unwrap();
    world.turnbridge(&["hooks", "remove", "--yes"]);
    assert_eq!(fs::read_to_string(world.settings()).unwrap(), edit(SETTINGS));
    world.turnbridge(&["hooks", "restore", "--yes"]);
    assert_eq!(fs::read_to_string(world.settings()).unwrap(), SETTINGS);
}

#[test]
fn kt_5_nothing_changes_without_consent() {
    let world = World::new();
    fs::write(world.settings(), SETTINGS).unwrap();
    let shown = world.turnbridge(&["hooks", "apply", "--dry-run"]);
    assert!(shown.starts_with("--- ") && shown.contains("\n+\t\t\"SessionStart\": ["), "{shown}");
    insta::assert_snapshot!(world.refused(&["hooks", "apply"]), @"
    error: `~/home/.claude/settings.json` was left as it was
    hint: there is no terminal to ask at; `--yes` changes it without asking
    ");
    assert_eq!(fs::read_to_string(world.settings()).unwrap(), SETTINGS);
    assert!(!world.settings().with_file_name("settings.json.bak").exists());
}

#[test]
fn kt_11_what_cannot_be_understood_is_refused_with_its_place() {
    let world = World::new();
    let text = "{\n  // mine\n  \"model\": \"opus\"\n}\n";
    fs::write(world.settings(), text).unwrap();
    insta::assert_snapshot!(world.refused(&["hooks", "apply", "--yes"]), @"
    error: could not change `~/home/.claude/settings.json`: a comment, which JSON does not have (Claude Code ignores a settings file with comments silently) at line 2, column 3
    hint: the file was left as it was; repair it, then run this again
    ");
    assert_eq!(fs::read_to_string(world.settings()).unwrap(), text);
    insta::assert_snapshot!(world.refused(&["hooks", "restore", "--yes"]), @"
    error: there is no `~/home/.claude/settings.json.bak`
    hint: Turnbridge has not changed the file, or the backup was removed
    ");
}

#[test]
fn another_turnbridge_and_another_gate_are_outdated() {
    let world = World::new();
    world.turnbridge(&["hooks", "apply", "--form", "exec", "--gate", "--yes"]);
    let text = fs::read_to_string(world.settings()).unwrap();
    assert!(!text.contains("--no-gate"));
    assert_eq!(world.hooks_status()["registered"], "partly");
    let said = world.turnbridge(&["hooks", "status", "--form", "exec"]);
    assert!(said.contains("  Stop                 outdated\n"), "{said}");
    world.turnbridge(&["hooks", "apply", "--form", "shell", "--yes"]);
    let text = fs::read_to_string(world.settings()).unwrap();
    // On Windows the path before it is quoted, and ends in `.exe`.
    assert!(text.contains(" --origin settings --no-gate\"") && !text.contains("args"), "{text}");
}

#[test]
fn slv_64_codex_calls_us_and_the_rest_of_its_config_stays() {
    let world = World::new();
    let config = "# mine\r\nmodel = 'x' # y\r\n\r\n[tui]\r\nnotify = ['z']\r\n";
    fs::write(world.codex_config(), config).unwrap();
    world.turnbridge(&["codex", "notify", "apply", "--yes"]);
    let text = fs::read_to_string(world.codex_config()).unwrap();
    let line = text.lines().find(|line| line.starts_with("notify = [")).unwrap();
    assert!(
        line.contains("turnbridge") && line.ends_with("\"notify\", \"--tool\", \"codex\"]"),
        "{line}"
    );
    assert_eq!(text.replace(&format!("{line}\r\n"), ""), config);
    assert!(world.turnbridge(&["codex", "notify"]).starts_with("Codex calls Turnbridge"));
    world.turnbridge(&["codex", "notify", "remove", "--yes"]);
    assert_eq!(fs::read_to_string(world.codex_config()).unwrap(), config);
}

#[test]
fn x1_an_existing_program_is_left_or_chained_and_comes_back() {
    let world = World::new();
    let config = "notify = [\n  \"terminal-notifier\", # mine\n  '-x',\n]\nmodel = 'x'\n";
    fs::write(world.codex_config(), config).unwrap();
    insta::assert_snapshot!(world.refused(&["codex", "notify", "apply", "--yes"]), @"
    error: Codex runs another program already: `terminal-notifier -x`
    hint: `--chain` keeps it running behind ours, `--replace` puts ours in its place
    ");
    assert_eq!(fs::read_to_string(world.codex_config()).unwrap(), config);
    world.turnbridge(&["codex", "notify", "apply", "--chain", "--yes"]);
    let status = world.turnbridge(&["codex", "notify", "status", "--json"]);
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["notify"], "registered");
    assert_eq!(status["chained"], serde_json::json!(["terminal-notifier", "-x"]));
    // After another program's change, the earlier program is restored as it was written.
    let text = fs::read_to_string(world.codex_config()).unwrap() + "[theirs]\n";
    fs::write(world.codex_config(), text).unwrap();
    world.turnbridge(&["codex", "notify", "remove", "--yes"]);
    assert_eq!(fs::read_to_string(world.codex_config()).unwrap(), config.to_owned() + "[theirs]\n");
    let status = world.turnbridge(&["codex", "notify", "status", "--json"]);
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!((&status["notify"], &status["chained"]), (&"foreign".into(), &Value::Null));
}

/// Its content is replaced before any read.
#[test]
fn a_damaged_note_of_the_earlier_program_keeps_nobody_from_registering() {
    let world = World::new();
    fs::write(world.codex_config(), "notify = [\"beep\"]\n").unwrap();
    fs::create_dir_all(world.hermetic.state_dir()).unwrap();
    let note = world.hermetic.state_dir().join("codex-notify.json");
    fs::write(&note, "garbage{").unwrap();
    let shown = world.turnbridge(&["codex", "notify", "apply", "--chain", "--dry-run"]);
    assert!(shown.contains("-notify = [\"beep\"]"), "{shown}");
    assert_eq!(fs::read_to_string(&note).unwrap(), "garbage{");
    world.turnbridge(&["codex", "notify", "apply", "--chain", "--yes"]);
    let status = world.turnbridge(&["codex", "notify", "status", "--json"]);
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!((&status["notify"], &status["chained"][0]), (&"registered".into(), &"beep".into()));
}

/// An older one would run the programs without their arguments.
#[cfg(unix)]
#[test]
fn a_claude_code_that_knows_no_args_gets_command_lines() {
    let world = World::new();
    let claude = world.hermetic.root().join("claude");
    world.configure(&format!("[resume]\nclaude = '{}'\n", claude.display()));
    for (version, has_args) in [("2.1.138", false), ("2.1.139", true), ("1.0.200", false)] {
        testkit::write_program(&claude, &format!("#!/bin/sh\necho '{version} (Claude Code)'\n"));
        world.turnbridge(&["hooks", "apply", "--yes"]);
        let text = fs::read_to_string(world.settings()).unwrap();
        assert_eq!(text.contains("\"args\""), has_args, "{version}");
        assert!(world.turnbridge(&["hooks"]).starts_with("registered in "), "{version}");
    }
    world.turnbridge(&["hooks", "remove", "--yes"]);
    assert!(!world.settings().exists());
}

/// KT-7: consent to a diff covers only that diff.
#[cfg(unix)]
#[test]
fn a_file_that_changes_while_the_question_is_open_is_left_alone() {
    use std::time::Duration;
    const TIMEOUT: Duration = Duration::from_secs(30);
    if std::process::Command::new("tmux").arg("-V").output().is_err() {
        return testkit::skipped("no tmux");
    }
    let world = World::new();
    fs::write(world.settings(), SETTINGS).unwrap();
    let mut command = world.command("turnbridge");
    command.args(["hooks", "apply", "--form", "exec"]);
    let tmux = testkit::Tmux::start(&world.hermetic, &command);
    tmux.wait_for("like this? [y/N]", TIMEOUT);
    let changed = SETTINGS.replace("opus", "haiku");
    fs::write(world.settings(), &changed).unwrap();
    tmux.send_text("y");
    tmux.send_key("Enter");
    tmux.wait_for("the file has changed since it was shown", TIMEOUT);
    assert_eq!(fs::read_to_string(world.settings()).unwrap(), changed);
}
