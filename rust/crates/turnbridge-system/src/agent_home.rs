//! Returns the variable by which an agent finds its own folder (`CLAUDE_CONFIG_DIR`, `CODEX_HOME`),
//! and the value that a session needs. A session is stored in the folder of the agent that began
//! it, and an agent with another folder does not find it.

use std::path::Path;

use turnbridge_core::agents::agent_differences::HomeTrace;
use turnbridge_core::ids::Agent;
use turnbridge_core::session::Session;
use turnbridge_store::foreign::codex_rollouts;
use turnbridge_store::paths::home_dir;

/// A variable for the start of an agent, and the value that it must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomeVariable {
    pub name: &'static str,
    /// `None` if the variable must not be set.
    pub value: Option<String>,
}

impl HomeVariable {
    /// Returns `None` if it is unknown how the session's agent was started.
    pub fn of(session: &Session) -> Option<HomeVariable> {
        let agent = session.key.agent;
        let value = match agent.home_trace() {
            HomeTrace::HookVariable => session.current_run()?.host.config_dir.clone(),
            HomeTrace::Transcript => {
                let home = codex_rollouts::home_of(Path::new(session.transcript_path.as_deref()?))?;
                Some(home.to_str()?.to_owned())
            }
        };
        Some(HomeVariable { name: agent.home_variable(), value })
    }

    /// Returns whether the folder is the agent's usual one, and this process's environment names no
    /// other.
    pub fn is_usual(&self, agent: Agent) -> bool {
        let own = std::env::var_os(self.name);
        let Some(value) = &self.value else { return own.is_none() };
        let usual = agent.home_without_variable().and_then(|name| Some(home_dir()?.join(name)));
        usual.is_some_and(|usual| usual == Path::new(value))
            && own.is_none_or(|own| Path::new(&own) == Path::new(value))
    }
}
