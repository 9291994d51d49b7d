//! Reads and edits `config.toml`, which contains the decisions of the user. Every key in it is
//! optional. A reading error names the problem and its place.
//!
//! `codex_notify` plans edits of Codex's config file. The hooks do not use this crate: they read
//! the few values that they need with a scanner (`turnbridge_core::scan::toml_scan`), because a
//! TOML parser would double their size.

pub mod codex_homes;
pub mod codex_notify;
mod edit;
mod language;
mod problem;
mod section;
pub mod slack_connection;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use toml_edit::Document;
use turnbridge_core::agents::resume::{ClaudeNewlines, LiveSession};
use turnbridge_core::ids::{Agent, ChannelName};
use turnbridge_slack::{Token, TokenKind};
use turnbridge_store::paths;
use turnbridge_store::state::folder_trust::check_config;

pub use edit::{ConfigSetting, extend, set, set_all};
pub use problem::Problem;
use problem::read_text;
use section::Section;
pub use section::Unknown;

/// The ports that the board accepts. Browsers leave port 80 out of an address, and the system
/// reserves the ports below 1024.
const PORT: &str = "0 or a port from 1024 to 65535";

/// The words per minute that every engine accepts.
pub const RATES: RangeInclusive<i64> = 50..=600;

/// The values of `config.toml`, with defaults for missing keys.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// `ja` or `en`; `None` means that the locale decides.
    pub language: Option<String>,
    /// The channels that notify the user. There may be none: the board is enough (X36).
    pub channels: BTreeMap<ChannelName, ChannelConfig>,
    /// `slack.api_url`, even if there is no token yet.
    pub slack_api_url: Option<String>,
    pub features: Features,
    pub gate: GateConfig,
    pub voice: VoiceConfig,
    pub notify: NotifyConfig,
    pub resume: ResumeConfig,
    pub codex: CodexConfig,
    pub board: BoardConfig,
    /// The keys without a meaning, for callers that report on the file to the user.
    pub unknown: Vec<Unknown>,
    /// Whether the file contains tokens and other users may read it.
    pub is_exposed: bool,
}

/// The config of one channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelConfig {
    Slack(SlackConfig),
}

/// The Slack app and the user of `[slack]` and `[destinations.dm]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlackConfig {
    pub bot_token: Token,
    /// Needed for replies only.
    pub app_token: Option<Token>,
    pub api_url: Option<String>,
    /// `None` if there is a token but no user to write to (SLV-31).
    pub target_user_id: Option<String>,
}

/// `[features]`: whether replies run, and whether the service is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Features {
    pub reply_resume: bool,
    pub service_enabled: bool,
}

/// The switches of the Stop gate. `None` means that the file has no such line; other sources decide
/// then.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct GateConfig {
    pub enabled: Option<bool>,
    pub headless: Option<bool>,
}

/// `[voice]`: how texts are spoken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VoiceConfig {
    pub mute: bool,
    /// Words per minute.
    pub rate: Option<u16>,
    /// The engine's name of the voice for English.
    pub en: Option<String>,
    /// The engine's name of the voice for Japanese.
    pub ja: Option<String>,
}

/// `[notify]`: notices besides those of finished turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NotifyConfig {
    /// Whether a notice is also sent when an agent waits for an answer.
    pub waiting: bool,
}

/// The rules by which a reply becomes the next prompt of its session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResumeConfig {
    /// How a reply is treated if a terminal has the session open.
    pub live: LiveSession,
    pub claude_newlines: ClaudeNewlines,
    /// Whether a session that ran without permission prompts is resumed in that mode.
    pub allow_bypass: bool,
    /// The programs of the agents; `None` means the one on the PATH.
    pub claude: Option<PathBuf>,
    pub codex: Option<PathBuf>,
}

impl ResumeConfig {
    /// Returns the program that the user has named for an agent, or `None` for the one on the PATH.
    pub fn program(&self, agent: Agent) -> Option<&Path> {
        match agent {
            Agent::Claude => self.claude.as_deref(),
            Agent::Codex => self.codex.as_deref(),
        }
    }
}

