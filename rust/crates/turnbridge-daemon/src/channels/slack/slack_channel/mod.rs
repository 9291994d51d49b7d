//! Implements the channel for Slack. It opens the direct message, posts and updates messages at
//! Slack's rate, and saves which thread belongs to which session. If it is unknown whether a post
//! arrived, it searches for the message.

use std::io;
use std::time::{Duration, Instant};

use turnbridge_config::slack_connection::{account, speed_up, web_api};
use turnbridge_config::{Config, SlackConfig};
use turnbridge_core::ids::ChannelName;
use turnbridge_core::notices::notice::Notice;
use turnbridge_core::notices::progress::NoticeMessage;
use turnbridge_core::slack::machine_wire::Machine;
use turnbridge_core::slack::place_wire::SlackPlace;
use turnbridge_core::slack::slack_ts::SlackTs;
use turnbridge_slack::{CallError, MachineTag, Pacer, Post, Token, WebApi};
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::{routes, slack_place};

use crate::channels::channel::{
    Channel, ChannelError, ChannelPost, ChannelSearch, FoundTexts, ThreadStart,
};
use crate::channels::obstacle::DeliveryObstacle;
use crate::channels::slack::machine::machine;
use crate::channels::slack::plan::{PostSettings, plan};
use crate::channels::slack::slack_route::keep_route;

/// The delay until Slack shows an accepted message.
const SHOWS_WITHIN: Duration = Duration::from_millis(300);

pub struct SlackChannel {
    api: WebApi,
    token: Token,
    /// The user at the other end of the direct message.
    user: String,
    /// The machine that posts. Without it a reply would have no owner.
    machine: Machine,
    /// The state folder, where the direct message's id is cached, and the account it belongs to.
    paths: StatePaths,
    account: String,
    settings: PostSettings,
    pace: PostPace,
}

impl SlackChannel {
    pub fn open(
        paths: &StatePaths,
        config: &Config,
        slack: &SlackConfig,
    ) -> Result<SlackChannel, DeliveryObstacle> {
        let user = slack.target_user_id.clone().ok_or_else(|| {
            // SLV-31.
            DeliveryObstacle::new(
                "no destination is configured",
                "set `destinations.dm.target_user_id` in config.toml to your own id (`U…`)",
            )
        })?;
        let log = paths.notify_log().to_string_lossy().into_owned();
        let api = web_api(slack)?;
        let machine = own_machine(paths)?;
        Ok(SlackChannel {
            api,
            token: slack.bot_token.clone(),
            user,
            machine,
            paths: paths.clone(),
            account: account(slack),
            settings: PostSettings { language: config.spoken_language(), log },
            pace: PostPace::new(speed_up()),
        })
    }

    fn open_dm(&self) -> Result<String, CallError> {
        if let Some(place) = slack_place::read(&self.paths, &self.account) {
            return Ok(place.channel);
        }
        let channel = self.api.open_dm(&self.token, &self.user)?;
        let account = self.account.clone();
        let (team_id, enterprise_id) = (None, None);
        let place =
            SlackPlace { version: 1, account, channel: channel.clone(), team_id, enterprise_id };
        let _ = slack_place::write(&self.paths, &place);
        Ok(channel)
    }

    /// Returns the time of the newest known parent. New posts are newer than it, so that only the
    /// first post needs a call to Slack: all machines share the rate limit.
    fn latest_ts(&self, channel: &str) -> Result<Option<String>, CallError> {
        let routes = routes::read(&self.paths).unwrap_or_default();
        let own = routes.iter().filter(|route| route.channel == channel);
        let newest = own.filter_map(|route| SlackTs::parse(&route.thread_ts)).max();
        match newest {
            Some(ts) => Ok(Some(ts.to_string())),
            None => self.api.latest_ts(&self.token, channel),
        }
    }

