//! Checks `config.toml`: whether it is readable and valid, whether other users can read or change
//! it, and whether settings for Slack are missing.

use std::path::PathBuf;

use turnbridge_store::state::folder_trust::{Untrusted, check_config};

use super::check_context::{BadConfig, CheckContext};
use super::finding::{Area, Finding, Repair, problem_text};
use crate::config::Config;

struct ConfigFacts<'a> {
    config: &'a Config,
    path: PathBuf,
    exists: bool,
}

pub fn check(context: &CheckContext) -> Vec<Finding> {
    let path = turnbridge_config::path().ok();
    match &context.config {
        // Without a home, `disk` reports it.
        Err(_) if path.is_none() && context.paths.is_none() => Vec::new(),
        Err(bad) => vec![check_config().err().map_or_else(|| invalid(bad), untrusted)],
        Ok(config) => {
            let path = path.unwrap_or_default();
            findings(&ConfigFacts { config, exists: path.exists(), path })
        }
    }
}

fn invalid(bad: &BadConfig) -> Finding {
    let why =
        "it is not in force: a daemon that starts with it delivers nothing and hears no reply";
    Finding::error(Area::Config, "config-invalid", problem_text(&bad.text, why, &bad.hint))
}

fn untrusted(untrusted: Untrusted) -> Finding {
    let why =
        "others could name the programs that are run, and where the tokens go: it is not read";
    let wording = problem_text(untrusted.to_string(), why, untrusted.hint());
    let finding = Finding::error(Area::Config, "config-untrusted", wording);
    match untrusted.is_ours_to_mend() {
        true => finding.repaired_by(Repair::MakePrivate(vec![untrusted.path])),
        false => finding,
    }
}

fn findings(facts: &ConfigFacts<'_>) -> Vec<Finding> {
    let ConfigFacts { config, path, exists } = facts;
    let shown = path.display();
    let mut findings = Vec::new();
    if config.unknown.is_empty() {
        let what = match exists {
            true => format!("`{shown}` is valid"),
            false => format!("there is no `{shown}`; everything is as it comes"),
        };
        findings.push(Finding::ok(Area::Config, "config", what));
    } else {
        let unknown: Vec<_> = config.unknown.iter().map(ToString::to_string).collect();
        let what = format!("`{shown}`: there is no {}", unknown.join(", "));
        let why = "what is not known is ignored; it may be a slip of the pen";
        let wording = problem_text(
            what,
            why,
            "correct the key, or take it out (docs/schemas/config.schema.json)",
        );
        findings.push(Finding::warning(Area::Config, "config-unknown-key", wording));
    }
    if config.is_exposed {
        let what = format!("others can read the tokens in `{shown}`");
        let why = "anyone who has them can write as the app, and read messages to it";
        let wording = problem_text(what, why, format!("run `chmod 600 {shown}`"));
        let repair = Repair::MakePrivate(vec![path.clone()]);
        findings
            .push(Finding::warning(Area::Config, "config-exposed", wording).repaired_by(repair));
    }
    findings.extend(of_slack(config));
    findings
}

fn of_slack(config: &Config) -> Vec<Finding> {
    let Some(slack) = config.slack() else {
        let why =
            "turns and replies stay on this machine: the board is their only place (docs/board.md)";
        let fix = "set `slack.bot_token` and `destinations.dm.target_user_id` in config.toml (docs/slack.md)";
        return vec![Finding::note(
            Area::Config,
            "slack-absent",
            problem_text("no Slack is configured", why, fix),
        )];
    };
    let mut findings = Vec::new();
    if slack.target_user_id.is_none() {
        let what = "there is a bot token, but no user to write to";
        let why = "notices are not delivered";
        let fix = "set `destinations.dm.target_user_id` to your own id (`U…`), and `destinations.dm.enabled` not to false";
        findings.push(Finding::warning(
            Area::Config,
            "slack-no-recipient",
            problem_text(what, why, fix),
        ));
    }
    if config.features.reply_resume && slack.app_token.is_none() {
        let what = "`features.reply_resume` is on, but `slack.app_token` is missing";
        let why = "replies in Slack do not arrive";
        let fix = "make an app-level token with `connections:write` (docs/slack.md), and set `slack.app_token`";
        findings.push(Finding::error(
            Area::Config,
            "replies-without-token",
            problem_text(what, why, fix),
        ));
    }
    findings
}
