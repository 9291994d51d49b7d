//! Builds the connection to Slack from the config: its address, its timeout, and the account's
//! name. Tests replace the address and shorten the times.

use turnbridge_slack::{ApiConnection, WebApi};
use turnbridge_store::state::slack_place;
use turnbridge_store::test_switch::{self, TestSwitch};

use crate::{Problem, SlackConfig};

/// Builds the client for Slack's web API. Returns an error if `slack.api_url` does not work.
pub fn web_api(slack: &SlackConfig) -> Result<WebApi, Problem> {
    let hint = "look at `slack.api_url`";
    WebApi::new(connection(slack)).map_err(|error| Problem::of_value(error.to_string(), hint))
}

/// Returns the name of the account, by which `slack_place` distinguishes places: it depends on the
/// token, the user and the address.
pub fn account(slack: &SlackConfig) -> String {
    let user = slack.target_user_id.as_deref().unwrap_or_default();
    let url = connection(slack).api_url;
    slack_place::account(slack.bot_token.expose(), user, url.as_deref())
}

/// Returns the address and the timeout of the connection.
pub fn connection(slack: &SlackConfig) -> ApiConnection {
    let url = test_switch::value(TestSwitch::SlackApiUrl);
    let usual = ApiConnection::default();
    ApiConnection {
        api_url: url.or(slack.api_url.clone()),
        timeout: usual.timeout / speed_up(),
        ..usual
    }
}

/// Returns the factor by which calls are faster than Slack wants: 1, except in tests.
pub fn speed_up() -> u32 {
    test_switch::parsed(TestSwitch::SlackTimeScale).unwrap_or(1).max(1)
}
