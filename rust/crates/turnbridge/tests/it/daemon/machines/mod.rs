//! Tests several machines on one Slack app, which sends each event to a random one of their
//! sockets. Also tests messages that were sent while a daemon was down, or could not query Slack.

mod asking;

use testkit::slack::{FaultMoment, SlackFault};

use super::*;

const OTHER_SESSION: &str = "01a1e18e-2062-79f1-b187-979e8f997b9c";
const NOT_KNOWN: &str = "This thread is not known";

impl DaemonFixture {
    fn restart_daemon(&mut self) {
        self.stop_daemon();
        self.start_daemon();
    }

    fn stop_daemon(&mut self) {
        self.world.turnbridge(&["daemon", "stop"]);
        self.daemon.take().unwrap().wait().unwrap();
    }

    fn kill_daemon(&mut self) {
        let mut daemon = self.daemon.take().unwrap();
        daemon.kill().unwrap();
        daemon.wait().unwrap();
    }

    /// Returns the prompts of the started agents, from arguments or standard input.
    fn prompts(&self) -> Vec<String> {
        let prompt = |call: &String| {
            let given = call.split_once("|stdin=").map(|(_, given)| given).unwrap_or_default();
            let argument = call.split('|').nth(3).unwrap_or_default();
            if given.is_empty() { argument.to_owned() } else { given.to_owned() }
        };
        self.calls().iter().map(prompt).collect()
    }

    #[track_caller]
    fn wait_for_prompts(&self, count: usize) -> Vec<String> {
        wait_until(TIMEOUT, &format!("{count} prompts"), || {
            Some(self.prompts()).filter(|prompts| prompts.len() >= count)
        })
    }

    /// Waits until a message was dropped for this reason, and did not run.
    #[track_caller]
    fn wait_until_refused(&self, outcome: &str) {
        wait_until(TIMEOUT, &format!("`{outcome}` in daemon.log, or a run"), || {
            let is_refused = self.log().iter().any(|entry| entry["outcome"] == outcome);
            (is_refused || !self.prompts().is_empty()).then_some(())
        });
        assert_eq!(self.prompts(), Vec::<String>::new());
    }

    fn is_caught_up(&self) -> bool {
        self.status()["daemon"]["replies"]["caught_up_at"].is_string()
    }

    fn wait_until_caught_up(&self) {
        wait_until(TIMEOUT, "all threads asked for", || self.is_caught_up().then_some(()));
    }
}

fn told_falsely(slack: &SlackApi) -> Vec<String> {
    let replies = slack.threads().into_iter().flat_map(|thread| thread.replies);
    replies.map(|reply| reply.text).filter(|text| text.contains(NOT_KNOWN)).collect()
}

/// Waits until each machine knows the other one by its posts.
fn wait_until_acquainted(machines: [&DaemonFixture; 2]) {
    for service in machines {
        wait_until(TIMEOUT, "both machines in the status", || {
            let status = service.status();
            let machines = status["daemon"]["replies"]["machines"].as_array()?.len();
            (machines == 2 && status["daemon"]["replies"]["asks_every_seconds"] == 3).then_some(())
        });
    }
}

fn two_machines() -> (DaemonFixture, DaemonFixture) {
    let mut desk = DaemonFixture::without_daemon(CONFIG);
    let mut laptop = DaemonFixture::at(Arc::clone(&desk.slack), CONFIG);
    desk.start_daemon();
    laptop.start_daemon();
    desk.slack.wait_for_sockets(2, TIMEOUT);
    (desk, laptop)
}

/// X50.
#[test]
fn replies_to_two_machines_on_one_app_run_each_on_its_own_and_none_is_told_falsely() {
    let (mut desk, mut laptop) = two_machines();
    let threads = [
        desk.turn_of(SESSION, "turn of the desk"),
        laptop.turn_of(OTHER_SESSION, "turn of the laptop"),
    ];
    wait_until_acquainted([&desk, &laptop]);
    for number in 0..12 {
        let parent = &threads[number % 2].parent.ts;
        desk.slack.say(Some(parent), &format!("reply {number}"));
    }
    let expected = |first: usize, last: usize| -> Vec<String> {
        (first..last).step_by(2).map(|number| format!("reply {number}")).collect()
    };
    assert_eq!(desk.wait_for_prompts(6), expected(0, 12));
    assert_eq!(laptop.wait_for_prompts(6), expected(1, 12));
    // Over a restart of both, with replies that no socket received.
    desk.stop_daemon();
    laptop.stop_daemon();
    desk.slack.post_as_user(Some(&threads[0].parent.ts), "reply 12");
    desk.slack.post_as_user(Some(&threads[1].parent.ts), "reply 13");
    desk.start_daemon();
    laptop.start_daemon();
    assert_eq!(desk.wait_for_prompts(7), expected(0, 14));
    assert_eq!(laptop.wait_for_prompts(7), expected(1, 14));
    desk.wait_until_caught_up();
    laptop.wait_until_caught_up();
    assert_eq!(told_falsely(&desk.slack), Vec::<String>::new());
    assert_eq!((desk.prompts().len(), laptop.prompts().len()), (7, 7), "none twice");
}

