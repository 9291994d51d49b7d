//! Defines the settings of the loopback Slack. The default is an app as Turnbridge's manifest
//! creates it.

use std::time::Duration;

/// The settings of a loopback Slack. Tests change fields of `SlackSetup::default()`.
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
    /// The bot's user id, `U…`.
    pub bot_user: String,
    /// The bot's id, `B…`.
    pub bot_id: String,
    /// The owner of the app; one of `users`.
    pub owner: String,
    /// The ids of the workspace's users, `U…`.
    pub users: Vec<String>,
    /// Whether a user's id is accepted as the channel of a post. Slack accepts it. Here it is an
    /// error by default, because such a client has not stored the id that every other method needs.
    pub user_ids_are_channels: bool,
    /// The number of posts in a burst to one channel; after them one a second. `None`: no limit.
    pub burst: Option<u32>,
    /// The offset of Slack's clock ahead of this machine's.
    pub clock_ahead_seconds: i64,
    /// Host and port of the sockets' address, if not the server's own: for a client behind a proxy.
    pub socket_host: Option<String>,
    /// The timeout of an event's ack before its repetition.
    pub ack_within: Duration,
    /// The delays of the repetitions: Slack's are zero, a minute and five minutes.
    pub retry_after: [Duration; 3],
    /// The interval of pings on a socket.
    pub ping_every: Duration,
    /// The timeout of a pong.
    pub pong_within: Duration,
    /// The time for which a socket continues after `disconnect`: about ten seconds with Slack.
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