/// `[codex]`: where Codex keeps its files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodexConfig {
    /// Folders of Codex besides `CODEX_HOME` or `~/.codex`, each absolute (KT-18: that of Windows,
    /// seen from WSL).
    pub homes: Vec<PathBuf>,
}

/// `[board]`: the page that the daemon serves on this machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BoardConfig {
    /// 0 means any free port.
    pub port: u16,
}

impl SlackConfig {
    /// Returns the entry for `Config::channels`.
    pub fn named(self) -> (ChannelName, ChannelConfig) {
        (ChannelName::SLACK, ChannelConfig::Slack(self))
    }
}

impl Config {
    /// Returns the config of Slack, if there is a bot token.
    pub fn slack(&self) -> Option<&SlackConfig> {
        let ChannelConfig::Slack(slack) = self.channels.get(&ChannelName::SLACK)?;
        Some(slack)
    }

    /// Reads the config file; a missing one is an empty config. Returns an error if another user
    /// could have changed the file, or if it cannot be parsed.
    pub fn read() -> Result<Config, Problem> {
        let path = path()?;
        check_config().map_err(|untrusted| Problem::of_access(&untrusted))?;
        let Some(text) = read_text(&path)? else { return Ok(Config::default()) };
        let config = parse(&text).map_err(|problem| problem.in_file(&path))?;
        let is_exposed = config.slack().is_some() && is_readable_by_others(&path);
        Ok(Config { is_exposed, ..config })
    }
}

/// Returns the path of `config.toml`. Returns an error if the home folder is not known.
pub fn path() -> Result<PathBuf, Problem> {
    paths::config_file().ok_or_else(Problem::no_home)
}

#[cfg(unix)]
fn is_readable_by_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

/// Returns false, because the folders of a user are private on such a system.
#[cfg(not(unix))]
fn is_readable_by_others(_path: &Path) -> bool {
    false
}

const SECTIONS: [&str; 9] =
    ["slack", "destinations", "features", "gate", "voice", "notify", "resume", "codex", "board"];

/// Parses the config. An unknown key may belong to a later version: it is listed, and otherwise
/// ignored.
fn parse(text: &str) -> Result<Config, Problem> {
    Problem::check_mark(text)?;
    let document = Document::parse(text).map_err(|error| Problem::of_syntax(text, &error))?;
    let mut top = Section::top(&document, text);
    let language = top.one_of("language", &["ja", "en"])?;
    top.know(&SECTIONS);
    let mut slack = Section::of(&document, &["slack"], text)?;
    let mut destinations = Section::of(&document, &["destinations"], text)?;
    destinations.know(&["dm"]);
    let mut dm = Section::of(&document, &["destinations", "dm"], text)?;
    let mut gate = Section::of(&document, &["gate"], text)?;
    let mut voice = Section::of(&document, &["voice"], text)?;
    let mut notify = Section::of(&document, &["notify"], text)?;
    let mut codex = Section::of(&document, &["codex"], text)?;
    let mut board = Section::of(&document, &["board"], text)?;
    let mut features = Section::of(&document, &["features"], text)?;
    let mut resume = Section::of(&document, &["resume"], text)?;
    let mut config = Config {
        language,
        channels: read_slack(&mut slack, &mut dm)?.into_iter().map(SlackConfig::named).collect(),
        slack_api_url: slack.text("api_url")?,
        gate: GateConfig { enabled: gate.boolean("enabled")?, headless: gate.boolean("headless")? },
        voice: VoiceConfig {
            mute: voice.boolean("mute")?.unwrap_or_default(),
            rate: voice.number("rate", RATES)?.and_then(|rate| u16::try_from(rate).ok()),
            en: voice.checked("en", "the name of a voice", check_voice_name)?,
            ja: voice.checked("ja", "the name of a voice", check_voice_name)?,
        },
        notify: NotifyConfig { waiting: notify.boolean("waiting")?.unwrap_or_default() },
        codex: CodexConfig {
            homes: codex
                .list("homes", "a list of absolute paths", check_absolute)?
                .unwrap_or_default(),
        },
        board: BoardConfig {
            port: board.checked_number("port", PORT, check_port)?.unwrap_or_default(),
        },
        features: read_features(&mut features)?,
        resume: read_resume(&mut resume)?,
        unknown: Vec::new(),
        is_exposed: false,
    };
    let sections =
        [top, slack, destinations, dm, gate, voice, notify, codex, board, features, resume];
    for section in sections {
        config.unknown.extend(section.unknown());
    }
    Ok(config)
}

