//! Runs the real claude in a test, with a scripted model and with this repository as the plugin.

use std::ops::Deref;
use std::process::Command;

use testkit::{Claude, Hermetic, MessagesApi, Script};

use crate::support::agent_home::AgentHome;
pub use crate::support::agent_home::{SessionSelection, executable, repository, stdout_of};

/// A real claude with a scripted model, in its own home.
pub struct ApiWorld {
    pub claude: Claude,
    pub api: MessagesApi,
    agent_home: AgentHome,
}

impl ApiWorld {
    /// Creates a world without the Stop gate, for tests of other features.
    #[track_caller]
    pub fn new(claude: Claude, script: impl Into<Script>) -> ApiWorld {
        let world = ApiWorld::with_gate(claude, script);
        world.configure("[gate]\nenabled = false\n");
        world
    }

    /// Creates a world with the default settings.
    #[track_caller]
    pub fn with_gate(claude: Claude, script: impl Into<Script>) -> ApiWorld {
        let agent_home = AgentHome::new(Hermetic::new());
        ApiWorld { api: MessagesApi::start(script), claude, agent_home }
    }

    /// Returns Claude with the plugin, as started by both host applications.
    pub fn claude(&self) -> Command {
        let mut command = self.claude_without_plugin();
        command.arg("--plugin-dir").arg(repository());
        command
    }

    /// Returns Claude without the plugin, as started by both host applications.
    pub fn claude_without_plugin(&self) -> Command {
        let mut command = self.claude.command(&self.hermetic, &self.api);
        self.tvine.set_variables(&mut command);
        self.kawaii.set_variables(&mut command);
        command
    }
}

/// Gives tests the methods of the home.
impl Deref for ApiWorld {
    type Target = AgentHome;

    fn deref(&self) -> &AgentHome {
        &self.agent_home
    }
}
