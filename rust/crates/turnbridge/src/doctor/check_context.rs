//! Gathers the facts that several checks use, once.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use turnbridge_core::ids::Agent;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::clock;
use turnbridge_store::paths::StatePaths;
use turnbridge_system::programs;

use super::Network;
use super::deadline::{BackgroundWork, at_most};
use crate::config::Config;

/// The timeout for local queries, which normally take milliseconds.
const TIMEOUT: Duration = Duration::from_secs(6);

/// The version of this executable.
pub const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");

pub struct CheckContext {
    pub network: Network,
    pub now: Timestamp,
    /// The state's paths, or `None` if the environment names no home.
    pub paths: Option<StatePaths>,
    pub config: Result<Config, BadConfig>,
    pub claude: AgentProgram,
    pub codex: AgentProgram,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadConfig {
    pub text: String,
    pub hint: String,
}

/// The program of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentProgram {
    Absent,
    /// `config.toml` names a file that cannot be run.
    NoProgram(PathBuf),
    /// It does not print its version.
    Silent(PathBuf),
    Found {
        path: PathBuf,
        version: [u32; 3],
    },
}

impl AgentProgram {
    pub fn version(&self) -> Option<[u32; 3]> {
        match self {
            AgentProgram::Found { version, .. } => Some(*version),
            _ => None,
        }
    }
}

impl CheckContext {
    pub fn gather(network: Network) -> CheckContext {
        let config = read_config(Instant::now() + at_most(TIMEOUT));
        let chosen = |agent: Agent| {
            let config = config.as_ref().ok()?;
            config.resume.program(agent).map(std::path::Path::to_owned)
        };
        let agents = Agent::ALL.map(|agent| {
            let chosen = chosen(agent);
            (agent, BackgroundWork::start(move || look_for_agent(agent, chosen)))
        });
        let deadline = Instant::now() + TIMEOUT;
        let [claude, codex] = agents.map(|(agent, pending)| {
            pending.until(deadline).unwrap_or_else(|| AgentProgram::Silent(agent.as_str().into()))
        });
        CheckContext {
            network,
            now: clock::now(),
            paths: StatePaths::from_env(),
            config,
            claude,
            codex,
        }
    }

    /// Returns the config, or the default if it is invalid.
    pub fn config(&self) -> &Config {
        static NONE: std::sync::LazyLock<Config> = std::sync::LazyLock::new(Config::default);
        self.config.as_ref().unwrap_or(&NONE)
    }

    /// Returns whether the config enables replies from Slack and contains the settings they need.
    pub fn wants_replies(&self) -> bool {
        let config = self.config();
        let slack = config.slack();
        config.features.reply_resume
            && slack
                .is_some_and(|slack| slack.app_token.is_some() && slack.target_user_id.is_some())
    }

    /// Returns the state's paths if the folder exists; `disk` checks whether it should exist.
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
    let read = BackgroundWork::start(|| {
        turnbridge_config::Config::read()
            .map_err(|problem| BadConfig { text: problem.to_string(), hint: problem.hint })
    });
    read.until(deadline).unwrap_or_else(late)
}

fn look_for_agent(agent: Agent, chosen: Option<PathBuf>) -> AgentProgram {
    match (programs::find(agent.as_str(), chosen.as_deref()), chosen) {
        (None, Some(chosen)) => AgentProgram::NoProgram(chosen),
        (None, None) => AgentProgram::Absent,
        (Some(path), _) => match programs::version_of(&path) {
            Some(version) => AgentProgram::Found { path, version },
            None => AgentProgram::Silent(path),
        },
    }
}

/// Returns the path where an executable of Turnbridge is, or should be.
pub fn own_path(name: &str) -> PathBuf {
    programs::own(name).unwrap_or_else(|_| beside_this(name))
}

/// Returns the path of a file in this executable's folder.
pub fn beside_this(name: &str) -> PathBuf {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    std::env::current_exe().unwrap_or_default().with_file_name(name)
}