fn read_slack(
    slack: &mut Section<'_>,
    dm: &mut Section<'_>,
) -> Result<Option<SlackConfig>, Problem> {
    let token = |kind: TokenKind| {
        move |text: &str| Token::parse(kind, text).ok_or_else(|| kind.prefix().to_owned())
    };
    let bot_token = slack.checked("bot_token", "a token `xoxb-…`", token(TokenKind::Bot))?;
    let app_token = slack.checked("app_token", "a token `xapp-…`", token(TokenKind::App))?;
    let api_url = slack.text("api_url")?;
    let is_wanted = dm.boolean("enabled")?.unwrap_or(true);
    let user = dm.checked("target_user_id", "a user's id `U…`", check_user_id)?;
    Ok(bot_token.map(|bot_token| SlackConfig {
        bot_token,
        app_token,
        api_url,
        target_user_id: user.filter(|_| is_wanted),
    }))
}

/// Reads `[features]`. A service without replies is an error, because it has no work (SLV-25).
fn read_features(features: &mut Section<'_>) -> Result<Features, Problem> {
    let reply_resume = features.boolean("reply_resume")?.unwrap_or_default();
    let launchd = features.boolean("launchd_enabled")?;
    let service = features.boolean("service_enabled")?;
    let service_enabled = service.or(launchd).unwrap_or_default();
    if service_enabled && !reply_resume {
        let key = if service.is_some() { "service_enabled" } else { "launchd_enabled" };
        return Err(features.problem(key, "must be `false` while `features.reply_resume` is"));
    }
    Ok(Features { reply_resume, service_enabled })
}

fn read_resume(resume: &mut Section<'_>) -> Result<ResumeConfig, Problem> {
    let live = resume.one_of("live", &["run", "hold", "pane"])?;
    let newlines = resume.one_of("claude_newlines", &["keep", "literal"])?;
    const PROGRAM: &str = "the whole path of a program";
    Ok(ResumeConfig {
        live: match live.as_deref() {
            Some("hold") => LiveSession::Hold,
            Some("pane") => LiveSession::Pane,
            _ => LiveSession::Run,
        },
        claude_newlines: match newlines.as_deref() {
            Some("literal") => ClaudeNewlines::Literal,
            _ => ClaudeNewlines::Keep,
        },
        allow_bypass: resume.boolean("allow_bypass")?.unwrap_or_default(),
        claude: resume.checked("claude", PROGRAM, check_program)?,
        codex: resume.checked("codex", PROGRAM, check_program)?,
    })
}

/// Accepts absolute paths only. A relative path would mean another program in every folder.
fn check_program(path: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(path);
    if path.is_absolute() { Ok(path) } else { Err("not absolute".to_owned()) }
}

/// Returns the id if it has the form of a user's id in Slack, else an error.
pub fn check_user_id(id: &str) -> Result<String, String> {
    let is_id = id.starts_with(['U', 'W'])
        && id.len() > 1
        && id.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    if is_id { Ok(id.to_owned()) } else { Err("no user's id".to_owned()) }
}

fn check_port(port: i64) -> Option<u16> {
    u16::try_from(port).ok().filter(|port| *port == 0 || *port >= 1_024)
}

fn check_absolute(path: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(path);
    if path.is_absolute() { Ok(path) } else { Err("not absolute".to_owned()) }
}

/// Returns the name if it can be that of a voice. It becomes a separate argument, so it must not
/// look like an option.
pub fn check_voice_name(name: &str) -> Result<String, String> {
    match name {
        "" => Err("the name is empty".to_owned()),
        _ if name.starts_with('-') => Err("a name does not begin with `-`".to_owned()),
        _ if name.contains(char::is_control) => Err("the name has control characters".to_owned()),
        _ => Ok(name.to_owned()),
    }
}

#[cfg(test)]
mod tests;
