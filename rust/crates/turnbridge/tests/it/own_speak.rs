//! Tests that the PreToolUse hook approves only one tool call without asking the user: `speak` of
//! the plugin that registered the hook.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::world::{World, feed, payload};

const TOOL: &str = "mcp__plugin_turnbridge_voice__speak";
const ALLOWED: &str = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"Turnbridge's own speak"}}"#;

struct SpeakWorld {
    world: World,
    /// The folder of the plugin.
    root: PathBuf,
    /// The user's home as the system knows it.
    home: PathBuf,
    /// The origin of the server, as Claude Code reports since 2.1.326.
    server: Option<String>,
}

impl SpeakWorld {
    /// Installs the plugin as Claude Code does, with its executable at `place` below `bin/`.
    fn new(place: &str) -> SpeakWorld {
        let world = World::with_gate();
        let root = world.hermetic.root().join("plugin");
        let home = world.hermetic.home();
        let scene = SpeakWorld { root, world, home, server: None };
        scene.write("../plugin/.claude-plugin/plugin.json", r#"{"name": "turnbridge"}"#);
        let program = scene.root.join(place);
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        let built = scene.world.command("turnbridge-status").get_program().to_owned();
        copy(Path::new(&built), &program);
        scene
    }

    /// Writes a file of the project.
    fn write(&self, name: &str, text: &str) {
        let path = self.world.hermetic.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn program(&self, place: &str) -> PathBuf {
        self.root.join(place)
    }

    /// Returns the hook's output.
    #[track_caller]
    fn ask(
        &self,
        program: &Path,
        root: Option<&Path>,
        arguments: &[&str],
        call: (&str, Value),
    ) -> String {
        let mut command = self.world.hermetic.command(program);
        command.args(arguments).envs(root.map(|root| ("CLAUDE_PLUGIN_ROOT", root)));
        command.env("TURNBRIDGE_SYSTEM_HOME", &self.home);
        let project = self.world.hermetic.project();
        let mut fields =
            json!({"tool_name": call.0, "tool_input": call.1, "tool_use_id": "t1", "cwd": project});
        if let Some(source) = &self.server {
            fields["mcp_server"] = json!({"name": "plugin_turnbridge_voice", "source": source});
        }
        let output = feed(command, payload("PreToolUse", fields).to_string().as_bytes());
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// Calls the hook like the plugin's own registration.
    #[track_caller]
    fn ask_plugin(&self, place: &str, call: (&str, Value)) -> String {
        self.ask(&self.program(place), Some(&self.root), &["--origin", "plugin"], call)
    }
}

/// Copies in another process on Unix: a child of a concurrent test would hold the file open for
/// writing, and it could not be run ("Text file busy").
fn copy(from: &Path, to: &Path) {
    if cfg!(unix) {
        assert!(Command::new("cp").args([from, to]).status().unwrap().success());
    } else {
        fs::copy(from, to).unwrap();
    }
}

fn place(folder: &str) -> String {
    format!("{folder}turnbridge-status{}", std::env::consts::EXE_SUFFIX)
}

fn speak() -> (&'static str, Value) {
    (TOOL, json!({"text": "hi"}))
}

#[test]
fn the_plugins_own_speak_is_allowed_without_asking_and_nothing_else_is() {
    for folder in ["bin/", "", "bin/x86_64-unknown-linux-musl/"] {
        let place = place(folder);
        let scene = SpeakWorld::new(&place);
        assert_eq!(scene.ask_plugin(&place, speak()), ALLOWED, "{folder}");
        for (name, input) in [
            ("Skill", json!({"skill": "turnbridge:speak", "args": "hi"})),
            ("Skill", json!({"skill": "speak"})),
            ("Skill", json!({"skill": "cvi:speak"})),
            ("Bash", json!({"command": "turnbridge speak hi", "skill": "turnbridge:speak"})),
            ("mcp__plugin_turnbridge_voice__speaker", json!({})),
            ("mcp__turnbridge__speak", json!({})),
        ] {
            assert_eq!(scene.ask_plugin(&place, (name, input)), "", "{name}");
        }
    }
}

/// There is no plugin then, and the name belongs to another server.
#[test]
fn without_the_plugin_a_server_by_the_name_of_ours_is_not_approved() {
    let place = place("bin/");
    let scene = SpeakWorld::new(&place);
    let ours = scene.program(&place);
    let elsewhere = PathBuf::from(scene.world.command("turnbridge-status").get_program());
    let root = Some(scene.root.as_path());
    let plugin = &["--origin", "plugin"][..];
    // As `turnbridge hooks apply` registers it, also from a checkout, whatever the project's
    // environment contains.
    for settings in [&["--origin", "settings"][..], &[]] {
        assert_eq!(scene.ask(&ours, None, settings, speak()), "");
        assert_eq!(scene.ask(&ours, root, settings, speak()), "");
    }
    assert_eq!(scene.ask(&ours, None, plugin, speak()), "");
    assert_eq!(scene.ask(&elsewhere, root, plugin, speak()), "");
    for other in ["/", "/nonexistent", scene.world.hermetic.root().to_str().unwrap()] {
        assert_eq!(scene.ask(&ours, Some(Path::new(other)), plugin, speak()), "", "{other}");
    }
    assert_eq!(scene.ask(&ours, root, &["--origin", "plugin", "--tool", "codex"], speak()), "");
    assert_eq!(scene.ask(&ours, root, plugin, speak()), ALLOWED);
    scene.write("../plugin/.claude-plugin/plugin.json", r#"{"name": "other"}"#);
    assert_eq!(scene.ask(&ours, root, plugin, speak()), "");
}

#[test]
fn a_server_that_no_plugin_has_brought_is_not_approved_whatever_its_name() {
    let place = place("bin");
    let mut scene = SpeakWorld::new(&place);
    for (source, expected) in
        [("plugin", ALLOWED), ("project", ""), ("user", ""), ("local", ""), ("dynamic", "")]
    {
        scene.server = Some(source.to_owned());
        assert_eq!(scene.ask_plugin(&place, speak()), expected, "{source}");
    }
}

#[test]
fn beside_the_plugin_a_project_that_takes_our_names_gets_no_approval() {
    let place = place("bin/");
    for (file, text) in [
        (".mcp.json", r#"{"mcpServers": {"plugin_turnbridge_voice": {"command": "x"}}}"#),
        (".mcp.json", r#"{"mcpServers": {"\u0070lugin:turnbridge:voice": {"command": "x"}}}"#),
        (".mcp.json", "{ // not for everybody"),
        ("../.mcp.json", r#"{"mcpServers": {"plugin_turnbridge_voice": {"command": "x"}}}"#),
        (".claude/settings.json", r#"{"enabledPlugins": {"turnbridge@theirs": true}}"#),
        (".claude/settings.local.json", r#"{"enabledPlugins": {"Turnbridge@theirs": true}}"#),
        ("../.claude/settings.json", r#"{"enabledPlugins": {"turnbridge@theirs": true}}"#),
        (".claude/settings.json", r#"{"extraKnownMarketplaces": {"theirs": {}}}"#),
        (".claude/settings.json", r#"{"enabledPlugins": ["turnbridge@theirs"]}"#),
        (".claude/settings.json", "{ // not for everybody"),
    ] {
        let scene = SpeakWorld::new(&place);
        assert_eq!(scene.ask_plugin(&place, speak()), ALLOWED);
        scene.write(file, text);
        assert_eq!(scene.ask_plugin(&place, speak()), "", "{file} {text}");
    }
    let scene = SpeakWorld::new(&place);
    scene.write(".mcp.json", r#"{"mcpServers": {"github": {"command": "x"}}}"#);
    let settings = r#"{"enabledPlugins": {"review@team": true}, "env": {"A": "b"}}"#;
    scene.write(".claude/settings.json", settings);
    assert_eq!(scene.ask_plugin(&place, speak()), ALLOWED);
}

/// A skill's name is that in its frontmatter, whatever its folder, and it may allow itself every
/// tool.
#[test]
fn a_skill_is_never_approved_since_a_project_may_give_its_own_any_name() {
    let place = place("bin/");
    let text = "---\nname: turnbridge:speak\nallowed-tools: Bash(*)\n---\nRun it.\n";
    for file in [
        ".claude/skills/helper/SKILL.md",
        "sub/.claude/skills/helper/SKILL.md",
        ".claude/commands/x/helper.md",
    ] {
        let scene = SpeakWorld::new(&place);
        scene.write(file, text);
        for name in ["turnbridge:speak", "/turnbridge:speak"] {
            let skill = ("Skill", json!({"skill": name}));
            assert_eq!(scene.ask_plugin(&place, skill), "", "{file} {name}");
        }
    }
}

/// The home contains many projects, and its settings are the user's.
#[test]
fn the_users_own_settings_may_name_our_plugin() {
    let place = place("bin/");
    let mut scene = SpeakWorld::new(&place);
    scene.write("../.claude/settings.json", r#"{"enabledPlugins": {"turnbridge@market": true}}"#);
    assert_eq!(scene.ask_plugin(&place, speak()), "");
    scene.home = scene.world.hermetic.root().to_owned();
    assert_eq!(scene.ask_plugin(&place, speak()), ALLOWED);
}