#[test]
fn a_machine_is_named_in_what_it_posts_and_who_listens_is_told() {
    let (desk, laptop) = two_machines();
    let threads =
        [desk.turn_of(SESSION, "of the desk"), laptop.turn_of(OTHER_SESSION, "of the laptop")];
    wait_until_acquainted([&desk, &laptop]);
    let machine = |service: &DaemonFixture| -> Value {
        let path = service.world.hermetic.state_dir().join("machine.json");
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    };
    for (service, thread) in [&desk, &laptop].into_iter().zip(&threads) {
        let payload = &thread.parent.metadata.as_ref().unwrap()["event_payload"];
        assert_eq!(payload["machine"], machine(service)["id"]);
        assert_eq!(payload["machine_name"], machine(service)["name"]);
        let shown = service.world.turnbridge(&["daemon", "status"]);
        assert!(shown.contains("2 machines"), "{shown}");
        assert!(shown.contains("every 3 s"), "{shown}");
    }
    assert_ne!(machine(&desk)["id"], machine(&laptop)["id"]);
}

#[test]
fn a_reply_sent_while_the_daemon_was_down_runs_although_the_asking_failed_and_others_wrote() {
    let mut service = DaemonFixture::start();
    let thread = service.turn("fix it");
    service.slack.say(Some(&thread.parent.ts), "first");
    service.wait_for_prompts(1);
    service.stop_daemon();
    service.slack.post_as_user(Some(&thread.parent.ts), "while you were away");
    let parent = thread.parent.ts.as_str();
    // More failures than 0.1's retries, with a rate limit among them.
    let failure = || SlackFault::Error(FaultMoment::Before, "internal_error".to_owned());
    let mut failures: Vec<_> = (0..8).map(|_| failure()).collect();
    failures.insert(2, SlackFault::RateLimited(1));
    service.slack.fail("conversations.history", failures);
    service.start_daemon();
    service.slack.wait_for_sockets(1, TIMEOUT);
    // A message of a stranger, much later by Slack's clock.
    service.slack.raise(json!({
        "type": "message", "channel_type": "im", "channel": thread.parent.channel,
        "user": "U0STRANGER", "text": "hello", "ts": "1994842299.000100", "thread_ts": parent,
    }));
    service.wait_for_log("other_user");
    service.restart_daemon();
    assert_eq!(service.wait_for_prompts(2), ["first", "while you were away"]);
    service.wait_until_caught_up();
    assert_eq!(service.prompts().len(), 2);
}

#[test]
fn what_was_said_before_replies_were_switched_on_is_no_prompt() {
    let mut service = DaemonFixture::without_daemon(CONFIG);
    let thread = service.turn("fix it");
    service.slack.post_as_user(Some(&thread.parent.ts), "thanks, looks good");
    service.start_daemon();
    service.wait_until_caught_up();
    service.slack.say(Some(&thread.parent.ts), "go on");
    assert_eq!(service.wait_for_prompts(1), ["go on"]);
    service.restart_daemon();
    service.wait_until_caught_up();
    assert_eq!(service.prompts(), ["go on"]);
}

#[test]
fn a_daemon_killed_while_it_asks_asks_again() {
    let mut service = DaemonFixture::start();
    let threads = [service.turn("one"), service.turn_of(OTHER_SESSION, "two")];
    service.stop_daemon();
    for (thread, text) in threads.iter().zip(["first", "second"]) {
        service.slack.post_as_user(Some(&thread.parent.ts), text);
    }
    for _ in 0..3 {
        service.slack.fail(
            "conversations.replies",
            [SlackFault::Pass, SlackFault::Hang(FaultMoment::Before)],
        );
        let calls = service.slack.calls_of("conversations.replies").len();
        service.start_daemon();
        service.slack.wait_for_calls("conversations.replies", calls + 1, TIMEOUT);
        service.kill_daemon();
    }
    service.slack.heal();
    service.start_daemon();
    let mut prompts = service.wait_for_prompts(2);
    prompts.sort();
    assert_eq!(prompts, ["first", "second"]);
    service.wait_until_caught_up();
    assert_eq!(service.prompts().len(), 2);
}

