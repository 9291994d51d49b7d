//! Creates a set-up without problems for the tests of doctor: the executables in a separate folder,
//! stand-ins for the agents and an engine, a loopback Slack, registered hooks and notify, and a
//! known session.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use testkit::{SlackApi, SlackSetup, StandIn};

use crate::schemas;
use crate::support::world::{World, assert_silent_success, feed, payload};

pub const CONFIG: &str = "language = \"en\"
[slack]
bot_token = \"xoxb-loopback-bot\"
app_token = \"xapp-loopback-app\"
[destinations.dm]
target_user_id = \"U0OWNER\"
[gate]
enabled = false
";

const PROGRAMS: [(&str, &str); 4] = [
    ("turnbridge", env!("CARGO_BIN_EXE_turnbridge")),
    ("turnbridge-status", env!("CARGO_BIN_EXE_turnbridge-status")),
    ("turnbridge-stop-gate", env!("CARGO_BIN_EXE_turnbridge-stop-gate")),
    ("turnbridge-notify", env!("CARGO_BIN_EXE_turnbridge-notify")),
];

/// A set-up without problems. A drop stops its daemon.
pub struct HealthySetup {
    pub world: World,
    pub slack: SlackApi,
}

/// The output of `doctor --json`, checked against its schema.
pub struct DoctorReport(pub Value);

impl HealthySetup {
    /// Creates a set-up that needs no daemon.
    pub fn new() -> HealthySetup {
        HealthySetup::with_config(CONFIG)
    }

    /// Creates a set-up with replies, which need a daemon. It runs none.
    pub fn with_replies() -> HealthySetup {
        HealthySetup::with_config(&format!("{CONFIG}[features]\nreply_resume = true\n"))
    }

    fn with_config(config: &str) -> HealthySetup {
        let slack = SlackApi::start(SlackSetup::default());
        let world = World::new()
            .with("TURNBRIDGE_SLACK_API_URL", &slack.base_url())
            .with("TURNBRIDGE_SLACK_TIME_SCALE", "20");
        let bin = world.hermetic.root().join("bin");
        let world = world.with("PATH", bin.to_str().unwrap());
        world.configure(config);
        let healthy = HealthySetup { world, slack };
        healthy.stand_in("claude", "echo '2.1.197 (Claude Code)'");
        healthy.stand_in("codex", "echo 'codex-cli 0.166.0'");
        // The preferred engine of Linux, and that of macOS.
        healthy.stand_in("spd-say", "exit 0");
        healthy.stand_in("say", "exit 0");
        fs::create_dir(healthy.programs()).unwrap();
        for (name, original) in PROGRAMS {
            let copy = healthy.programs().join(name);
            // A link is faster, but impossible across disks.
            if fs::hard_link(original, &copy).is_err() {
                fs::copy(original, &copy).unwrap();
            }
        }
        healthy.turnbridge(&["hooks", "apply", "--yes"]);
        healthy.turnbridge(&["codex", "notify", "apply", "--yes"]);
        let prompt = payload("UserPromptSubmit", json!({"prompt": "fix it"}));
        let mut hook = healthy.command("turnbridge-status");
        hook.args(["--origin", "settings"]);
        assert_silent_success(&feed(hook, prompt.to_string().as_bytes()));
        healthy
    }

    /// Returns the folder of the installed executables.
    pub fn programs(&self) -> PathBuf {
        self.world.hermetic.root().join("programs")
    }

    /// Returns the path of Claude's settings.json.
    pub fn settings(&self) -> PathBuf {
        self.world.hermetic.claude_config_dir().join("settings.json")
    }

    pub fn codex_config(&self) -> PathBuf {
        self.world.hermetic.codex_home().join("config.toml")
    }

    /// Returns the path of a file in the state folder.
    pub fn state(&self, name: &str) -> PathBuf {
        self.world.hermetic.state_dir().join(name)
    }

    /// Installs a stand-in on the PATH.
    pub fn stand_in(&self, name: &str, answer: &str) {
        StandIn::new(&self.world.hermetic.root().join("bin"), name, answer);
    }

    /// Replaces an executable by a script. It does not write into it, because the file has other
    /// links.
    pub fn replace_program(&self, path: &Path, script: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(path);
        testkit::write_program(path, &format!("#!/bin/sh\n{script}\n"));
    }

    /// Changes Claude's settings.json. Panics if the text stays the same.
    pub fn change_settings(&self, change: impl Fn(&str) -> String) {
        let text = fs::read_to_string(self.settings()).unwrap();
        let changed = change(&text);
        assert_ne!(changed, text);
        fs::write(self.settings(), changed).unwrap();
    }

