//! Delivers what is queued to Slack, by one config.

use turnbridge_config::slack_connection::{account, speed_up, web_api};
use turnbridge_config::{Config, Problem, Slack as SlackConfig};
use turnbridge_slack::WebApi;
use turnbridge_store::paths::StatePaths;

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

impl From<Problem> for Obstacle {
    fn from(problem: Problem) -> Obstacle {
        Obstacle::new(problem.to_string(), problem.hint)
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
        Deliverer { config, api: None, pace: RealPace::hasty(speed_up()) }
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
    Ok(Settings { target_user_id, language: config.spoken_language(), log })
}