/// Weeks with a working socket and failing queries cause no repeated run, even after the inbox has
/// dropped the replies.
#[test]
fn what_was_heard_while_nothing_could_be_asked_for_does_not_run_again() {
    let mut service = DaemonFixture::start();
    let thread = service.turn("fix it");
    service.wait_until_caught_up();
    service.slack.change(|setup| setup.bot_scopes.retain(|scope| scope != "im:history"));
    for number in 0..3 {
        service.slack.say(Some(&thread.parent.ts), &format!("reply {number}"));
        service.wait_for_prompts(number + 1);
    }
    let inbox = service.world.hermetic.state_dir().join("inbox");
    wait_until(TIMEOUT, "the end of all replies", || {
        let names = fs::read_dir(&inbox).unwrap().map(|file| file.unwrap().file_name());
        (names.filter(|name| name.to_string_lossy().ends_with(".done")).count() == 3).then_some(())
    });
    service.stop_daemon();
    let missed = service.slack.post_as_user(Some(&thread.parent.ts), "missed");
    // The state after weeks.
    fs::remove_dir_all(&inbox).unwrap();
    let scopes = SlackSetup::default().bot_scopes;
    service.slack.change(|setup| setup.bot_scopes = scopes);
    service.start_daemon();
    let prompts = service.wait_for_prompts(4);
    assert_eq!(prompts, ["reply 0", "reply 1", "reply 2", "missed"], "{missed}");
    service.wait_until_caught_up();
    assert_eq!(service.prompts().len(), 4);
}

#[test]
fn a_reply_in_an_old_thread_behind_hundreds_of_others_runs() {
    let mut service = DaemonFixture::start();
    let thread = service.turn("the oldest");
    service.stop_daemon();
    let late = service.slack.post_as_user(Some(&thread.parent.ts), "after months");
    for number in 0..250 {
        service.slack.post_as_user(None, &format!("a newer message {number}"));
    }
    service.start_daemon();
    assert_eq!(service.wait_for_prompts(1), ["after months"], "{late}");
}

#[test]
fn a_full_disk_keeps_no_reply_and_loses_none() {
    let mut service = DaemonFixture::start();
    let thread = service.turn("fix it");
    service.wait_until_caught_up();
    // A file in place of the folder makes every write fail.
    let inbox = service.world.hermetic.state_dir().join("inbox");
    let aside = service.world.hermetic.state_dir().join("inbox-aside");
    fs::rename(&inbox, &aside).unwrap();
    fs::write(&inbox, "in the way").unwrap();
    service.slack.post_as_user(Some(&thread.parent.ts), "kept by Slack alone");
    wait_until(TIMEOUT, "the problem", || {
        service.status()["daemon"]["replies"]["problem"].is_string().then_some(())
    });
    assert!(service.prompts().is_empty());
    // Another message meanwhile moves no mark.
    service.slack.say(None, "unrelated");
    service.wait_for_log("no_thread");
    fs::remove_file(&inbox).unwrap();
    fs::rename(&aside, &inbox).unwrap();
    assert_eq!(service.wait_for_prompts(1), ["kept by Slack alone"]);
    service.stop_daemon();
}

#[test]
fn an_event_that_cannot_be_kept_is_not_acked() {
    let setup = SlackSetup { ack_within: Duration::from_millis(200), ..SlackSetup::default() };
    let mut service = DaemonFixture::with_slack(setup, CONFIG);
    service.start_daemon();
    service.slack.wait_for_sockets(1, TIMEOUT);
    let thread = service.turn("fix it");
    service.wait_until_caught_up();
    let inbox = service.world.hermetic.state_dir().join("inbox");
    let aside = inbox.with_extension("aside");
    fs::rename(&inbox, &aside).unwrap();
    fs::write(&inbox, "in the way").unwrap();
    let ts = service.slack.say(Some(&thread.parent.ts), "go on");
    // Slack therefore sends it again.
    let event = wait_until(TIMEOUT, "a second delivery", || {
        let own = service.slack.events().into_iter().find(|event| event.ts.as_ref() == Some(&ts));
        own.filter(|event| event.deliveries == 2)
    });
    assert_eq!(event.acked_attempt, None, "{event:?}");
    fs::remove_file(&inbox).unwrap();
    fs::rename(&aside, &inbox).unwrap();
    assert_eq!(service.wait_for_prompts(1), ["go on"]);
    service.stop_daemon();
}

