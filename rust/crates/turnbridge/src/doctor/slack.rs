//! Checks Slack: both tokens, their scopes, and whether the app can write to the user. It posts
//! nothing. Both tokens are checked in parallel with at most two calls each, so that an
//! unresponsive Slack costs ten seconds at most.

use std::sync::Arc;
use std::time::{Duration, Instant};

use turnbridge_config::SlackConfig;
use turnbridge_config::slack_connection::connection;
use turnbridge_core::ids::ChannelName;
use turnbridge_core::system::daemon_wire::{ListenerStatus, RepliesStatus};
use turnbridge_slack::{ApiConnection, CallError, TokenIdentity, WebApi};
use turnbridge_store::files::file_lock;
use turnbridge_store::state::outbox;
use turnbridge_system::daemon_control;

use super::Network;
use super::check_context::CheckContext;
use super::deadline::BackgroundWork;
use super::finding::{Area, Finding, problem_text};
use crate::setup::slack_app::BOT_SCOPES;

/// The timeouts of one call, of a connection, and of all calls.
const CALL: Duration = Duration::from_secs(5);
const CONNECT: Duration = Duration::from_secs(3);
const ALL: Duration = Duration::from_secs(12);

const APP_SCOPE: &str = "connections:write";
const MESSAGES_TAB: &str = "messages_tab_disabled";

struct SlackFacts {
    bot: Option<Bot>,
    /// The app token's result, or `None` without one.
    app: Option<App>,
    /// Slack has refused a notice because users cannot write to the app.
    is_messages_tab_off: bool,
    /// The number of connections for the app's events, as the daemon learnt it.
    connections: Option<u32>,
    /// The state of the daemon's polls for replies.
    replies: Option<RepliesStatus>,
}

#[derive(Debug, Clone)]
struct Bot {
    identity: Result<TokenIdentity, CallError>,
    /// The direct message, or `None` if it was not tried or has no recipient.
    direct_message: Option<Result<(), CallError>>,
}

#[derive(Debug, Clone)]
struct App {
    identity: Result<TokenIdentity, CallError>,
    socket: Option<Result<(), CallError>>,
}

pub fn check(context: &CheckContext) -> Vec<Finding> {
    let Some(slack) = context.config().slack() else { return Vec::new() };
    if context.network == Network::Avoided {
        return vec![Finding::ok(Area::Slack, "slack-not-asked", "not asked (`--offline`)")];
    }
    let usual = connection(slack);
    let api = WebApi::new(ApiConnection {
        timeout: usual.timeout.min(CALL),
        connect_timeout: usual.connect_timeout.min(CONNECT),
        ..usual
    });
    match api {
        Ok(api) => findings(&ask(context, slack, Arc::new(api))),
        Err(error) => {
            let why = "notices cannot be delivered";
            let fix = "look at `slack.api_url` in config.toml, and at `SSL_CERT_FILE`";
            vec![Finding::error(
                Area::Slack,
                "slack-address",
                problem_text(error.to_string(), why, fix),
            )]
        }
    }
}

fn ask(context: &CheckContext, slack: &SlackConfig, api: Arc<WebApi>) -> SlackFacts {
    let bot = {
        let (api, slack) = (Arc::clone(&api), slack.clone());
        BackgroundWork::start(move || {
            let identity = api.auth_test(&slack.bot_token);
            let user = slack.target_user_id.filter(|_| identity.is_ok());
            let direct_message = user.map(|user| api.open_dm(&slack.bot_token, &user).map(|_| ()));
            Bot { identity, direct_message }
        })
    };
    let app = slack.app_token.clone().map(|token| {
        BackgroundWork::start(move || {
            let identity = api.auth_test(&token);
            let socket = identity.is_ok().then(|| api.open_socket(&token).map(|_| ()));
            App { identity, socket }
        })
    });
    let deadline = Instant::now() + ALL;
    let late = || CallError::Ambiguous { cause: "no answer in time".to_owned() };
    let state = context.state();
    let waiting = state.and_then(|paths| outbox::schedules(paths).ok()).unwrap_or_default();
    let errors = waiting.iter().filter_map(|entry| entry.progress.last_error.as_deref());
    let status = state.filter(|paths| file_lock::is_held(&paths.daemon_lock()));
    let status = status.and_then(daemon_control::read_status);
    let status = status.and_then(|mut status| status.channels.remove(&ChannelName::SLACK));
    let replies = status.as_ref().and_then(|status| status.replies.clone());
    SlackFacts {
        is_messages_tab_off: errors.into_iter().any(|error| error.contains(MESSAGES_TAB)),
        connections: match status.map(|status| status.listener) {
            Some(ListenerStatus::Connected { num_connections, .. }) => Some(num_connections),
            _ => None,
        },
        replies,
        bot: bot.until(deadline),
        app: app.map(|app| {
            app.until(deadline).unwrap_or_else(|| App { identity: Err(late()), socket: None })
        }),
    }
}