    /// Changes `config.toml`. Panics if the text stays the same.
    pub fn change_config(&self, change: impl Fn(&str) -> String) {
        let path = self.world.hermetic.config_dir().join("config.toml");
        let text = fs::read_to_string(&path).unwrap();
        let changed = change(&text);
        assert_ne!(changed, text);
        self.world.configure(&changed);
    }

    pub fn make_readable_by_all(&self, path: &Path) {
        fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
    }

    /// Writes a private state file.
    pub fn write_state(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.state(name);
        let folder = path.parent().unwrap();
        if !folder.exists() {
            fs::create_dir_all(folder).unwrap();
            fs::set_permissions(folder, Permissions::from_mode(0o700)).unwrap();
        }
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        path
    }

    /// Returns a call of an installed executable in the world's environment.
    pub fn command(&self, program: &str) -> Command {
        // Uses the world's environment, but the program that is installed here.
        let template = self.world.command("turnbridge");
        let mut command = Command::new(self.programs().join(program));
        command.env_clear().current_dir(self.world.hermetic.project());
        command.envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    }

    /// Runs `turnbridge` and returns its output, also if it fails.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command("turnbridge").args(arguments).output().unwrap()
    }

    /// Runs `turnbridge`, which must succeed.
    #[track_caller]
    pub fn turnbridge(&self, arguments: &[&str]) {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }

    /// Runs `doctor --json` and returns its report.
    #[track_caller]
    pub fn report(&self, options: &[&str]) -> DoctorReport {
        report_of(self.command("turnbridge").args(["doctor", "--json"]).args(options))
    }

    /// Returns the ids of all problems.
    #[track_caller]
    pub fn problems(&self, options: &[&str]) -> Vec<String> {
        self.report(options).problems()
    }

    /// Returns every file of the user's and of Turnbridge's except locks, with its bytes and mode.
    pub fn all_files(&self) -> Vec<(PathBuf, u32, Vec<u8>)> {
        let mut files = Vec::new();
        let mut folders = vec![self.world.hermetic.home()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_none_or(|extension| extension != "lock") {
                    let mode = fs::metadata(&path).unwrap().permissions().mode();
                    files.push((path.clone(), mode, fs::read(&path).unwrap()));
                }
            }
        }
        files.sort();
        files
    }

    /// Replaces the figures that differ between machines.
    pub fn without_figures(&self, stdout: &[u8]) -> String {
        let text = self.world.without_paths(std::str::from_utf8(stdout).unwrap());
        let text = text.replace("`say` speaks", "`spd-say` speaks");
        let text = text.replace(concat!(" ", env!("CARGO_PKG_VERSION"), ","), " VERSION,");
        let free = text.rfind(" MB free").map(|end| (text[..end].rfind(' ').unwrap() + 1, end));
        match free {
            Some((start, end)) => format!("{}SOME{}", &text[..start], &text[end..]),
            None => text,
        }
    }
}

impl Drop for HealthySetup {
    fn drop(&mut self) {
        // Ends a daemon that the test has started.
        let _ = self.run(&["daemon", "stop"]);
    }
}

impl DoctorReport {
    pub fn findings(&self) -> &[Value] {
        self.0["findings"].as_array().unwrap()
    }

    /// Returns the finding with this id, which must exist.
    #[track_caller]
    pub fn finding(&self, id: &str) -> &Value {
        let found = self.findings().iter().find(|finding| finding["id"] == id);
        found.unwrap_or_else(|| panic!("no `{id}` in {:#}", self.0))
    }

    /// Returns the ids of all findings that are not `ok`.
    pub fn problems(&self) -> Vec<String> {
        let problems = self.findings().iter().filter(|finding| finding["severity"] != "ok");
        problems.map(|finding| finding["id"].as_str().unwrap().to_owned()).collect()
    }
}

/// Runs doctor and returns its report. Checks the rules of all reports: the schema, the exit
/// status, and that each finding is documented.
#[track_caller]
pub fn report_of(command: &mut Command) -> DoctorReport {
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{output:?}"));
    schemas::check("doctor", &report);
    let expected = match report["worst"].as_str().unwrap() {
        "ok" | "note" => 0,
        "warning" => 1,
        _ => 2,
    };
    assert_eq!(output.status.code(), Some(expected), "{report:#}");
    assert!(output.stderr.is_empty(), "{output:?}");
    for token in ["loopback-bot", "loopback-app"] {
        assert!(!text.contains(token), "{text}");
    }
    let report = DoctorReport(report);
    for id in report.problems() {
        let documented = include_str!("../../../../../../docs/doctor.md");
        assert!(documented.contains(&format!("`{id}`")), "docs/doctor.md lacks `{id}`");
    }
    report
}
