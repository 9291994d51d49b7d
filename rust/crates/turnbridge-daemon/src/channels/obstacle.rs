//! What prevents the use of a channel, for people.

use turnbridge_config::Problem;
use turnbridge_core::ids::ChannelName;

/// The reason why nothing can be delivered on a channel, and what fixes it.
#[derive(Debug, Clone)]
pub struct Obstacle {
    pub text: String,
    pub hint: String,
}

impl Obstacle {
    pub fn new(text: impl Into<String>, hint: impl Into<String>) -> Obstacle {
        Obstacle { text: text.into(), hint: hint.into() }
    }

    pub fn not_configured(channel: &ChannelName) -> Obstacle {
        match *channel == ChannelName::SLACK {
            true => Obstacle::new("no Slack is configured", "set `slack.bot_token` in config.toml"),
            false => Obstacle::new(
                format!("the channel `{channel}` is not configured"),
                "look at config.toml",
            ),
        }
    }
}

impl From<Problem> for Obstacle {
    fn from(problem: Problem) -> Obstacle {
        Obstacle::new(problem.to_string(), problem.hint)
    }
}
