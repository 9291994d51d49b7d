//! Defines the format of `slack-place.json`: the direct message with the owner, and its workspace.

use serde::{Deserialize, Serialize};

use crate::ids::is_safe_component;
use crate::slack::reply_check::BotWorkspace;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlackPlace {
    pub version: u32,
    /// Identifies the token and the user; no secret.
    pub account: String,
    /// `D…`.
    pub channel: String,
    /// Absent: not fetched from Slack, or Slack named none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enterprise_id: Option<String>,
}

impl SlackPlace {
    pub fn is_valid(&self) -> bool {
        self.channel.starts_with('D') && is_safe_component(&self.channel)
    }

    pub fn workspace(&self) -> BotWorkspace<'_> {
        BotWorkspace {
            team_id: self.team_id.as_deref(),
            enterprise_id: self.enterprise_id.as_deref(),
        }
    }
}
