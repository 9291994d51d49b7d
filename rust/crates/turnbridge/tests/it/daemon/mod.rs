//! Tests the daemon with a loopback Slack and stand-ins for the agents: replies become runs, queued
//! notices are delivered, and a stop or a wrong config loses nothing.

mod deaths;
mod machines;
mod older_version;
mod sockets;
mod words;

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::slack::{FaultMoment, SlackFault, SlackThread};
use testkit::{SlackApi, SlackSetup, wait_until};

use crate::support::world::{World, payload};

const TIMEOUT: Duration = Duration::from_secs(30);
const SESSION: &str = "825c8529-ee09-4cb8-8902-dd785b12ca0a";

const CONFIG: &str = "language = \"en\"
[slack]
bot_token = \"xoxb-loopback-bot\"
app_token = \"xapp-loopback-app\"
[destinations.dm]
target_user_id = \"U0OWNER\"
[features]
reply_resume = true
[gate]
enabled = false
";

struct DaemonFixture {
    slack: Arc<SlackApi>,
    world: World,
    daemon: Option<Child>,
}

impl DaemonFixture {
    fn start() -> DaemonFixture {
        let mut service = DaemonFixture::without_daemon(CONFIG);
        service.start_daemon();
        service.slack.wait_for_sockets(1, TIMEOUT);
        service
    }

    fn without_daemon(config: &str) -> DaemonFixture {
        DaemonFixture::with_slack(SlackSetup::default(), config)
    }

    fn with_slack(setup: SlackSetup, config: &str) -> DaemonFixture {
        DaemonFixture::at(Arc::new(SlackApi::start(setup)), config)
    }

    /// Returns a separate machine on a Slack that others may use too.
    fn at(slack: Arc<SlackApi>, config: &str) -> DaemonFixture {
        let world = World::new()
            .with("TURNBRIDGE_SLACK_API_URL", &slack.base_url())
            .with("TURNBRIDGE_SLACK_TIME_SCALE", "20");
        world.configure(config);
        fs::create_dir_all(world.hermetic.root().join("bin")).unwrap();
        let service = DaemonFixture { slack, world, daemon: None };
        service.be_agent("claude", "exit 0");
        service
    }

    fn start_daemon(&mut self) {
        self.spawn_daemon();
        wait_until(TIMEOUT, "the daemon", || self.status()["running"].as_bool().filter(|up| *up));
    }

    /// Starts the daemon without waiting for it.
    fn spawn_daemon(&mut self) {
        let mut command = self.command("turnbridge");
        command.args(["daemon", "--foreground"]).stdin(Stdio::null());
        self.daemon = Some(command.spawn().unwrap());
    }

    /// Returns a command with the agents' stand-ins first in the PATH.
    fn command(&self, program: &str) -> Command {
        let mut command = self.world.command(program);
        let bin = self.world.hermetic.root().join("bin");
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", bin.display()));
        command
    }

    fn status(&self) -> Value {
        let shown = self.world.turnbridge(&["daemon", "status", "--json"]);
        serde_json::from_str(&shown).unwrap()
    }

    /// Installs an agent that records its call and then runs `script`, with the prompt in
    /// `$prompt`.
    fn be_agent(&self, name: &str, script: &str) {
        let path = self.world.hermetic.root().join("bin").join(name);
        let calls = self.calls_file();
        let text = format!(
            "#!/bin/sh\nprompt=; [ -t 0 ] || prompt=$(cat)\n\
             {{ printf 'cwd=%s' \"$PWD\"; for a; do printf '|%s' \"$a\"; done; \
             printf '|stdin=%s\\036' \"$prompt\"; }} >> '{}'\n{script}\n",
            calls.display()
        );
        testkit::write_program(&path, &text);
    }

    fn calls_file(&self) -> PathBuf {
        self.world.hermetic.root().join("calls")
    }

    fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.calls_file()).unwrap_or_default();
        // The last call may be incomplete.
        let whole = text.rsplit_once('\u{1e}').map_or("", |(whole, _)| whole);
        whole.split('\u{1e}').filter(|call| !call.is_empty()).map(str::to_owned).collect()
    }

    /// Makes a finished turn, and returns its thread.
    fn turn(&self, prompt: &str) -> SlackThread {
        self.turn_of(SESSION, prompt)
    }

    fn turn_of(&self, session: &str, prompt: &str) -> SlackThread {
        let cwd = self.world.hermetic.project();
        let event = |name: &str, more: Value| {
            let mut payload = payload(name, more);
            payload["session_id"] = json!(session);
            payload["cwd"] = json!(cwd);
            self.world.status(&payload);
        };
        event("UserPromptSubmit", json!({"prompt": prompt}));
        event("Stop", json!({"last_assistant_message": format!("done: {prompt}")}));
        self.slack.wait_for_thread(prompt, TIMEOUT, |thread| {
            thread.parent.text == prompt && !thread.replies.is_empty()
        })
    }

    #[track_caller]
    fn wait_for_words(&self, thread: &SlackThread, words: &[&str]) {
        let what = format!("{words:?} in the thread");
        self.slack.wait_for_thread(&what, TIMEOUT, |seen| {
            let texts: Vec<_> = seen.replies.iter().map(|reply| reply.text.as_str()).collect();
            let mut rest = texts.as_slice();
            let mut is_next = |word: &&str| {
                let at = rest.iter().position(|text| text.contains(*word));
                at.map(|at| rest = &rest[at + 1..]).is_some()
            };
            seen.parent.ts == thread.parent.ts && words.iter().all(&mut is_next)
        });
    }

    fn log(&self) -> Vec<Value> {
        let path = self.world.hermetic.state_dir().join("logs/daemon.log");
        crate::support::world::lines_of(&fs::read_to_string(path).unwrap_or_default())
    }

    #[track_caller]
    fn wait_for_log(&self, outcome: &str) {
        wait_until(TIMEOUT, &format!("`{outcome}` in daemon.log"), || {
            self.log().iter().any(|entry| entry["outcome"] == outcome).then_some(())
        });
    }
}