fn findings(facts: &SlackFacts) -> Vec<Finding> {
    let mut findings = Vec::new();
    match &facts.bot {
        None => findings.push(unreachable("no answer in time")),
        Some(bot) => findings.extend(of_bot(bot)),
    }
    if let Some(app) = &facts.app {
        findings.extend(of_app(app));
    }
    if facts.is_messages_tab_off {
        findings.push(messages_tab());
    }
    findings.extend(other_app(facts));
    findings.extend(of_company(facts));
    // Reports an unreachable Slack once.
    let mut is_said = false;
    findings.retain(|finding| {
        finding.id != "slack-unreachable" || !std::mem::replace(&mut is_said, true)
    });
    let mut is_tab_said = false;
    findings.retain(|finding| {
        finding.id != "slack-messages-tab" || !std::mem::replace(&mut is_tab_said, true)
    });
    findings
}

/// Describes other machines on the same app. Only exceeding Slack's limit is a fault.
fn of_company(facts: &SlackFacts) -> Option<Finding> {
    let connections = facts.connections.unwrap_or_default();
    let replies = facts.replies.clone()?;
    let replies = RepliesStatus { listeners: replies.listeners.max(connections), ..replies };
    let every = replies.asks_every_seconds;
    if replies.too_many_listeners {
        let what = format!("the app has too many listeners; {}", replies.company());
        let why = format!(
            "Slack allows 10; this machine has no connection, and asks for its replies every {every} s instead"
        );
        let fix = "end a daemon that is not needed, or give some machines an app of their own";
        let wording = problem_text(what, why, fix);
        return Some(Finding::warning(Area::Slack, "slack-too-many-listeners", wording));
    }
    replies.has_company().then(|| {
        let why = format!(
            "Slack gives each reply to one listener at random; each machine asks for its own, so one takes up to {every} s"
        );
        let fix = "nothing has to be done; every machine needs a version newer than 0.1";
        Finding::note(Area::Slack, "slack-connections", problem_text(replies.company(), why, fix))
    })
}

fn of_bot(bot: &Bot) -> Vec<Finding> {
    let identity = match &bot.identity {
        Ok(identity) => identity,
        Err(error) => return vec![refused("slack-bot-token", "the bot token", error)],
    };
    let missing = missing_scopes(identity, &BOT_SCOPES);
    let mut findings = Vec::new();
    if !missing.is_empty() {
        let what = format!("the bot token lacks `{}`", missing.join("`, `"));
        let why = "`chat:write` posts, `im:write` opens the direct message, `im:history` looks for what has arrived";
        let fix = "add it under OAuth & Permissions, Bot Token Scopes, install the app again, and enter the new token";
        findings.push(Finding::error(Area::Slack, "slack-scope", problem_text(what, why, fix)));
    }
    match &bot.direct_message {
        // Another finding reports the missing scope.
        Some(Err(error)) if code(error) == Some("missing_scope") && !missing.is_empty() => {}
        Some(Err(error)) if code(error) == Some(MESSAGES_TAB) => findings.push(messages_tab()),
        Some(Err(error)) => findings.push(refused("slack-recipient", "the direct message", error)),
        Some(Ok(())) | None => {}
    }
    if findings.is_empty() {
        let name = identity.user.as_deref().unwrap_or("the bot");
        let team = identity.team.as_deref().unwrap_or("its workspace");
        findings.push(Finding::ok(Area::Slack, "slack", format!("`{name}` may post in `{team}`")));
    }
    findings
}

fn of_app(app: &App) -> Vec<Finding> {
    let scope = || {
        let what = format!("the app token lacks `{APP_SCOPE}`");
        let why = "replies cannot arrive";
        let fix = "make an app-level token with `connections:write` under Basic Information, and enter it";
        Finding::error(Area::Slack, "slack-app-scope", problem_text(what, why, fix))
    };
    match (&app.identity, &app.socket) {
        (Err(error), _) => vec![refused("slack-app-token", "the app token", error)],
        (Ok(identity), _) if !missing_scopes(identity, &[APP_SCOPE]).is_empty() => vec![scope()],
        (Ok(_), Some(Err(error))) if code(error) == Some("missing_scope") => vec![scope()],
        (Ok(_), Some(Err(error))) => {
            vec![refused("slack-socket-mode", "a connection for replies", error)]
        }
        (Ok(_), _) => vec![Finding::ok(Area::Slack, "slack-replies", "replies can arrive")],
    }
}

/// Compares the tokens' apps as far as Slack returns them: a bot token's response names no app, an
/// app token's no workspace.
fn other_app(facts: &SlackFacts) -> Option<Finding> {
    let bot = facts.bot.as_ref()?.identity.as_ref().ok()?;
    let app = facts.app.as_ref()?.identity.as_ref().ok()?;
    let differs = |a: &Option<String>, b: &Option<String>| a.is_some() && b.is_some() && a != b;
    if !differs(&bot.app_id, &app.app_id) && !differs(&bot.team_id, &app.team_id) {
        return None;
    }
    let why = "replies below the messages of one app go to that app, and do not arrive here";
    let fix = "take both tokens from the page of the same app at api.slack.com/apps";
    let wording = problem_text("the two tokens are of different apps or workspaces", why, fix);
    Some(Finding::error(Area::Slack, "slack-other-app", wording))
}

