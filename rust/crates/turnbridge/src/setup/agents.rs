//! Registers Turnbridge with the agents during the set-up. The functions of the separate commands
//! show the changes of the agents' files and ask for consent.

use std::path::PathBuf;

use anyhow::Result;
use turnbridge_config::Config;
use turnbridge_config::codex_notify::{NotifyKeyStatus, NotifyMode};
use turnbridge_core::ids::Agent;
use turnbridge_core::system::setup_texts::SetupText;
use turnbridge_system::registration::claude_hooks::{self, WantedHooks};
use turnbridge_system::registration::claude_plugin;
use turnbridge_system::registration::codex_notify::{self, NotifyStatus};
use turnbridge_system::wsl::WslTarget;
use turnbridge_system::{plugin_layout, programs};

use super::{ClaudeWay, CodexWay, Setup};
use crate::config;
use crate::consent::Consent;
use crate::failure::note;
use crate::register;

/// An agent whose turns Turnbridge sees.
pub struct RegisteredAgent {
    pub agent: Agent,
    pub program: PathBuf,
    /// The plugin's folder, which only Claude Code needs as an argument.
    pub plugin_folder: Option<PathBuf>,
}

impl Setup<'_> {
    /// Registers each agent that is found, if the user wants it. Returns those whose turns
    /// Turnbridge sees.
    pub fn register_agents(&self) -> Result<Vec<RegisteredAgent>> {
        let config = config::read()?;
        let mut enabled = Vec::new();
        for agent in Agent::ALL {
            let Some(program) = programs::agent(agent, &config) else { continue };
            self.dialogue.heading(agent.product_name())?;
            enabled.extend(match agent {
                Agent::Claude => self.register_claude(program)?,
                Agent::Codex => self.register_codex(program)?,
            });
        }
        Ok(enabled)
    }

    /// Returns the agents that are registered already, for a run of the test alone.
    pub fn registered_before(&self, config: &Config) -> Result<Vec<RegisteredAgent>> {
        let mut enabled = Vec::new();
        for agent in Agent::ALL {
            let Some(program) = programs::agent(agent, config) else { continue };
            if !agent.has_hooks_in_settings() || claude_hooks::claude_calls_us()? {
                enabled.push(RegisteredAgent { agent, program, plugin_folder: None });
            }
        }
        Ok(enabled)
    }

    /// SLV-9: registers by default if a settings file exists.
    fn register_claude(&self, program: PathBuf) -> Result<Option<RegisteredAgent>> {
        let registered =
            |plugin_folder| Some(RegisteredAgent { agent: Agent::Claude, program, plugin_folder });
        let plugin = plugin_layout::own_plugin();
        match self.options.claude {
            Some(ClaudeWay::None) => return Ok(None),
            Some(ClaudeWay::Plugin) => {
                if let Some(folder) = &plugin {
                    let folder = folder.display().to_string();
                    self.dialogue.say(SetupText::ClaudePluginHint, &[&folder])?;
                }
                return Ok(registered(plugin));
            }
            None if claude_plugin::is_enabled() => {
                self.dialogue.say(SetupText::ClaudeByPlugin, &[])?;
                return Ok(registered(None));
            }
            Some(ClaudeWay::Settings) | None => {}
        }
        let file = claude_hooks::settings_file()?;
        let path = file.path().display().to_string();
        let question = self.dialogue.text(SetupText::ClaudeQuestion, &[&path]);
        let is_wanted = self.options.claude.is_some()
            || self.dialogue.ask_yes(&question, file.path().exists())?;
        if !is_wanted {
            if let Some(folder) = plugin {
                let folder = folder.display().to_string();
                self.dialogue.say(SetupText::ClaudePluginHint, &[&folder])?;
            }
            return Ok(None);
        }
        let consent = self.consent(self.options.claude.is_some());
        let config = config::read_or_default();
        let registration = WantedHooks::default().registration(&WslTarget::Here, &config, note)?;
        let is_applied = register::apply_hooks(consent, &WslTarget::Here, &registration)?;
        Ok(registered(None).filter(|_| is_applied))
    }

    /// X1: registers only on request. Another program in the config stays unless the user decides
    /// otherwise.
    fn register_codex(&self, program: PathBuf) -> Result<Option<RegisteredAgent>> {
        // The daemon reads the rollouts, so that the test works in either case.
        let registered =
            Some(RegisteredAgent { agent: Agent::Codex, program, plugin_folder: None });
        let NotifyStatus { path, found, .. } = codex_notify::status(&WslTarget::Here)?;
        let mode = match (self.options.codex, &found) {
            (Some(CodexWay::None), _) => None,
            (Some(CodexWay::Chain), _) => Some(NotifyMode::Chain),
            (Some(CodexWay::Replace), _) => Some(NotifyMode::Replace),
            (Some(CodexWay::Notify), NotifyKeyStatus::Foreign(_)) => {
                self.say_what_codex_has(&found)?;
                None
            }
            (Some(CodexWay::Notify), _) => Some(NotifyMode::LeaveExisting),
            (None, NotifyKeyStatus::Foreign(_)) => {
                self.say_what_codex_has(&found)?;
                let question = self.dialogue.text(SetupText::CodexChainQuestion, &[]);
                self.dialogue.ask_yes(&question, false)?.then_some(NotifyMode::Chain)
            }
            (None, _) => {
                let question =
                    self.dialogue.text(SetupText::CodexQuestion, &[&path.display().to_string()]);
                let is_wanted = self.dialogue.ask_yes(&question, path.exists())?;
                is_wanted.then_some(NotifyMode::LeaveExisting)
            }
        };
        match mode {
            Some(mode) => {
                let consent = self.consent(self.options.codex.is_some());
                register::apply_notify(consent, &WslTarget::Here, mode)?;
            }
            None => self.dialogue.say(SetupText::CodexWithoutNotify, &[])?,
        }
        Ok(registered)
    }

    fn say_what_codex_has(&self, found: &NotifyKeyStatus) -> Result<()> {
        let NotifyKeyStatus::Foreign(argv) = found else { return Ok(()) };
        self.dialogue.say(SetupText::CodexHasNotify, &[&argv.join(" ")])
    }

    /// Returns the consent: the change is shown, and asked for unless a flag decides or there is no
    /// user to ask.
    fn consent(&self, is_given: bool) -> Consent {
        let yes = is_given || !self.dialogue.is_interactive;
        Consent { dry_run: false, yes, language: self.dialogue.language }
    }
}
