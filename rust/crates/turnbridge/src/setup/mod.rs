//! Runs the set-up: from nothing to a turn that arrives in Slack or on the board, and a reply that
//! runs (SLV-6, SLV-9 to SLV-14). Each step explains itself, asks, acts, and reports; a flag can
//! replace each question. No file is half written: the config is one write, and other programs'
//! files are changed like by `turnbridge hooks` and `turnbridge codex notify`.

pub mod agents;
mod dialogue;
mod running;
mod secret_line;
mod slack;
pub mod slack_app;
mod trial;

use anyhow::Result;
use clap::ValueEnum;
use turnbridge_config::{Config, ConfigSetting, SlackConfig};
use turnbridge_core::ids::Agent;
use turnbridge_core::system::setup_texts::SetupText;
use turnbridge_core::text::texts::Language;
use turnbridge_store::paths::StatePaths;
use turnbridge_system::daemon_control;
use turnbridge_system::programs;
use turnbridge_system::registration::claude_hooks::claude_calls_us;
use turnbridge_system::wsl::{self, Distributions, Side};

use crate::config;
use crate::failure::note;
use dialogue::Dialogue;
use slack::{SlackEntries, SlackStep};

/// The user's decisions from the flags.
#[derive(Debug, Default)]
pub struct SetupOptions {
    pub language: Option<LanguageName>,
    pub no_questions: bool,
    pub no_slack: bool,
    pub bot_token_stdin: bool,
    pub app_token_stdin: bool,
    pub user: Option<String>,
    pub claude: Option<ClaudeWay>,
    pub codex: Option<CodexWay>,
    pub no_service: bool,
    pub no_test: bool,
    pub no_reply_test: bool,
    pub only_test: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LanguageName {
    Ja,
    En,
}

impl LanguageName {
    const fn language(self) -> Language {
        match self {
            LanguageName::Ja => Language::Japanese,
            LanguageName::En => Language::English,
        }
    }
}

/// How Claude Code comes to call us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ClaudeWay {
    /// Hooks in its `settings.json`
    Settings,
    /// The plugin, which you start or install yourself
    Plugin,
    /// Not at all
    None,
}

/// How Codex comes to call us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CodexWay {
    /// `notify` in its `config.toml`; another one that is there stays
    Notify,
    /// The same; another one that is there is run behind ours
    Chain,
    /// The same; another one that is there goes
    Replace,
    /// Not at all; the daemon still reads its rollouts
    None,
}

pub fn run(options: &SetupOptions) -> Result<()> {
    let paths = turnbridge_system::state_folder::state_paths()?;
    let before = config::read()?;
    let language = options.language.map_or(before.spoken_language(), LanguageName::language);
    let setup = Setup { dialogue: Dialogue::new(language, !options.no_questions), options, paths };
    if options.only_test {
        let channel = SetupChannel::with_slack(before.slack().is_some());
        return setup.try_out(&setup.registered_before(&before)?, channel).map(drop);
    }
    setup.run(&before)
}

/// The channel where turns arrive and replies come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SetupChannel {
    Slack,
    /// X36: there is no Slack, or it must stay unchanged.
    Board,
}

impl SetupChannel {
    const fn with_slack(is_there: bool) -> SetupChannel {
        if is_there { SetupChannel::Slack } else { SetupChannel::Board }
    }
}

struct Setup<'a> {
    dialogue: Dialogue,
    options: &'a SetupOptions,
    paths: StatePaths,
}

