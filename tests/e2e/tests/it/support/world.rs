//! A test with the real claude: a scripted model, and this repository as the plugin.

use std::ops::Deref;
use std::process::Command;

use testkit::{Claude, Hermetic, MessagesApi, Script};

use crate::support::scene::Scene;
pub use crate::support::scene::{Which, executable, repository, stdout_of};

pub struct World {
    pub claude: Claude,
    pub api: MessagesApi,
    scene: Scene,
}

impl World {
    /// Creates a world without the Stop gate, for tests of other features.
    #[track_caller]
    pub fn new(claude: Claude, script: impl Into<Script>) -> World {
        let world = World::with_gate(claude, script);
        world.configure("[gate]\nenabled = false\n");
        world
    }

    /// Creates a world with the default settings.
    #[track_caller]
    pub fn with_gate(claude: Claude, script: impl Into<Script>) -> World {
        let scene = Scene::new(Hermetic::new());
        World { api: MessagesApi::start(script), claude, scene }
    }

    /// Returns Claude with the plugin, as started by both host applications.
    pub fn claude(&self) -> Command {
        let mut command = self.claude_without_plugin();
        command.arg("--plugin-dir").arg(repository());
        command
    }

    pub fn claude_without_plugin(&self) -> Command {
        let mut command = self.claude.command(&self.hermetic, &self.api);
        self.tvine.set_variables(&mut command);
        self.kawaii.set_variables(&mut command);
        command
    }
}

/// A world is a scene with claude in it.
impl Deref for World {
    type Target = Scene;

    fn deref(&self) -> &Scene {
        &self.scene
    }
}