#[test]
fn a_damaged_file_of_ours_is_not_called_a_refusal_by_slack() {
    let mut service = DaemonFixture::without_daemon(CONFIG);
    let machine = service.world.hermetic.state_dir().join("machine.json");
    fs::create_dir_all(machine.parent().unwrap()).unwrap();
    fs::write(&machine, "{").unwrap();
    service.start_daemon();
    wait_until(TIMEOUT, "the obstacle", || {
        (service.status()["daemon"]["slack"]["is_local"] == true).then_some(())
    });
    let shown = service.world.turnbridge(&["daemon", "status"]);
    assert!(shown.contains("\nreplies from Slack: not heard (machine.json: "), "{shown}");
    assert!(shown.contains("\nit is tried again every 30 seconds\n"), "{shown}");
    assert!(service.slack.calls_of("apps.connections.open").is_empty());
    let doctor = service.world.command("turnbridge").args(["doctor"]).output().unwrap();
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(doctor.contains("the daemon cannot listen to Slack: machine.json: "), "{doctor}");
    assert!(!doctor.contains("Slack has refused"), "{doctor}");
}

/// No event reports a repaired file: the daemon rescans every half minute.
#[test]
fn replies_are_heard_when_what_kept_slack_from_starting_is_gone() {
    if testkit::skipped_as_slow() {
        return;
    }
    let mut service = DaemonFixture::without_daemon(CONFIG);
    let machine = service.world.hermetic.state_dir().join("machine.json");
    fs::create_dir_all(machine.parent().unwrap()).unwrap();
    fs::write(&machine, "{").unwrap();
    service.start_daemon();
    wait_until(TIMEOUT, "the refusal", || {
        (service.status()["daemon"]["slack"]["state"] == "refused").then_some(())
    });
    fs::remove_file(&machine).unwrap();
    service.slack.wait_for_sockets(1, 2 * TIMEOUT);
    let thread = service.turn("fix it");
    service.slack.say(Some(&thread.parent.ts), "go on");
    assert_eq!(service.wait_for_prompts(1), ["go on"]);
}

/// SLV-46.
#[test]
fn an_event_is_acked_before_slack_has_named_the_direct_message() {
    let mut service = DaemonFixture::start();
    let thread = service.turn("fix it");
    service.stop_daemon();
    // As if it had never been known.
    let _ = fs::remove_file(service.world.hermetic.state_dir().join("slack-place.json"));
    let hang = || SlackFault::Hang(FaultMoment::Before);
    service.slack.fail("conversations.open", [hang(), hang(), hang()]);
    service.slack.fail("auth.test", [SlackFault::Pass, SlackFault::Pass]);
    service.spawn_daemon();
    service.slack.wait_for_sockets(1, TIMEOUT);
    service.slack.wait_for_calls("conversations.open", 1, TIMEOUT);
    let ts = service.slack.say(Some(&thread.parent.ts), "go on");
    let acked = service.slack.wait_for_all_acked(TIMEOUT);
    let own = acked.iter().find(|event| event.ts.as_ref() == Some(&ts)).unwrap();
    assert_eq!(own.acked_attempt, Some(0), "{own:?}");
    // The daemon is killed before it has judged the message, which is on the disk.
    service.kill_daemon();
    service.slack.heal();
    service.start_daemon();
    assert_eq!(service.wait_for_prompts(1), ["go on"]);
}

#[test]
fn the_direct_message_is_kept_and_asked_for_once() {
    let mut service = DaemonFixture::start();
    service.turn("one");
    service.turn_of(OTHER_SESSION, "two");
    service.wait_until_caught_up();
    let opened = service.slack.calls_of("conversations.open").len();
    assert!(opened <= 2, "{opened}: not for every notice");
    service.stop_daemon();
    service.turn("three");
    assert_eq!(service.slack.calls_of("conversations.open").len(), opened, "nor by the notifier");
}

#[test]
fn an_event_of_another_workspace_runs_nothing() {
    let service = DaemonFixture::start();
    let thread = service.turn("fix it");
    service.wait_until_caught_up();
    let own = SlackSetup::default().team_id;
    service.slack.change(|setup| setup.team_id = "T0OTHER".to_owned());
    service.slack.raise(json!({
        "type": "message", "channel_type": "im", "channel": thread.parent.channel,
        "user": "U0OWNER", "text": "run this", "ts": "1794842299.000100",
        "thread_ts": thread.parent.ts,
    }));
    service.wait_until_refused("other_team");
    service.slack.change(|setup| setup.team_id = own);
    service.slack.say(Some(&thread.parent.ts), "go on");
    assert_eq!(service.wait_for_prompts(1), ["go on"]);
}

