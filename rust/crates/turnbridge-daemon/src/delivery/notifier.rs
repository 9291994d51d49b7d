//! Delivers what is queued, once: for `turnbridge-notify`, and for people who do not want to wait.

use std::path::Path;

use turnbridge_config::{Config, Slack as SlackConfig};
use turnbridge_core::text::texts::Language;
use turnbridge_slack::{Connection, WebApi};
use turnbridge_store::log::Field;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::folder_trust::trusted_state;
use turnbridge_store::state::{prune, recovery, slack_place};
use turnbridge_store::test_switch::{self, TestSwitch};
use turnbridge_store::{clock, log};

use crate::channels::slack::machine::machine;
use crate::delivery::{Drained, RealPace, RealSlack, Settings, drain};

/// Why nothing can be delivered at all.
#[derive(Debug, Clone)]
pub struct Obstacle {
    pub text: String,
    pub hint: String,
}

impl Obstacle {
    pub fn new(text: impl Into<String>, hint: impl Into<String>) -> Obstacle {
        Obstacle { text: text.into(), hint: hint.into() }
    }
}

/// The whole of `turnbridge-notify`: it never fails whoever started it.
pub fn run() {
    let Some(paths) = trusted_state() else { return };
    if let Err(obstacle) = deliver(&paths) {
        let fields = [("error", Field::Text(obstacle.text)), ("hint", Field::Text(obstacle.hint))];
        let message = "nothing can be delivered";
        log::write_log(&paths.notify_log(), clock::now(), "error", message, &fields);
    }
}

/// Clears away old files, for hooks that have no daemon to do so.
pub fn prune() {
    let Some(paths) = trusted_state() else { return };
    if let Err(error) = prune::prune_daily(&paths) {
        let fields = [("error", Field::Text(error.to_string()))];
        let message = "old files could not be cleared away";
        log::write_log(&paths.notify_log(), clock::now(), "warn", message, &fields);
    }
}

/// With the config as it is now.
pub fn deliver(paths: &StatePaths) -> Result<Drained, Obstacle> {
    let config = Config::read()
        .map_err(|problem| Obstacle::new(problem.to_string(), problem.hint.clone()))?;
    warn_if_exposed(&config, &paths.notify_log());
    for problem in recovery::recover(paths).problems {
        let fields = [("problem", Field::Text(problem))];
        let message = "what a hook has left could not be taken up";
        log::write_log(&paths.notify_log(), clock::now(), "warn", message, &fields);
    }
    Deliverer::new(config).deliver(paths)
}

pub fn warn_if_exposed(config: &Config, log: &Path) {
    if config.is_exposed {
        let fields = [("hint", Field::Text("run `chmod 600` on it".to_owned()))];
        let message = "others can read the tokens in config.toml";
        log::write_log(log, clock::now(), "warn", message, &fields);
    }
}

/// Delivers by one config, as often as it is asked to.
pub struct Deliverer {
    config: Config,
    api: Option<WebApi>,
    pace: RealPace,
}

impl Deliverer {
    pub fn new(config: Config) -> Deliverer {
        Deliverer { config, api: None, pace: RealPace::hasty(haste()) }
    }

    pub fn deliver(&mut self, paths: &StatePaths) -> Result<Drained, Obstacle> {
        let slack = self.config.slack.as_ref().ok_or_else(|| {
            Obstacle::new("no Slack is configured", "set `slack.bot_token` in config.toml")
        })?;
        let settings = settings(paths, &self.config, slack)?;
        let api = match self.api.take() {
            Some(api) => api,
            None => web_api(slack)?,
        };
        let api = self.api.insert(api);
        // Without it a reply would be nobody's.
        let machine = machine(paths).map_err(|error| {
            Obstacle::new(format!("machine.json: {error}"), "look at the state folder")
        })?;
        let account = account(slack);
        let token = &slack.bot_token;
        let real = RealSlack { api, token, machine: &machine, paths, account };
        drain(paths, &settings, &real, &mut self.pace).map_err(|error| {
            Obstacle::new(format!("the outbox: {error}"), "look at the state folder's permissions")
        })
    }
}

/// Slack, as the config names it.
pub fn web_api(slack: &SlackConfig) -> Result<WebApi, Obstacle> {
    WebApi::new(connection(slack))
        .map_err(|error| Obstacle::new(error.to_string(), "look at `slack.api_url`"))
}

/// By which `slack_place` knows whose place it is.
pub fn account(slack: &SlackConfig) -> String {
    let user = slack.target_user_id.as_deref().unwrap_or_default();
    let url = connection(slack).api_url;
    slack_place::account(slack.bot_token.expose(), user, url.as_deref())
}

pub fn connection(slack: &SlackConfig) -> Connection {
    let url = test_switch::value(TestSwitch::SlackApiUrl);
    let usual = Connection::default();
    Connection { api_url: url.or(slack.api_url.clone()), timeout: usual.timeout / haste(), ..usual }
}

/// How many times faster than Slack wants it: once, but in tests.
pub fn haste() -> u32 {
    test_switch::parsed(TestSwitch::SlackHaste).unwrap_or(1).max(1)
}

fn settings(
    paths: &StatePaths,
    config: &Config,
    slack: &SlackConfig,
) -> Result<Settings, Obstacle> {
    let user = slack.target_user_id.clone();
    let target_user_id = user.ok_or_else(|| {
        // SLV-31.
        Obstacle::new(
            "no destination is configured",
            "set `destinations.dm.target_user_id` in config.toml to your own id (`U…`)",
        )
    })?;
    let log = paths.notify_log().to_string_lossy().into_owned();
    Ok(Settings { target_user_id, language: language(config), log })
}

/// As the user has said, else as the locale says.
pub fn language(config: &Config) -> Language {
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"];
    let locale = locale.iter().find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
    let chosen = config.language.clone().or(locale).unwrap_or_default();
    Language::from_locale(&chosen)
}
