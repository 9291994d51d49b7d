//! What a test may choose about the loopback Slack before it starts. The default is an app as the manifest makes it.

use std::time::Duration;

/// Change fields over `SlackSetup::default()`.
#[derive(Clone, Debug)]
pub struct SlackSetup {
    pub bot_token: String,
    pub app_token: String,
    pub bot_scopes: Vec<String>,
    pub app_scopes: Vec<String>,
    pub app_id: String,
    pub app_name: String,
    pub team_id: String,
    pub team_name: String,
    /// The bot as a user, `U…`.
    pub bot_user: String,
    /// The bot as a bot, `B…`.
    pub bot_id: String,
    /// The person the app belongs to; one of `users`.
    pub owner: String,
    /// Ids of the people in the workspace, `U…`.
    pub users: Vec<String>,
    /// Slack itself takes a user's id as the channel of a post. Here it is an error unless a test allows it, because
    /// whoever posts so has not kept the id that every other method wants.
    pub user_ids_are_channels: bool,
    /// Posts to one channel that may come at once; after them one a second. `None`: no limit.
    pub burst: Option<u32>,
    /// How far Slack's clock is ahead of this machine's.
    pub clock_ahead_seconds: i64,
    /// Host and port of the sockets' address, if not the server's own: for a client who comes through a proxy.
    pub socket_host: Option<String>,
    /// How long an event waits for its ack before it comes again.
    pub ack_within: Duration,
    /// When an event comes again: what is at once, a minute and five minutes with Slack.
    pub retry_after: [Duration; 3],
    /// How often a socket is pinged, and how long it may take to answer.
    pub ping_every: Duration,
    pub pong_within: Duration,
    /// How long a socket goes on after `disconnect` was said: about ten seconds with Slack.
    pub disconnect_grace: Duration,
}

impl Default for SlackSetup {
    fn default() -> Self {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        SlackSetup {
            bot_token: "xoxb-loopback-bot".to_owned(),
            app_token: "xapp-loopback-app".to_owned(),
            bot_scopes: owned(&["chat:write", "im:write", "im:history"]),
            app_scopes: owned(&["connections:write"]),
            app_id: "A0LOOPBACK".to_owned(),
            app_name: "Turnbridge".to_owned(),
            team_id: "T0LOOPBACK".to_owned(),
            team_name: "Loopback".to_owned(),
            bot_user: "U0BOT".to_owned(),
            bot_id: "B0BOT".to_owned(),
            owner: "U0OWNER".to_owned(),
            users: owned(&["U0OWNER", "U0STRANGER"]),
            user_ids_are_channels: false,
            burst: None,
            clock_ahead_seconds: 0,
            socket_host: None,
            ack_within: Duration::from_secs(3),
            retry_after: [100, 1_000, 5_000].map(Duration::from_millis),
            ping_every: Duration::from_secs(1),
            pong_within: Duration::from_secs(15),
            disconnect_grace: Duration::from_secs(10),
        }
    }
}
