//! Tests `turnbridge gate`, which switches the gate and explains why an agent was asked to speak,
//! or not.

use std::fs;

use serde_json::{Value, json};
use turnbridge_core::gate::gate_switches::{Switch, config_switch};

use crate::support::world::World;

impl World {
    /// Returns the output of `turnbridge gate ARGUMENTS` without this test's own folder.
    #[track_caller]
    fn gate(&self, arguments: &[&str]) -> String {
        self.without_paths(&self.turnbridge(&[&["gate"], arguments].concat()))
    }

    /// Registers the hooks by `turnbridge hooks apply`, with or without the gate.
    fn register(&self, options: &[&str]) {
        let apply = ["hooks", "apply", "--form", "exec", "--yes"];
        self.turnbridge(&[&apply, options].concat());
    }

    #[track_caller]
    fn explained(&self) -> Value {
        serde_json::from_str(&self.turnbridge(&["gate", "explain", "--json"])).unwrap()
    }
}

// The managed file has another path on other systems.
#[cfg(target_os = "linux")]
#[test]
fn explain_shows_who_decides_what_each_file_says_and_what_happened_last() {
    let world = World::with_gate().with("TURNBRIDGE_NOW", "1800000000000000");
    let settings = world.hermetic.claude_config_dir();
    fs::write(settings.join("settings.json"), r#"{"sandbox":{"enabled":true}}"#).unwrap();
    fs::write(settings.join("settings.local.json"), r#"{"sandbox":{"enabled":false}}"#).unwrap();
    world.register(&["--gate"]);
    let project = world.hermetic.project().join(".claude");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("settings.json"), "{ // mine\n}").unwrap();
    for continued in [false, true] {
        let stop = json!({"cwd": world.hermetic.project(), "stop_hook_active": continued});
        let stop = crate::support::world::payload("Stop", stop).to_string();
        crate::support::world::feed(world.command("turnbridge-stop-gate"), stop.as_bytes());
    }
    insta::assert_snapshot!(world.gate(&["explain"]), @"
    on: a turn ends when the agent has spoken its summary

    in `~/project`

    Claude's sandbox: off, decided by `~/home/.claude/settings.local.json`
      managed        no file    ~/home/.claude/remote-settings.json
      managed        no file    /etc/claude-code/managed-settings.json
      project local  no file    ~/project/.claude/settings.local.json
      project        no strict JSON (Claude ignores it too) ~/project/.claude/settings.json
    > user local     off        ~/home/.claude/settings.local.json
      user           on         ~/home/.claude/settings.json

    asked by `~/home/.claude/settings.json`

    switches: one that is off is enough
      [gate] enabled not set    CONFIG/config.toml
      CVI_ENABLED    not set    ~/home/.cvi/config

    `claude -p` and programs: never asked (`[gate] headless`)

    the last turns here:
      2027-01-15T08:00:00.000000Z 825c8529 held: not_spoken, no speech in this turn
      2027-01-15T08:00:00.000000Z 825c8529 ended: reminded, stop_hook_active
    ");
    let explained = world.explained();
    assert_eq!((&explained["would"], &explained["rule"]), (&json!("block"), &json!("not_spoken")));
    let decided_by = json!(settings.join("settings.local.json"));
    assert_eq!(explained["sandbox"]["decided_by"], decided_by);
    assert_eq!(explained["last_decisions"][0]["rule"], "not_spoken");

    fs::write(project.join("settings.local.json"), r#"{"sandbox":{"enabled":true}}"#).unwrap();
    insta::assert_snapshot!(world.gate(&["status"]), @"off here: Claude's sandbox is on (`~/project/.claude/settings.local.json`)");
    assert_eq!(world.explained()["would"], "allow");
}

#[test]
fn on_and_off_say_what_holds_then_whatever_else_is_set() {
    let world = World::with_gate();
    world.register(&["--gate"]);
    insta::assert_snapshot!(world.gate(&[]), @"on: a turn ends when the agent has spoken its summary");
    insta::assert_snapshot!(world.gate(&["off"]), @"off: [gate] enabled is off in `CONFIG/config.toml`");
    insta::assert_snapshot!(world.gate(&["on"]), @"on: a turn ends when the agent has spoken its summary");
    fs::create_dir(world.hermetic.home().join(".cvi")).unwrap();
    fs::write(world.hermetic.home().join(".cvi/config"), "CVI_ENABLED=off\n").unwrap();
    insta::assert_snapshot!(world.gate(&["on"]), @"off: CVI_ENABLED is off in `~/home/.cvi/config`");
}

#[test]
fn a_gate_that_no_hook_asks_is_off() {
    let world = World::with_gate();
    insta::assert_snapshot!(world.gate(&["on"]), @"off: Claude Code calls no Stop hook of ours (no file names a plugin that `--plugin-dir` gives)");
    let explained = world.explained();
    assert_eq!(explained["rule"], "no_hook");
    assert_eq!(explained["asked"]["by"], Value::Null);
    world.register(&[]);
    insta::assert_snapshot!(world.gate(&[]), @"off: the Stop hook in `~/home/.claude/settings.json` has `--no-gate` (`turnbridge hooks apply --gate` takes it out)");
    assert_eq!(world.explained()["would"], "allow");
    world.register(&["--gate"]);
    assert_eq!(world.explained()["asked"]["by"], "settings");
    assert_eq!(world.explained()["would"], "block");
    let settings = world.hermetic.claude_config_dir().join("settings.json");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, text.replacen('{', "{\"disableAllHooks\": true, ", 1)).unwrap();
    insta::assert_snapshot!(world.gate(&[]), @"off: `disableAllHooks` is set in `~/home/.claude/settings.json`");
    // A session with the plugin by `--plugin-dir` is the only trace of it.
    fs::remove_file(&settings).unwrap();
    assert_eq!(world.explained()["gate"], "off");
    let mut hook = world.command("turnbridge-status");
    hook.args(["--origin", "plugin"]).env("CLAUDE_PLUGIN_ROOT", "/opt/turnbridge");
    hook.env("CLAUDE_PLUGIN_DATA", "/home/user/.claude/plugins/data/turnbridge-inline");
    let start = crate::support::world::payload("SessionStart", json!({"source": "startup"}));
    crate::support::world::feed(hook, start.to_string().as_bytes());
    assert_eq!(world.explained()["asked"]["by"], "plugin_dir");
    assert_eq!(world.explained()["gate"], "on");
}

#[test]
fn the_option_of_the_plugin_is_read_where_claude_keeps_it() {
    let world = World::with_gate();
    let settings = world.hermetic.claude_config_dir().join("settings.json");
    let options = json!({"pluginConfigs": {
        "other@x": {"options": {"gate": false}},
        "turnbridge@inline": {"options": {"gate": true}},
    }});
    fs::write(&settings, options.to_string()).unwrap();
    world.register(&["--gate"]);
    assert_eq!(world.explained()["would"], "block");
    let options = json!({"pluginConfigs": {"turnbridge@inline": {"options": {"gate": false}}}});
    fs::write(&settings, options.to_string()).unwrap();
    assert_eq!(world.explained()["would"], "allow");
    insta::assert_snapshot!(world.gate(&["status"]), @"off: `gate` of turnbridge@inline is off in `~/home/.claude/settings.json`");
}

#[test]
fn another_folder_can_be_asked_about_and_what_is_none_is_said() {
    let world = World::with_gate();
    world.register(&["--gate"]);
    let other = world.hermetic.root().join("other");
    fs::create_dir_all(other.join(".claude")).unwrap();
    fs::write(other.join(".claude/settings.json"), r#"{"sandbox":{"enabled":true}}"#).unwrap();
    assert!(world.gate(&["status"]).starts_with("on"));
    let there = world.gate(&["status", "--cwd", other.to_str().unwrap()]);
    assert!(there.starts_with("off here: Claude's sandbox is on"), "{there}");
    let mut command = world.command("turnbridge");
    let output = command.args(["gate", "explain", "--cwd", "nowhere"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @"
    error: `nowhere` is no folder
    hint: name a project's folder
    ");
}

/// The hooks read `config.toml` by a small scanner; the test compares it with a real parser.
#[test]
fn the_hooks_and_the_commands_read_the_same_switch_from_a_config() {
    let values = ["true", "false", "1", "'true'", "[true]", "{ enabled = true }", "2020-01-01"];
    let mut texts = Vec::new();
    for value in values {
        for text in [
            "[gate]\nenabled = VALUE\n",
            "gate.enabled=VALUE",
            "gate = { headless = true, enabled = VALUE } # end",
            "['gate']\n\"enabled\" = VALUE",
            "[voice]\nenabled = VALUE\n[[gate.x]]\nenabled = VALUE",
            "x = [{ gate = VALUE },\n # [gate]\n VALUE]\n",
            "[gate.enabled]\nx = VALUE",
            "gate.enabled.x = VALUE",
        ] {
            texts.push(text.replace("VALUE", value));
        }
    }
    for string in [
        r#""""#,
        r#"'#'"#,
        "\"\"\"\n[gate]\nenabled = false\"\"\"",
        "'''\n= '''",
        r#""\"]""#,
        r#"'\'"#,
        r#""日本語 = [""#,
    ] {
        texts.push(format!("x = {string}\n[gate]\nenabled = true"));
        texts.push(format!("x = [{string}, {string}]\r\ngate.enabled = false\r\n"));
        texts.push(format!("gate = {{ x = {string}, enabled = false }}"));
    }
    for text in texts {
        let parsed = text.parse::<toml_edit::DocumentMut>();
        let document = parsed.unwrap_or_else(|error| panic!("{text}\n{error}"));
        let item = document.get("gate").and_then(|gate| gate.as_table_like()?.get("enabled"));
        let expected = match item.map(toml_edit::Item::as_bool) {
            None => Switch::Absent,
            Some(Some(true)) => Switch::On,
            Some(Some(false)) => Switch::Off,
            Some(None) => Switch::Invalid,
        };
        assert_eq!(config_switch(text.as_bytes(), "enabled"), expected, "{text}");
    }
}
