//! Describes why nothing can be delivered on a channel, in a text and a hint for users.

use turnbridge_config::Problem;
use turnbridge_core::ids::ChannelName;

/// The reason why nothing can be delivered on a channel, and what fixes it.
#[derive(Debug, Clone)]
pub struct DeliveryObstacle {
    pub text: String,
    pub hint: String,
}

impl DeliveryObstacle {
    pub fn new(text: impl Into<String>, hint: impl Into<String>) -> DeliveryObstacle {
        DeliveryObstacle { text: text.into(), hint: hint.into() }
    }

    /// Returns the obstacle of a channel that is missing in the config.
    pub fn not_configured(channel: &ChannelName) -> DeliveryObstacle {
        match *channel == ChannelName::SLACK {
            true => DeliveryObstacle::new(
                "no Slack is configured",
                "set `slack.bot_token` in config.toml",
            ),
            false => DeliveryObstacle::new(
                format!("the channel `{channel}` is not configured"),
                "look at config.toml",
            ),
        }
    }
}

impl From<Problem> for DeliveryObstacle {
    fn from(problem: Problem) -> DeliveryObstacle {
        DeliveryObstacle::new(problem.to_string(), problem.hint)
    }
}