    fn post_as(
        &mut self,
        post: &ChannelPost<'_>,
        markdown: Option<&str>,
    ) -> Result<String, CallError> {
        self.pace.wait();
        let post = Post {
            channel: post.place,
            thread_ts: post.parent,
            text: &post.message.text,
            markdown,
            id: post.id,
            machine: Some(MachineTag { id: &self.machine.id, name: &self.machine.name }),
        };
        let posted = self.api.post_message(&self.token, &post);
        if let Err(CallError::Refused { error, .. }) = &posted
            && error == "channel_not_found"
        {
            slack_place::forget(&self.paths);
        }
        posted.map(|posted| posted.ts)
    }
}

fn own_machine(paths: &StatePaths) -> Result<Machine, DeliveryObstacle> {
    let damaged =
        |error| DeliveryObstacle::new(format!("machine.json: {error}"), "look at the state folder");
    machine(paths).map_err(damaged)
}

impl Channel for SlackChannel {
    fn name(&self) -> ChannelName {
        ChannelName::SLACK
    }

    /// Reads the machine again: the user may have removed `machine.json` from a copied state
    /// folder. New threads are then the new machine's.
    fn refresh(&mut self) -> Result<(), DeliveryObstacle> {
        self.machine = own_machine(&self.paths)?;
        Ok(())
    }

    fn render(&self, notice: &Notice, found: FoundTexts) -> Vec<NoticeMessage> {
        plan(notice, found.prompt, found.answer, &self.settings)
    }

    fn begin(&mut self) -> Result<ThreadStart, ChannelError> {
        // The call is idempotent.
        let place = self.open_dm()?;
        let after = self.latest_ts(&place)?;
        Ok(ThreadStart { place, after })
    }

    /// Posts a message. If Slack refuses its block, it posts the text alone.
    fn post(&mut self, post: &ChannelPost<'_>) -> Result<String, ChannelError> {
        let markdown = post.message.markdown.as_deref();
        match self.post_as(post, markdown) {
            Err(error) if error.is_about_blocks() && markdown.is_some() => {
                Ok(self.post_as(post, None)?)
            }
            posted => Ok(posted?),
        }
    }

    fn update(
        &mut self,
        place: &str,
        posted: &str,
        message: &NoticeMessage,
    ) -> Result<(), ChannelError> {
        let update =
            |markdown| self.api.update_message(&self.token, place, posted, &message.text, markdown);
        match update(message.markdown.as_deref()) {
            Err(error) if error.is_about_blocks() => Ok(update(None)?),
            updated => Ok(updated?),
        }
    }

    fn find(&mut self, wanted: &ChannelSearch<'_>) -> Result<Option<String>, ChannelError> {
        self.pace.sleep(SHOWS_WITHIN);
        let ChannelSearch { place, parent, oldest, id } = *wanted;
        Ok(self.api.find_message(&self.token, place, parent, oldest, id)?)
    }

    fn keep_route(&mut self, notice: &Notice, place: &str, parent: &str) -> io::Result<()> {
        keep_route(&self.paths, notice, place, parent)
    }
}

impl From<CallError> for ChannelError {
    fn from(error: CallError) -> ChannelError {
        let cause = error.to_string();
        match &error {
            _ if error.is_permanent() => {
                ChannelError::Permanent { cause, hint: error.hint().map(str::to_owned) }
            }
            CallError::RateLimited { after } => ChannelError::RateLimited { after: *after, cause },
            CallError::Ambiguous { .. } => ChannelError::MayBeDone { cause },
            _ => ChannelError::NotDone { cause },
        }
    }
}

/// The rate limit of posts: one at a time at Slack's pace, or a multiple of that pace.
struct PostPace {
    pacer: Pacer,
    speed_up: u32,
    begun: Instant,
}

impl PostPace {
    fn new(speed_up: u32) -> PostPace {
        PostPace { pacer: Pacer::default(), speed_up, begun: Instant::now() }
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time / self.speed_up);
    }

    /// Waits until the rate limit allows another post.
    fn wait(&mut self) {
        // The sped-up clock covers all elapsed time, not only sleeps.
        let now = self.begun + self.begun.elapsed() * self.speed_up;
        let wait = self.pacer.wait_before(now);
        self.sleep(wait);
    }
}

#[cfg(test)]
mod tests;
