//! What several checks go by, looked up once.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use turnbridge_core::ids::Tool;
use turnbridge_core::scan::byte_order_mark::split_mark;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::clock;
use turnbridge_store::files::bounded_file;
use turnbridge_store::paths::StatePaths;
use turnbridge_system::programs;

use super::Network;
use super::in_time::{Pending, at_most};
use crate::config::Config;

/// For what is on this machine and answers within milliseconds.
const PATIENCE: Duration = Duration::from_secs(6);

/// No settings file is longer.
const LONGEST: u64 = 16 << 20;

/// Of this executable.
pub const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");

pub struct Scene {
    pub network: Network,
    pub now: Timestamp,
    /// `None`: the environment names no home.
    pub paths: Option<StatePaths>,
    pub config: Result<Config, BadConfig>,
    pub claude: Agent,
    pub codex: Agent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadConfig {
    pub text: String,
    pub hint: String,
}

/// An agent's program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Agent {
    Absent,
    /// `config.toml` names something that cannot be run.
    NoProgram(PathBuf),
    /// It does not tell its version.
    Silent(PathBuf),
    Found {
        path: PathBuf,
        version: [u32; 3],
    },
}

impl Agent {
    pub fn version(&self) -> Option<[u32; 3]> {
        match self {
            Agent::Found { version, .. } => Some(*version),
            _ => None,
        }
    }
}

impl Scene {
    pub fn look(network: Network) -> Scene {
        let config = read_config(Instant::now() + at_most(PATIENCE));
        let chosen = |tool: Tool| {
            let resume = config.as_ref().ok().map(|config| &config.resume)?;
            match tool {
                Tool::Claude => resume.claude.clone(),
                Tool::Codex => resume.codex.clone(),
            }
        };
        let agents = [Tool::Claude, Tool::Codex].map(|tool| {
            let chosen = chosen(tool);
            (tool, Pending::start(move || look_for_agent(tool, chosen)))
        });
        let deadline = Instant::now() + PATIENCE;
        let [claude, codex] = agents.map(|(tool, pending)| {
            pending.until(deadline).unwrap_or_else(|| Agent::Silent(tool.as_str().into()))
        });
        Scene { network, now: clock::now(), paths: StatePaths::from_env(), config, claude, codex }
    }

    /// As it is, or as if there were none.
    pub fn config(&self) -> &Config {
        static NONE: std::sync::LazyLock<Config> = std::sync::LazyLock::new(Config::default);
        self.config.as_ref().unwrap_or(&NONE)
    }

    /// The config asks for replies from Slack, and names what is needed for them.
    pub fn wants_replies(&self) -> bool {
        let config = self.config();
        let slack = config.slack.as_ref();
        config.features.reply_resume
            && slack
                .is_some_and(|slack| slack.app_token.is_some() && slack.target_user_id.is_some())
    }

    /// Our own state, if there is a folder to look into; whether there should be one is the
    /// business of `disk`.
    pub fn state(&self) -> Option<&StatePaths> {
        self.paths.as_ref().filter(|paths| paths.state_dir().is_dir())
    }
}

fn read_config(deadline: Instant) -> Result<Config, BadConfig> {
    let late = || {
        Err(BadConfig {
            text: "config.toml could not be read in time".to_owned(),
            hint: "make it a plain file on this machine".to_owned(),
        })
    };
    let read = Pending::start(|| {
        turnbridge_config::Config::read()
            .map_err(|problem| BadConfig { text: problem.to_string(), hint: problem.hint })
    });
    read.until(deadline).unwrap_or_else(late)
}

fn look_for_agent(tool: Tool, chosen: Option<PathBuf>) -> Agent {
    match (programs::find(tool.as_str(), chosen.as_deref()), chosen) {
        (None, Some(chosen)) => Agent::NoProgram(chosen),
        (None, None) => Agent::Absent,
        (Some(path), _) => match programs::version_of(&path) {
            Some(version) => Agent::Found { path, version },
            None => Agent::Silent(path),
        },
    }
}

/// What one of our own programs says of its version; `None`: it does not run.
pub fn version_of_ours(program: &Path) -> Option<String> {
    let answer =
        programs::ask(Command::new(program).arg("--version"), Duration::from_secs(5)).ok()?;
    let version = answer.text().split_whitespace().next_back()?.to_owned();
    let is_version = version.starts_with(|first: char| first.is_ascii_digit());
    (answer.status.success() && is_version).then_some(version)
}

/// Where one of ours lies, or should.
pub fn own_path(name: &str) -> PathBuf {
    programs::own(name).unwrap_or_else(|_| beside_this(name))
}

/// The file in the folder of this executable.
pub fn beside_this(name: &str) -> PathBuf {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    std::env::current_exe().unwrap_or_default().with_file_name(name)
}

/// A text of somebody else's; `None`: there is no such file.
pub fn read_text(path: &Path) -> Result<Option<String>, String> {
    let bytes = bounded_file::read_if_there(path, LONGEST).map_err(|error| error.to_string())?;
    bytes.map(String::from_utf8).transpose().map_err(|_| "it is no UTF-8".to_owned())
}

/// What can be read of a JSON file; anything else is null. Claude allows a mark in front.
pub fn read_json(path: &Path) -> serde_json::Value {
    let text = read_text(path).ok().flatten().unwrap_or_default();
    serde_json::from_str(split_mark(&text).1).unwrap_or_default()
}
