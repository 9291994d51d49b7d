//! Reads from the text of `config.toml` which notices the user wants, as far as the hooks need it.
//! Delivery reads the whole config.

use crate::ids::ChannelName;
use crate::scan::toml_scan::{TomlValue, find};

/// Returns the channels on which the user wants notices, from the text of `config.toml`.
pub fn wanted_channels(config: &[u8]) -> Vec<ChannelName> {
    let is_wanted = |channel: &ChannelName| match channel.as_str() {
        "slack" => wants_slack(config),
        _ => false,
    };
    ChannelName::KNOWN.into_iter().filter(is_wanted).collect()
}

/// Returns whether the text of `config.toml` names a Slack workspace and a recipient. If the text
/// cannot be parsed, the answer is yes: no notice is lost, and delivery reports the error.
fn wants_slack(config: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(config) else { return true };
    let is_there = |path: &[&str]| find(text, path).is_ok_and(|found| found.is_some());
    let is_off =
        find(text, &["destinations", "dm", "enabled"]) == Ok(Some(TomlValue::Bare("false")));
    match find(text, &["slack", "bot_token"]) {
        Err(_) => true,
        Ok(None) => false,
        // A token without a recipient is a mistake that delivery reports (SLV-31).
        Ok(Some(_)) => !is_off || !is_there(&["destinations", "dm", "target_user_id"]),
    }
}

/// Returns whether `[notify] waiting` is on: a notice is also sent when an agent waits for an
/// answer.
pub fn wants_waiting(config: &[u8]) -> bool {
    let text = std::str::from_utf8(config).unwrap_or_default();
    find(text, &["notify", "waiting"]) == Ok(Some(TomlValue::Bare("true")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x36_no_slack_is_a_valid_set_up_and_what_cannot_be_read_is_not_taken_for_it() {
        for (config, expected) in [
            ("", false),
            ("[gate]\nenabled = true", false),
            ("[slack]\napi_url = 'x'", false),
            ("[slack]\nbot_token = 'xoxb-1'", true),
            ("[slack]\nbot_token = 'xoxb-1'\n[destinations.dm]\ntarget_user_id = 'U1'", true),
            (
                "[slack]\nbot_token = 'x'\n[destinations.dm]\nenabled = false\ntarget_user_id = 'U1'",
                false,
            ),
            ("[slack\nbot_token = 'xoxb-1'", true),
        ] {
            assert_eq!(wants_slack(config.as_bytes()), expected, "{config}");
        }
        assert!(wants_slack(b"\xff"));
        assert!(wants_waiting(b"[notify]\nwaiting = true"));
        assert!(!wants_waiting(b"[notify]\nwaiting = 'true'"));
    }
}
