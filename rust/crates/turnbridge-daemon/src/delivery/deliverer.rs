//! Opens the channels of one config, and delivers the queued notices on them.

use turnbridge_config::Config;
use turnbridge_config::slack_connection::speed_up;
use turnbridge_core::ids::ChannelName;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::outbox;

use crate::channels;
use crate::channels::channel::OpenChannel;
use crate::channels::obstacle::DeliveryObstacle;
use crate::delivery::left_alone::LeftAlone;
use crate::delivery::one_delivery::RealPace;
use crate::delivery::{DrainResult, drain};

/// A config and its open channels, which later deliveries use again.
pub struct Deliverer {
    config: Config,
    /// The channels that could be opened.
    channels: Vec<OpenChannel>,
    pace: RealPace,
    left_alone: LeftAlone,
}

impl Deliverer {
    pub fn new(config: Config) -> Deliverer {
        let (pace, left_alone) = (RealPace::hasty(speed_up()), LeftAlone::default());
        Deliverer { config, channels: Vec::new(), pace, left_alone }
    }

    /// Delivers on every usable channel. Returns an obstacle if a notice waits for another channel
    /// that this version knows.
    pub fn deliver(&mut self, paths: &StatePaths) -> Result<DrainResult, DeliveryObstacle> {
        let mut obstacles = self.refresh_channels();
        obstacles.extend(self.open_channels(paths));
        let drained = drain(paths, &mut self.channels, &self.pace).map_err(unreadable)?;
        self.left_alone.log(paths);
        if ChannelName::KNOWN.iter().all(|name| self.is_open(name)) {
            return Ok(drained);
        }
        let waiting = outbox::schedules(paths).map_err(unreadable)?;
        let is_missed =
            |name: &ChannelName| ChannelName::KNOWN.contains(name) && !self.is_open(name);
        let mut waiting = waiting.into_iter().filter(|waiting| !waiting.progress.held);
        match waiting.find(|waiting| is_missed(&waiting.channel)) {
            None => Ok(drained),
            Some(waiting) => {
                let found = obstacles.into_iter().find(|(name, _)| *name == waiting.channel);
                Err(found.map_or_else(
                    || DeliveryObstacle::not_configured(&waiting.channel),
                    |(_, it)| it,
                ))
            }
        }
    }

    pub fn is_open(&self, name: &ChannelName) -> bool {
        self.channels.iter().any(|open| open.name() == *name)
    }

    /// Closes channels that are no longer usable, and returns why.
    fn refresh_channels(&mut self) -> Vec<(ChannelName, DeliveryObstacle)> {
        let mut obstacles = Vec::new();
        self.channels.retain_mut(|channel| match channel.refresh() {
            Ok(()) => true,
            Err(obstacle) => {
                obstacles.push((channel.name(), obstacle));
                false
            }
        });
        obstacles
    }

    /// Opens the channels that are not open yet. Returns the obstacles of the others.
    fn open_channels(&mut self, paths: &StatePaths) -> Vec<(ChannelName, DeliveryObstacle)> {
        let missing = self.config.channels.iter().filter(|(name, _)| !self.is_open(name));
        let opened: Vec<_> = missing
            .map(|(name, channel)| (name.clone(), channels::open(paths, &self.config, channel)))
            .collect();
        let mut obstacles = Vec::new();
        for (name, opened) in opened {
            match opened {
                Ok(channel) => self.channels.push(channel),
                Err(obstacle) => obstacles.push((name, obstacle)),
            }
        }
        obstacles
    }
}

fn unreadable(error: std::io::Error) -> DeliveryObstacle {
    DeliveryObstacle::new(format!("the outbox: {error}"), "look at the state folder's permissions")
}

#[cfg(test)]
mod tests {
    use turnbridge_core::ids::SessionKey;
    use turnbridge_core::notices::notice::Notice;
    use turnbridge_store::clock;

    use super::*;

    #[test]
    fn a_notice_for_a_channel_of_a_later_version_is_left_alone_and_one_of_ours_is_missed() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(&folder.path().join("state"));
        let session = SessionKey::of("claude", "s").unwrap();
        let notice = |id: &str| Notice::turn(id.to_owned(), session.clone(), clock::now());
        let later = vec![ChannelName::parse("pigeon").unwrap()];
        outbox::queue(&paths, &notice("a").sent_to(later)).unwrap();
        let mut deliverer = Deliverer::new(Config::default());
        assert_eq!(deliverer.deliver(&paths).unwrap(), DrainResult::default());
        outbox::queue(&paths, &notice("b")).unwrap();
        let obstacle = deliverer.deliver(&paths).unwrap_err();
        assert_eq!(obstacle.text, "no Slack is configured");
    }
}