impl Drop for DaemonFixture {
    fn drop(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            let _ = self.world.command("turnbridge").args(["daemon", "stop"]).output();
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// SLV-8.
#[test]
fn slv_t3_t4_a_reply_is_received_and_becomes_the_next_prompt_of_its_session() {
    let service = DaemonFixture::start();
    let thread = service.turn("fix it");
    service.slack.say(Some(&thread.parent.ts), "now the tests, please");
    service.wait_for_words(&thread, &["Your reply was received."]);
    let call = wait_until(TIMEOUT, "the agent", || service.calls().pop());
    let cwd = service.world.hermetic.project();
    assert_eq!(call, format!("cwd={}|-r|{SESSION}|-p|stdin=now the tests, please", cwd.display()));
    service.slack.wait_for_all_acked(TIMEOUT);
    assert_eq!(service.slack.violations(), Vec::<String>::new());
}

#[test]
fn slv_39_86_a_run_that_fails_is_told_with_its_reason() {
    let service = DaemonFixture::start();
    service.be_agent("claude", "echo secret >&2; exit 7");
    let thread = service.turn("fix it");
    service.slack.say(Some(&thread.parent.ts), "go on");
    service.wait_for_words(&thread, &["received", "The `resume` failed."]);
    service.wait_for_words(&thread, &["exit code: `7`"]);
    let log =
        fs::read_to_string(service.world.hermetic.state_dir().join("logs/daemon.log")).unwrap();
    assert!(!log.contains("secret") && !log.contains("go on"), "{log}");
}

#[test]
fn slv_42_44_45_strangers_bots_edits_and_forgeries_start_nothing() {
    let service = DaemonFixture::start();
    let thread = service.turn("fix it");
    let parent = thread.parent.ts.as_str();
    service.slack.raise(json!({
        "type": "message", "channel_type": "im", "channel": thread.parent.channel,
        "user": "U0STRANGER", "text": "rm -rf /", "ts": "1794842299.000100", "thread_ts": parent,
    }));
    service.wait_for_log("other_user");
    service.slack.say_as_bot("B0OTHER", Some(parent), "beep");
    service.wait_for_log("bot");
    service.slack.say(Some(parent), "   ");
    service.wait_for_log("empty_text");
    service.slack.say(None, "no thread");
    service.wait_for_log("no_thread");
    // SLV-40, SLV-85: a reply in the owner's own thread gets a message, and no run.
    let own = service.slack.say(None, "my own thread");
    service.slack.say(Some(&own), "go on");
    service.wait_for_log("no_route");
    let answered = service.slack.wait_for_thread("it", TIMEOUT, |seen| seen.parent.ts == own);
    service.wait_for_words(&answered, &["This thread is not known"]);
    assert!(service.calls().is_empty(), "{:?}", service.calls());
    let threads = service.slack.threads();
    let fixed = threads.iter().find(|seen| seen.parent.ts == parent).unwrap();
    let ours = fixed.replies.iter().filter(|reply| reply.bot_id.is_some()).count();
    assert_eq!(ours, 2, "a stranger gets silence: {fixed:#?}");
}

/// X11, SLV-21, SLV-47: only this machine's routes give the session, without a call to Slack.
#[test]
fn x11_whose_a_thread_is_stands_in_the_routes_and_slack_is_not_asked() {
    let service = DaemonFixture::start();
    let thread = service.turn("fix it");
    let reads = ["conversations.replies", "conversations.history"];
    for method in reads {
        let refused = || SlackFault::Error(FaultMoment::Before, "internal_error".to_owned());
        service.slack.fail(method, (0..1_000).map(|_| refused()));
    }
    service.slack.say(Some(&thread.parent.ts), "go on");
    let call = wait_until(TIMEOUT, "the agent", || service.calls().pop());
    assert!(call.contains(SESSION), "{call}");
    let asked = reads.map(|method| {
        let calls = service.slack.calls_of(method);
        calls.iter().filter(|call| format!("{call:?}").contains(&thread.parent.ts)).count()
    });
    assert_eq!(asked, [0, 0]);
}

#[test]
fn a_reply_that_nobody_heard_is_asked_for_when_the_daemon_is_back() {
    let mut service = DaemonFixture::start();
    let thread = service.turn("fix it");
    service.slack.say(Some(&thread.parent.ts), "first");
    wait_until(TIMEOUT, "the first", || (service.calls().len() == 1).then_some(()));
    service.world.turnbridge(&["daemon", "stop"]);
    service.daemon.take().unwrap().wait().unwrap();
    // Without an event: Slack has stopped its retries.
    service.slack.post_as_user(Some(&thread.parent.ts), "while you slept");
    service.start_daemon();
    let calls =
        wait_until(TIMEOUT, "the second", || Some(service.calls()).filter(|calls| calls.len() > 1));
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert!(calls[1].contains("while you slept"), "{calls:?}");
}

#[test]
fn there_is_one_daemon_and_it_delivers_while_it_lives() {
    let service = DaemonFixture::start();
    let second = service.command("turnbridge").args(["daemon", "--foreground"]).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    let error = String::from_utf8(second.stderr).unwrap();
    assert!(error.starts_with("error: a daemon is already running"), "{error}");
    service.turn("delivered by the daemon");
    let status = service.status();
    assert_eq!(status["daemon"]["slack"]["state"], "connected", "{status}");
    assert_eq!(service.world.turnbridge(&["daemon", "stop"]), "the daemon has stopped\n");
    assert_eq!(service.status()["running"], false);
    assert_eq!(service.world.turnbridge(&["daemon", "stop"]), "no daemon runs\n");
}

#[test]
fn a_config_that_is_wrong_is_told_once_and_the_old_one_stays() {
    let service = DaemonFixture::start();
    service.world.configure("[gate]\nenabled = false\n[slack]\nbot_token = 7\n");
    let refused = || {
        let log = service.log();
        log.iter()
            .filter(|entry| entry["message"] == "the config is wrong; the old one stays")
            .count()
    };
    wait_until(TIMEOUT, "the refusal", || (refused() == 1).then_some(()));
    service.turn("with the old config");
    assert_eq!(refused(), 1);
    // Without replies the connection is closed.
    service.world.configure(&CONFIG.replace("reply_resume = true", "reply_resume = false"));
    wait_until(TIMEOUT, "the end of the connection", || {
        (service.status()["daemon"]["slack"]["state"] == "off").then_some(())
    });
    wait_until(TIMEOUT, "no socket", || service.slack.open_sockets().is_empty().then_some(()));
}

/// X25.
#[test]
fn a_daemon_that_starts_with_a_wrong_config_runs_and_says_so_everywhere() {
    let service = DaemonFixture::without_daemon(&format!("{CONFIG}[voice]\nmute = 7\n"));
    let said = |arguments: &[&str]| {
        let output = service.command("turnbridge").args(arguments).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        service.world.without_paths(&String::from_utf8(text).unwrap())
    };
    let started = said(&["daemon"]);
    let status = service.status();
    let pid = status["daemon"]["pid"].to_string();
    insta::assert_snapshot!(started.replace(&pid, "PID"), @"
    the daemon runs (pid PID)
    note: no config is in force: could not read `CONFIG/config.toml`: `voice.mute` must be `true` or `false` at line 12, column 8; the file was left as it was; repair that line
    ");
    assert_eq!(status["running"], true);
    assert_eq!(
        status["daemon"]["slack"],
        json!({"state": "off", "reason": "no config is in force"})
    );
    assert_eq!(status["daemon"]["board"]["state"], "served", "{status}");
    let shown = said(&["daemon", "status"]);
    insta::assert_snapshot!(shown.split_once('\n').unwrap().1, @"
    config: no config is in force (could not read `CONFIG/config.toml`: `voice.mute` must be `true` or `false` at line 12, column 8)
    hint: the file was left as it was; repair that line
    replies from Slack: off (no config is in force)
    ");
    assert!(said(&["daemon"]).starts_with("error: a daemon is already running"));
    assert!(said(&["board"]).starts_with("http://127.0.0.1:"));
    let refused = service.log();
    let refused: Vec<_> = refused.iter().filter(|entry| entry["level"] == "error").collect();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(refused[0]["message"], "the config is wrong; no config is in force");
    // The repaired config takes effect without a restart.
    service.world.configure(CONFIG);
    service.slack.wait_for_sockets(1, TIMEOUT);
    wait_until(TIMEOUT, "the config", || {
        service.status()["daemon"]["config_problem"].is_null().then_some(())
    });
    assert_eq!(said(&["daemon", "stop"]), "the daemon has stopped\n");
}

/// As on a full disk, where the lock of the daemon can be taken all the same.
#[test]
fn a_daemon_that_cannot_write_its_state_is_said_to_run_and_tries_again() {
    let service = DaemonFixture::without_daemon(CONFIG);
    let said = |arguments: &[&str]| {
        let output = service.command("turnbridge").args(arguments).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), service.world.without_paths(&String::from_utf8(text).unwrap()))
    };
    let in_the_way = service.world.hermetic.state_dir().join("daemon.json");
    fs::create_dir_all(in_the_way.join("folder")).unwrap();
    let (is_success, started) = said(&["daemon"]);
    assert!(!is_success, "{started}");
    let (_, rest) = started.split_once("(pid ").expect(&started);
    let pid = rest.split_once(')').unwrap().0;
    let own: u64 = pid.parse().unwrap();
    insta::assert_snapshot!(started.replace(pid, "PID"), @"
    error: the daemon runs (pid PID), but has not written its state (`~/home/.local/state/turnbridge/daemon.json`)
    hint: the disk of the state folder may be full, or `daemon.json` not writable; the daemon tries again every 30 s
    ");
    insta::assert_snapshot!(said(&["daemon", "status"]).1, @"
    a daemon runs, but says nothing of itself (`daemon.json`)
    hint: the disk of the state folder may be full, or `daemon.json` not writable; the daemon tries again every 30 s
    hint: `turnbridge daemon stop`, then `turnbridge daemon`, starts it anew
    ");
    let warnings = || {
        let is_it = |entry: &Value| entry["message"] == "daemon.json could not be written";
        service.log().into_iter().filter(is_it).count()
    };
    assert_eq!(warnings(), 1);
    fs::remove_dir_all(&in_the_way).unwrap();
    wait_until(Duration::from_secs(60), "its state", || {
        (service.status()["daemon"]["pid"] == own).then_some(())
    });
    assert_eq!(warnings(), 1, "it is told once");
    assert_eq!(said(&["daemon", "stop"]).1, "the daemon has stopped\n");
}

#[test]
fn of_a_config_that_others_can_write_to_the_log_says_that_none_is_in_force() {
    use std::os::unix::fs::PermissionsExt;
    let mut service = DaemonFixture::without_daemon(CONFIG);
    let file = service.world.hermetic.config_dir().join("config.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    service.start_daemon();
    let refused = service.log();
    let refused = refused.iter().find(|entry| entry["level"] == "error").unwrap();
    assert_eq!(refused["message"], "the config is wrong; no config is in force");
    assert!(refused["error"].as_str().unwrap().contains("can be written to by others"));
    assert_eq!(service.status()["daemon"]["config_problem"]["is_older_in_force"], false);
    assert!(service.slack.calls().is_empty());
}

#[test]
fn x36_without_slack_it_runs_all_the_same() {
    let mut service = DaemonFixture::without_daemon("[gate]\nenabled = false\n");
    service.start_daemon();
    wait_until(TIMEOUT, "its state", || {
        (service.status()["daemon"]["slack"]["state"] == "off").then_some(())
    });
    assert!(service.slack.calls().is_empty());
}

/// Nobody has to think of `turnbridge doctor` to find out why Slack is silent.
#[test]
fn a_slip_in_the_config_is_named_where_it_is_said_that_slack_is_off() {
    for (wrong, named) in [
        (
            CONFIG.replace("bot_token", "bot_tokn"),
            "no Slack is configured; not known in config.toml: `slack.bot_tokn` (did you mean `slack.bot_token`?)",
        ),
        (
            CONFIG.replace("reply_resume", "reply_resum"),
            "`features.reply_resume` is not on; not known in config.toml: `features.reply_resum` (did you mean \
             `features.reply_resume`?)",
        ),
        (
            CONFIG.replace("[slack]", "[slak]") + "[voice]\nspeed = 1\n",
            "no Slack is configured; not known in config.toml: `slak` (did you mean `slack`?)",
        ),
    ] {
        let mut service = DaemonFixture::without_daemon(&wrong);
        service.start_daemon();
        wait_until(TIMEOUT, "its state", || {
            (service.status()["daemon"]["slack"]["state"] == "off").then_some(())
        });
        let shown = service.world.turnbridge(&["daemon", "status"]);
        assert!(shown.contains(&format!("\nreplies from Slack: off ({named})\n")), "{shown}");
        let log = service.log();
        let mut warned =
            log.iter().filter(|entry| entry["message"] == "a key of config.toml is not known");
        let key = warned.next().unwrap_or_else(|| panic!("{log:?}"))["key"].as_str().unwrap();
        assert!(named.contains(key), "{key}");
        service.world.turnbridge(&["daemon", "stop"]);
    }
}

#[test]
fn replies_of_one_session_wait_for_each_other_and_stop_ends_the_running_one() {
    let service = DaemonFixture::start();
    service.be_agent("claude", "exec sleep 60");
    let thread = service.turn("fix it");
    service.slack.say(Some(&thread.parent.ts), "first");
    wait_until(TIMEOUT, "the first run", || (service.calls().len() == 1).then_some(()));
    service.be_agent("claude", "exit 0");
    service.slack.say(Some(&thread.parent.ts), "second");
    service.wait_for_words(&thread, &["An earlier reply is still running."]);
    assert_eq!(service.calls().len(), 1);
    service.slack.say(Some(&thread.parent.ts), "stop");
    service.wait_for_words(&thread, &["The run of this reply was stopped."]);
    let calls = wait_until(TIMEOUT, "the second run", || {
        Some(service.calls()).filter(|calls| calls.len() == 2)
    });
    assert!(calls[1].contains("second"), "{calls:?}");
}

#[test]
fn it_goes_into_the_background_and_ends_on_a_signal() {
    let service = DaemonFixture::without_daemon(CONFIG);
    let mut command = service.command("turnbridge");
    let output = command.arg("daemon").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("the daemon runs (pid "), "{text}");
    let status = service.status();
    let pid = status["daemon"]["pid"].as_u64().unwrap().to_string();
    assert!(text.contains(&pid), "{text}");
    service.slack.wait_for_sockets(1, TIMEOUT);
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    wait_until(TIMEOUT, "its end", || (service.status()["running"] == false).then_some(()));
    let log = service.log();
    let last = log.last().unwrap();
    assert_eq!(
        (&last["message"], &last["reason"]),
        (&json!("the daemon has stopped"), &json!("signal"))
    );
    assert!(service.slack.open_sockets().is_empty());
}

#[test]
fn a_suspended_daemon_says_so_and_can_be_stopped() {
    let mut service = DaemonFixture::without_daemon("[gate]\nenabled = false\n");
    service.start_daemon();
    assert_eq!(service.status()["suspended"], false);
    let pid = service.status()["daemon"]["pid"].to_string();
    assert!(Command::new("kill").args(["-STOP", &pid]).status().unwrap().success());
    wait_until(TIMEOUT, "the signal", || (service.status()["suspended"] == true).then_some(()));
    let shown = service.world.turnbridge(&["daemon", "status"]);
    assert!(shown.contains("suspended by a signal"), "{shown}");
    assert!(shown.contains(&format!("hint: `kill -CONT {pid}` lets it go on")), "{shown}");
    assert_eq!(service.world.turnbridge(&["daemon", "stop"]), "the daemon has stopped\n");
}

/// X36: a notice queued during the stop is delivered.
#[test]
fn what_is_left_when_it_stops_is_delivered_by_the_notifier() {
    let service = DaemonFixture::start();
    service.slack.down();
    let mut event = payload("UserPromptSubmit", json!({"prompt": "left behind"}));
    event["session_id"] = json!(SESSION);
    service.world.status(&event);
    let mut event = payload("Stop", json!({"last_assistant_message": "Done."}));
    event["session_id"] = json!(SESSION);
    service.world.status(&event);
    let waiting = || {
        let list: Value =
            serde_json::from_str(&service.world.turnbridge(&["outbox", "--json"])).unwrap();
        list["notices"].as_array().unwrap().clone()
    };
    wait_until(TIMEOUT, "a failed attempt", || {
        waiting().first().is_some_and(|notice| notice["attempts"] == 1).then_some(())
    });
    service.world.turnbridge(&["daemon", "stop"]);
    service.slack.up();
    service.world.turnbridge(&["outbox", "retry"]);
    service.slack.wait_for_thread("it", TIMEOUT, |thread| thread.parent.text == "left behind");
    wait_until(TIMEOUT, "an empty outbox", || waiting().is_empty().then_some(()));
}

#[test]
fn an_edited_message_and_an_agent_that_is_gone_are_dealt_with() {
    let service = DaemonFixture::start();
    let thread = service.turn("fix it");
    fs::remove_file(service.world.hermetic.root().join("bin/claude")).unwrap();
    service.world.configure(&format!("{CONFIG}[resume]\nclaude = \"/nowhere/claude\"\n"));
    let ts = service.slack.say(Some(&thread.parent.ts), "go on");
    service.wait_for_words(&thread, &["received", "the program was not found: `claude`"]);
    service.slack.edit(&ts, "go on, edited");
    // Its text is elsewhere, and an empty one is dropped first (SLV-45).
    service.wait_for_log("empty_text");
    assert!(service.calls().is_empty());
}
