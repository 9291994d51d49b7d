//! Runs the real codex in a test: with a scripted model and optionally with the plugin, installed
//! from the marketplace's tree like by a user. Its hooks run untrusted, by the flag for that: only
//! the terminal can grant trust.

use std::ffi::OsStr;
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::SystemTime;

use serde_json::Value;
use testkit::{Codex, Hermetic, ResponsesApi, Script};

use crate::support::agent_home::{AgentHome, stdout_of};
use crate::support::packages;

/// Codex's default models write code instead of calling tools by name, and only they have the
/// current kind of sub-agents.
pub const CODE_MODEL: [&str; 2] = ["--model", "gpt-6.1-sol"];

/// A real codex with a scripted model, in its own home.
pub struct CodexWorld {
    pub codex: Codex,
    pub api: ResponsesApi,
    agent_home: AgentHome,
    has_plugin: bool,
}

impl CodexWorld {
    /// Creates a world without the plugin.
    #[track_caller]
    pub fn bare(codex: Codex, script: impl Into<Script>) -> CodexWorld {
        let agent_home = AgentHome::new(Hermetic::new());
        CodexWorld { api: ResponsesApi::start(script), codex, agent_home, has_plugin: false }
    }

    /// Creates a world with the plugin installed.
    #[track_caller]
    pub fn with_plugin(codex: Codex, script: impl Into<Script>) -> CodexWorld {
        CodexWorld::with_plugin_in(Hermetic::new(), codex, script)
    }

    #[track_caller]
    pub fn with_plugin_in(
        hermetic: Hermetic,
        codex: Codex,
        script: impl Into<Script>,
    ) -> CodexWorld {
        let agent_home = AgentHome::new(hermetic);
        let mut world =
            CodexWorld { api: ResponsesApi::start(script), codex, agent_home, has_plugin: false };
        world.install_plugin();
        world
    }

    /// Installs the plugin from a local marketplace with a release's content.
    #[track_caller]
    pub fn install_plugin(&mut self) {
        let marketplace = packages::tree(self.hermetic.root());
        self.install_plugin_from(&[marketplace]);
    }

    /// Installs the plugin. `marketplace` contains the arguments after `codex plugin marketplace
    /// add`.
    #[track_caller]
    pub fn install_plugin_from(&mut self, marketplace: &[impl AsRef<OsStr>]) {
        self.has_plugin = true;
        let mut command = self.codex_without_hosts();
        stdout_of(&run(command.args(["plugin", "marketplace", "add"]).args(marketplace)));
        let mut command = self.codex_without_hosts();
        stdout_of(&run(command.args(["plugin", "add", "turnbridge@turnbridge"])));
    }

    /// Returns Codex as started by both host applications.
    #[track_caller]
    pub fn codex(&self) -> Command {
        let mut command = self.codex_without_hosts();
        self.tvine.set_variables(&mut command);
        self.kawaii.set_variables(&mut command);
        if self.has_plugin {
            command.arg("--dangerously-bypass-hook-trust");
        }
        command
    }

    #[track_caller]
    fn codex_without_hosts(&self) -> Command {
        let mut command = self.codex.command(&self.hermetic, &self.api);
        if self.has_plugin {
            command.args(["--enable", "plugins"]);
        }
        command
    }

    /// Returns `codex exec` with its events as JSON lines on standard output, and empty input.
    #[track_caller]
    pub fn exec(&self, prompt: &str) -> Command {
        self.exec_with(&[prompt])
    }

    /// Returns `codex exec` with these arguments; otherwise like [`CodexWorld::exec`].
    #[track_caller]
    pub fn exec_with(&self, arguments: &[&str]) -> Command {
        let mut command = self.codex();
        command.args(["exec", "--skip-git-repo-check", "--json"]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Returns `turnbridge codex state --json` of a thread or a file.
    #[track_caller]
    pub fn state(&self, thread: &str) -> Value {
        self.turnbridge(&["codex", "state", thread, "--json"])
    }

    /// Returns the files of all threads, oldest first.
    pub fn rollouts(&self) -> Vec<PathBuf> {
        self.codex.rollouts(&self.hermetic)
    }

    /// Returns the id of the only thread with a file, which is written before the first answer.
    #[track_caller]
    pub fn only_thread(&self) -> String {
        match self.rollouts().as_slice() {
            [rollout] => thread_of(rollout),
            others => panic!("not one thread: {others:?}"),
        }
    }

    /// Returns Codex's own settings: their bytes, and their modification time.
    #[track_caller]
    pub fn codex_config(&self) -> (Vec<u8>, SystemTime) {
        let path = self.hermetic.codex_home().join("config.toml");
        let written = fs::metadata(&path).and_then(|metadata| metadata.modified());
        (fs::read(&path).expect("read Codex's config.toml"), written.expect("when it was written"))
    }
}

/// Gives tests the methods of the home.
impl Deref for CodexWorld {
    type Target = AgentHome;

    fn deref(&self) -> &AgentHome {
        &self.agent_home
    }
}

/// Runs a command of Codex and returns its output.
#[track_caller]
pub fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("run codex: {error}"))
}

/// Returns the events of a type from `codex exec`'s standard output.
#[track_caller]
pub fn told(output: &Output, kind: &str) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    let events = text.lines().map(|line| serde_json::from_str(line).expect(line));
    events.filter(|event: &Value| event["type"] == kind).collect()
}

/// Returns the thread of a `codex exec` from its own events.
#[track_caller]
pub fn thread_told(output: &Output) -> String {
    match told(output, "thread.started").as_slice() {
        [started] => started["thread_id"].as_str().expect("a thread's id").to_owned(),
        others => panic!("not one thread: {others:?}, {output:?}"),
    }
}

/// Returns the thread's id from the end of a rollout's file name.
#[track_caller]
pub fn thread_of(rollout: &Path) -> String {
    const LENGTH_OF_A_UUID: usize = 36;
    let name = rollout.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let begin = name.len().checked_sub(LENGTH_OF_A_UUID);
    let id = begin.and_then(|begin| name.get(begin..));
    id.unwrap_or_else(|| panic!("no id in `{}`", rollout.display())).to_owned()
}
