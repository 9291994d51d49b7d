//! Opens the channels on which users get notices and reply. Slack is the only one; the board is no
//! channel.

pub mod channel;
pub mod listener;
pub mod obstacle;
pub mod slack;

use std::sync::mpsc::Sender;

use turnbridge_config::{ChannelConfig, Config};
use turnbridge_store::paths::StatePaths;

use crate::channels::obstacle::DeliveryObstacle;
use crate::daemon::event::DaemonEvent;
use channel::OpenChannel;
use listener::Listener;
use slack::slack_channel::SlackChannel;
use slack::slack_side::SlackSide;

/// Opens a configured channel for posts.
pub fn open(
    paths: &StatePaths,
    config: &Config,
    channel: &ChannelConfig,
) -> Result<OpenChannel, DeliveryObstacle> {
    match channel {
        ChannelConfig::Slack(slack) => Ok(Box::new(SlackChannel::open(paths, config, slack)?)),
    }
}

/// Returns the listeners of all channels, none of them open.
pub fn listeners(paths: &StatePaths, events: &Sender<DaemonEvent>) -> Vec<Box<dyn Listener>> {
    vec![Box::new(SlackSide::new(paths.clone(), events.clone()))]
}