#[test]
fn an_event_of_another_workspace_runs_nothing_before_slack_has_named_ours() {
    let mut service = DaemonFixture::without_daemon(CONFIG);
    // The notifier stores the direct message, but not the workspace.
    let thread = service.turn("fix it");
    let own = SlackSetup::default().team_id;
    service.slack.change(|setup| setup.team_id = "T0OTHER".to_owned());
    service.slack.fail("auth.test", (0..50).map(|_| SlackFault::Reset(FaultMoment::Before)));
    service.spawn_daemon();
    service.slack.wait_for_sockets(1, TIMEOUT);
    service.slack.raise(json!({
        "type": "message", "channel_type": "im", "channel": thread.parent.channel,
        "user": "U0OWNER", "text": "run this", "ts": "1794842299.000100",
        "thread_ts": thread.parent.ts,
    }));
    service.slack.wait_for_all_acked(TIMEOUT);
    let asked = service.slack.calls_of("auth.test").len();
    service.slack.wait_for_calls("auth.test", asked + 4, TIMEOUT);
    service.slack.change(|setup| setup.team_id = own);
    service.slack.heal();
    service.wait_until_refused("other_team");
    service.slack.say(Some(&thread.parent.ts), "go on");
    assert_eq!(service.wait_for_prompts(1), ["go on"]);
}

#[test]
fn a_reply_whose_parent_cannot_be_asked_for_waits_and_is_told_nothing_false() {
    let (desk, laptop) = two_machines();
    let thread = laptop.turn_of(OTHER_SESSION, "of the laptop");
    desk.turn_of(SESSION, "of the desk");
    wait_until_acquainted([&desk, &laptop]);
    // Whichever machine gets it, the desk cannot find out its owner.
    let failure = || SlackFault::Error(FaultMoment::Before, "internal_error".to_owned());
    desk.slack.fail("conversations.replies", (0..2).map(|_| failure()));
    let replies: Vec<_> = (0..6).map(|number| format!("reply {number}")).collect();
    for text in &replies {
        desk.slack.say(Some(&thread.parent.ts), text);
    }
    assert_eq!(laptop.wait_for_prompts(6), replies);
    wait_until(TIMEOUT, "everything judged", || {
        let unjudged = |it: &DaemonFixture| it.status()["daemon"]["replies"]["unjudged"] == 0;
        (unjudged(&desk) && unjudged(&laptop)).then_some(())
    });
    assert_eq!(told_falsely(&desk.slack), Vec::<String>::new());
    assert!(desk.prompts().is_empty());
}

/// SLV-21.
#[test]
fn a_thread_whose_route_is_gone_is_told_so() {
    let service = DaemonFixture::start();
    let thread = service.turn("fix it");
    service.wait_until_caught_up();
    fs::remove_file(service.world.hermetic.state_dir().join("routes.jsonl")).unwrap();
    service.slack.say(Some(&thread.parent.ts), "go on");
    service.wait_for_words(&thread, &[NOT_KNOWN]);
    assert!(service.prompts().is_empty());
}

#[test]
fn the_eleventh_listener_is_told_why_and_its_replies_run_all_the_same() {
    let mut service = DaemonFixture::without_daemon(CONFIG);
    let listeners: Vec<_> = (0..10).map(|_| SilentListener::connect(&service.slack)).collect();
    service.slack.wait_for_sockets(10, TIMEOUT);
    service.start_daemon();
    let shown = wait_until(TIMEOUT, "the reason", || {
        let shown = service.world.turnbridge(&["daemon", "status"]);
        shown.contains("too many listeners").then_some(shown)
    });
    assert!(shown.contains("every "), "{shown}");
    let thread = service.turn("fix it");
    service.slack.post_as_user(Some(&thread.parent.ts), "go on");
    assert_eq!(service.wait_for_prompts(1), ["go on"]);
    drop(listeners);
}

/// The socket of another program, which never reads.
struct SilentListener {
    _socket: turnbridge_slack::SocketMode,
}

impl SilentListener {
    fn connect(slack: &SlackApi) -> SilentListener {
        use turnbridge_slack::{
            Accept, ApiConnection, SocketMode, Timing, Token, TokenKind, WebApi,
        };
        let connection =
            ApiConnection { api_url: Some(slack.base_url()), ..ApiConnection::default() };
        let api = Arc::new(WebApi::new(connection).unwrap());
        let token = Token::parse(TokenKind::App, "xapp-loopback-app").unwrap();
        let keep = |_: &turnbridge_slack::Envelope<'_>| Accept::Kept;
        let (socket, _) = SocketMode::start(api, token, Timing::default(), keep).unwrap();
        SilentListener { _socket: socket }
    }
}