fn missing_scopes<'a>(identity: &TokenIdentity, wanted: &[&'a str]) -> Vec<&'a str> {
    let Some(scopes) = &identity.scopes else { return Vec::new() };
    let lacks = |wanted: &&&str| !scopes.iter().any(|scope| scope == **wanted);
    wanted.iter().filter(lacks).copied().collect()
}

fn code(error: &CallError) -> Option<&str> {
    match error {
        CallError::Refused { error, .. } => Some(error),
        _ => None,
    }
}

/// Returns the finding for a call that Slack refused or did not respond to.
fn refused(id: &'static str, what: &str, error: &CallError) -> Finding {
    if !matches!(error, CallError::Refused { .. } | CallError::Invalid { .. }) {
        let hint = error.hint();
        let finding = unreachable(&error.to_string());
        return Finding { fix: hint.map(str::to_owned).or(finding.fix), ..finding };
    }
    let why = match id {
        "slack-app-token" | "slack-socket-mode" => "replies cannot arrive",
        _ => "notices cannot be delivered",
    };
    let fix = error.hint().unwrap_or("look at the app's page at api.slack.com/apps");
    Finding::error(Area::Slack, id, problem_text(format!("{what}: {error}"), why, fix))
}

fn unreachable(cause: &str) -> Finding {
    let why = "notices wait here, and no reply comes in, until it can be reached";
    let fix = "check the network connection; `--offline` leaves Slack out";
    Finding::warning(Area::Slack, "slack-unreachable", problem_text(cause, why, fix))
}

fn messages_tab() -> Finding {
    let what = format!("people cannot write to the app (`{MESSAGES_TAB}`)");
    let why = "Slack takes no notice for somebody who could not reply";
    let fix = "on the app's page: App Home, Messages Tab, and \"Allow users to send messages\"; then `turnbridge outbox retry`";
    Finding::error(Area::Slack, "slack-messages-tab", problem_text(what, why, fix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(scopes: &[&str]) -> TokenIdentity {
        let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        TokenIdentity { scopes: Some(scopes), ..TokenIdentity::default() }
    }

    fn says(error: &str) -> CallError {
        let error = error.to_owned();
        CallError::Refused { error, needed: None, provided: None, messages: Vec::new() }
    }

    fn healthy() -> SlackFacts {
        SlackFacts {
            bot: Some(Bot { identity: Ok(identity(&BOT_SCOPES)), direct_message: Some(Ok(())) }),
            app: Some(App { identity: Ok(identity(&[APP_SCOPE])), socket: Some(Ok(())) }),
            is_messages_tab_off: false,
            connections: Some(1),
            replies: None,
        }
    }

    #[track_caller]
    fn check(facts: SlackFacts, expected: &[&str]) {
        let found = findings(&facts);
        let ids: Vec<_> = found.iter().map(|finding| finding.id).collect();
        assert_eq!(ids, expected, "{found:#?}");
    }

    #[test]
    fn one_cause_is_one_finding() {
        check(healthy(), &["slack", "slack-replies"]);
        let unsent = || CallError::Ambiguous { cause: "no answer in time".to_owned() };
        let bot = Some(Bot { identity: Err(unsent()), direct_message: None });
        let app = Some(App { identity: Err(unsent()), socket: None });
        check(SlackFacts { bot, app, ..healthy() }, &["slack-unreachable"]);
        let bot = Some(Bot {
            identity: Ok(identity(&["chat:write", "im:history"])),
            direct_message: Some(Err(says("missing_scope"))),
        });
        check(SlackFacts { bot, ..healthy() }, &["slack-scope", "slack-replies"]);
        let tab = Some(Err(says(MESSAGES_TAB)));
        let bot = Some(Bot { identity: Ok(identity(&BOT_SCOPES)), direct_message: tab });
        let facts = SlackFacts { bot, is_messages_tab_off: true, ..healthy() };
        check(facts, &["slack-messages-tab", "slack-replies"]);
    }

    #[test]
    fn what_slack_does_not_tell_is_no_fault() {
        let silent = TokenIdentity { scopes: None, ..TokenIdentity::default() };
        let bot = Some(Bot { identity: Ok(silent.clone()), direct_message: None });
        let app = Some(App { identity: Ok(silent), socket: Some(Err(says("missing_scope"))) });
        check(SlackFacts { bot, app, ..healthy() }, &["slack", "slack-app-scope"]);
    }

    #[test]
    fn tokens_of_two_workspaces_are_noticed() {
        let of_team = |team: &str, scopes: &[&str]| {
            Ok(TokenIdentity { team_id: Some(team.to_owned()), ..identity(scopes) })
        };
        let bot = Some(Bot { identity: of_team("T1", &BOT_SCOPES), direct_message: None });
        for (team, expected) in [
            ("T1", &["slack", "slack-replies"][..]),
            ("T2", &["slack", "slack-replies", "slack-other-app"]),
        ] {
            let app = Some(App { identity: of_team(team, &[APP_SCOPE]), socket: Some(Ok(())) });
            check(SlackFacts { bot: bot.clone(), app, ..healthy() }, expected);
        }
    }
}
