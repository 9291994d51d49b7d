//! Tests the channel against the loopback Slack: refused blocks, updates, searches and a changed
//! machine. Also tests which errors of Slack count as permanent.

use testkit::slack::{FaultMoment, SlackApi, SlackFault, SlackSetup};
use turnbridge_slack::TokenKind;

use super::*;

struct SlackChannelWorld {
    slack: SlackApi,
    channel: SlackChannel,
    _folder: tempfile::TempDir,
}

fn world() -> SlackChannelWorld {
    let folder = tempfile::tempdir().unwrap();
    let paths = StatePaths::below(folder.path());
    let setup = SlackSetup::default();
    let config = SlackConfig {
        bot_token: Token::parse(TokenKind::Bot, &setup.bot_token).unwrap(),
        app_token: None,
        api_url: None,
        target_user_id: Some(setup.owner.clone()),
    };
    let slack = SlackApi::start(setup);
    let config = SlackConfig { api_url: Some(slack.base_url()), ..config };
    let channel = SlackChannel::open(&paths, &Config::default(), &config).unwrap();
    SlackChannelWorld { slack, channel, _folder: folder }
}

impl SlackChannelWorld {
    fn post(&mut self, message: &NoticeMessage) -> Result<String, ChannelError> {
        let place = self.channel.begin().unwrap().place;
        self.channel.post(&ChannelPost { place: &place, parent: None, message, id: "a/0" })
    }
}

fn words() -> NoticeMessage {
    NoticeMessage { text: "words".to_owned(), markdown: Some("**words**".to_owned()) }
}

#[test]
fn a_block_that_slack_refuses_is_left_out_and_the_words_arrive() {
    for error in ["invalid_blocks", "invalid_blocks_format"] {
        let mut world = world();
        let refusal = || SlackFault::Error(FaultMoment::Before, error.to_owned());
        world.slack.fail("chat.postMessage", [refusal()]);
        world.post(&words()).unwrap();
        let threads = world.slack.threads();
        assert_eq!(threads.len(), 1, "{error}");
        assert_eq!((&*threads[0].parent.text, &threads[0].parent.blocks), ("words", &None));
        // A post without a block is not repeated.
        world.slack.fail("chat.postMessage", [refusal()]);
        let plain = NoticeMessage { markdown: None, ..words() };
        assert!(matches!(world.post(&plain), Err(ChannelError::Permanent { .. })), "{error}");
        assert_eq!(world.slack.threads().len(), 1, "{error}");
    }
}

#[test]
fn a_message_that_was_posted_can_be_changed_and_found() {
    let mut world = world();
    let posted = world.post(&words()).unwrap();
    let place = world.channel.begin().unwrap().place;
    let wanted = |id| ChannelSearch { place: &place, parent: None, oldest: None, id };
    let changed =
        NoticeMessage { text: "it ended".to_owned(), markdown: Some("_it ended_".to_owned()) };
    world.channel.update(&place, &posted, &changed).unwrap();
    let parent = world.slack.threads().remove(0).parent;
    assert_eq!(parent.text, "it ended");
    assert!(parent.blocks.unwrap().to_string().contains("_it ended_"));
    let plain = NoticeMessage { text: "over".to_owned(), markdown: None };
    world.channel.update(&place, &posted, &plain).unwrap();
    let parent = world.slack.threads().remove(0).parent;
    let has_block = parent.blocks.as_ref().is_some_and(|blocks| *blocks != serde_json::json!([]));
    assert_eq!((&*parent.text, has_block), ("over", false));
    assert_eq!(world.channel.find(&wanted("a/0")).unwrap(), Some(posted));
    assert_eq!(world.channel.find(&wanted("a/1")).unwrap(), None);
    let gone = world.channel.update(&place, "1.000000", &changed);
    assert!(matches!(gone, Err(ChannelError::Permanent { .. } | ChannelError::NotDone { .. })));
}

/// docs/slack.md: `machine.json` must be removed from a copied state folder.
#[test]
fn a_thread_is_of_the_machine_that_the_file_names_now() {
    let mut world = world();
    let machine_of = |world: &SlackChannelWorld, number: usize| {
        let metadata = world.slack.threads()[number].parent.metadata.clone().unwrap();
        metadata["event_payload"]["machine"].as_str().unwrap().to_owned()
    };
    world.post(&words()).unwrap();
    let first = machine_of(&world, 0);
    let file = world.channel.paths.machine_file();
    std::fs::remove_file(&file).unwrap();
    world.channel.refresh().unwrap();
    world.post(&words()).unwrap();
    assert_ne!(machine_of(&world, 1), first);
    std::fs::write(&file, "{").unwrap();
    let obstacle = world.channel.refresh().unwrap_err();
    assert!(obstacle.text.contains("is damaged; remove it"), "{obstacle:?}");
}

#[test]
fn what_does_not_go_away_by_itself_is_told_from_what_does() {
    let refused = |error: &str| CallError::Refused {
        error: error.to_owned(),
        needed: None,
        provided: None,
        messages: Vec::new(),
    };
    for error in ["invalid_auth", "missing_scope", "user_not_found"] {
        let error = ChannelError::from(refused(error));
        assert!(matches!(error, ChannelError::Permanent { .. }), "{error:?}");
    }
    let after = Duration::from_secs(7);
    let cause = "reset".to_owned();
    for (error, expected) in [
        (refused("internal_error"), "NotDone"),
        (CallError::NotSent { cause: turnbridge_slack::ConnectObstacle::HostNotFound }, "NotDone"),
        (CallError::RateLimited { after }, "RateLimited"),
        (CallError::Ambiguous { cause }, "MayBeDone"),
    ] {
        let shown = format!("{:?}", ChannelError::from(error));
        assert!(shown.starts_with(expected), "{shown}");
    }
}
