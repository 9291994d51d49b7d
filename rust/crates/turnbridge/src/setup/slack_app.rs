//! Contains the manifest of the Slack app that each user creates, and makes the link to Slack's
//! form for it.

use serde_json::Value;
use turnbridge_slack::form::percent_encoded;

pub const MANIFEST: &str = include_str!("../../../../../docs/slack-app-manifest.json");

/// The scopes that the bot token needs.
pub const BOT_SCOPES: [&str; 3] = ["chat:write", "im:history", "im:write"];

/// Returns the address of Slack's form for a new app, with all fields filled in.
pub fn link() -> String {
    // The manifest is built in and tested below; compact JSON makes a shorter address.
    let manifest: Value = serde_json::from_str(MANIFEST).unwrap_or_default();
    let compact = manifest.to_string();
    format!("https://api.slack.com/apps?new_app=1&manifest_json={}", percent_encoded(&compact))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SLV-15.
    #[test]
    fn the_manifest_asks_for_what_turnbridge_needs_and_nothing_else_slv_19() {
        let manifest: Value = serde_json::from_str(MANIFEST).unwrap();
        assert_eq!(manifest["oauth_config"]["scopes"]["bot"], serde_json::json!(BOT_SCOPES));
        assert_eq!(manifest["oauth_config"]["scopes"].as_object().unwrap().len(), 1);
        let home = &manifest["features"]["app_home"];
        assert_eq!(home["messages_tab_enabled"], true);
        assert_eq!(home["messages_tab_read_only_enabled"], false);
        assert!(manifest["features"].get("assistant_view").is_none());
        let settings = &manifest["settings"];
        assert_eq!(settings["socket_mode_enabled"], true);
        assert_eq!(settings["interactivity"]["is_enabled"], true);
        assert_eq!(
            settings["event_subscriptions"]["bot_events"],
            serde_json::json!(["message.im"])
        );
        // Slack's own limits.
        let description = manifest["display_information"]["description"].as_str().unwrap();
        assert!(description.chars().count() <= 140);
    }

    #[test]
    fn the_link_carries_the_whole_manifest() {
        let link = link();
        let (_, encoded) = link.split_once("manifest_json=").unwrap();
        assert!(
            encoded.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"%-._~".contains(&byte))
        );
        let mut bytes = Vec::new();
        let mut rest = encoded.bytes();
        while let Some(byte) = rest.next() {
            let hex = |digit: Option<u8>| char::from(digit.unwrap()).to_digit(16).unwrap() as u8;
            bytes.push(if byte == b'%' { hex(rest.next()) * 16 + hex(rest.next()) } else { byte });
        }
        let decoded: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(decoded, serde_json::from_str::<Value>(MANIFEST).unwrap());
        assert!(link.len() < 2000, "some browsers take no more: {}", link.len());
    }
}