impl Setup<'_> {
    fn run(&self, before: &Config) -> Result<()> {
        let welcome = self.dialogue.text(SetupText::Welcome, &[env!("CARGO_PKG_VERSION")]);
        self.dialogue.heading(&welcome)?;
        self.show_agents(before)?;
        self.dialogue.heading("Slack")?;
        let channel = self.slack(before)?;
        let registered = self.register_agents()?;
        self.keep_running(channel)?;
        let is_tried = !self.options.no_test && self.try_out(&registered, channel)?;
        self.dialogue.heading(&self.dialogue.text(self.end(is_tried)?, &[]))
    }

    /// Returns the final text, by the current state of the files.
    fn end(&self, is_tried: bool) -> Result<SetupText> {
        let config = Config::read().unwrap_or_default();
        let is_there = |agent: &Agent| programs::agent(*agent, &config).is_some();
        let found: Vec<_> = Agent::ALL.into_iter().filter(is_there).collect();
        let needs_settings = found.iter().any(|agent| agent.has_hooks_in_settings());
        Ok(if found.is_empty() {
            SetupText::FinishedWithoutAgents
        } else if needs_settings && !claude_calls_us()? {
            SetupText::FinishedWithoutClaude
        } else if is_tried {
            SetupText::Finished
        } else {
            SetupText::FinishedUntried
        })
    }

    fn show_agents(&self, config: &Config) -> Result<()> {
        self.dialogue.heading(&self.dialogue.text(SetupText::AgentsHeading, &[]))?;
        let mut found = 0;
        for agent in Agent::ALL {
            let name = agent.product_name();
            let Some(program) = programs::agent(agent, config) else {
                self.dialogue.say(SetupText::AgentMissing, &[name])?;
                continue;
            };
            found += 1;
            let version = programs::version_of(&program);
            let version = version.map_or(String::new(), |[a, b, c]| format!(" {a}.{b}.{c}"));
            self.dialogue.print(&format!("{name}{version} (`{}`)", program.display()))?;
        }
        if found == 0 {
            self.dialogue.say(SetupText::NoAgents, &[])?;
        }
        self.show_wsl()
    }

    /// Shows the facts about WSL (KT-19, KT-31).
    fn show_wsl(&self) -> Result<()> {
        match wsl::side() {
            Side::Elsewhere => Ok(()),
            Side::Inside(_) => self.dialogue.say(SetupText::WslEnv, &[&wsl::wslenv()]),
            Side::Windows => {
                // Most machines have no WSL, which is no error.
                let found = Distributions::find(note).and_then(|wsl| wsl.installed());
                let names = found.unwrap_or_default();
                let names: Vec<_> = names
                    .iter()
                    .filter(|name| !name.is_internal())
                    .map(|name| name.as_str())
                    .collect();
                match names.as_slice() {
                    [] => Ok(()),
                    names => self.dialogue.say(SetupText::WslDistributions, &[&names.join(", ")]),
                }
            }
        }
    }

    /// Asks for Slack's settings, and writes all of them in one write.
    fn slack(&self, before: &Config) -> Result<SetupChannel> {
        let entered = self.ask_for_slack(before)?;
        let was_there = before.slack().is_some();
        let changed = self.save(entered.as_ref(), was_there)?;
        if changed {
            self.dialogue.say(SetupText::Saved, &[&config::path()?.display().to_string()])?;
        }
        Ok(SetupChannel::with_slack(entered.is_some() || (was_there && !self.options.no_slack)))
    }

    fn ask_for_slack(&self, before: &Config) -> Result<Option<SlackEntries>> {
        if self.options.no_slack {
            let is_there = before.slack().is_some();
            let text = if is_there { SetupText::SlackStays } else { SetupText::NoSlack };
            self.dialogue.say(text, &[])?;
            return Ok(None);
        }
        self.dialogue.say(SetupText::SlackAbout, &[])?;
        let is_given = self.options.bot_token_stdin
            || self.options.app_token_stdin
            || self.options.user.is_some();
        let is_whole = |slack: &&SlackConfig| {
            slack.app_token.is_some()
                && slack.target_user_id.is_some()
                && before.features.reply_resume
        };
        if let Some(slack) = before.slack().filter(is_whole)
            && !is_given
        {
            let user = slack.target_user_id.as_deref().unwrap_or_default();
            self.dialogue.say(SetupText::SlackIsSet, &[user])?;
            let question = self.dialogue.text(SetupText::ChangeIt, &[]);
            if !self.dialogue.ask_yes(&question, false)? {
                return Ok(None);
            }
        } else if !is_given && before.slack().is_none() {
            let question = self.dialogue.text(SetupText::UseSlack, &[]);
            if !self.dialogue.ask_yes(&question, true)? {
                self.dialogue.say(SetupText::NoSlack, &[])?;
                return Ok(None);
            }
        }
        let step = SlackStep {
            dialogue: &self.dialogue,
            options: self.options,
            before: before.slack(),
            api_url: before.slack_api_url.as_deref(),
            daemon_listens: daemon_control::is_running(&self.paths),
        };
        step.run().map(Some)
    }

    /// SLV-25, X37: stores the language too, because a service has no locale.
    fn save(&self, entered: Option<&SlackEntries>, was_there: bool) -> Result<bool> {
        let language = match self.dialogue.language {
            Language::Japanese => "ja",
            Language::English => "en",
        };
        let set = |section: &'static [&'static str], key: &'static str, value: toml_edit::Value| {
            ConfigSetting { section, key, value: Some(value) }
        };
        let mut settings = vec![set(&[], "language", language.into())];
        if let Some(SlackEntries { bot_token, app_token, user_id }) = entered {
            settings.extend([
                set(&["slack"], "bot_token", bot_token.expose().into()),
                set(&["slack"], "app_token", app_token.expose().into()),
                set(&["destinations", "dm"], "enabled", true.into()),
                set(&["destinations", "dm"], "target_user_id", user_id.as_str().into()),
            ]);
        }
        // A service exists for replies (SLV-88), and without Slack they come from the board.
        if entered.is_some() || !was_there {
            settings.push(set(&["features"], "reply_resume", true.into()));
        }
        config::set_all(settings)
    }
}
