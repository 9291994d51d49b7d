//! Helpers of the daemon's tests: they start it beside a real agent and a loopback Slack, and wait
//! for its messages. It resumes the agent by a small program that records each run before it
//! executes the agent.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use testkit::slack::{FaultMoment, SlackFault, SlackMessage, SlackThread};
use testkit::{SlackApi, SlackSetup};

use crate::support::agent_home::{AgentHome, executable};
use crate::support::codex_world::CodexWorld;
use crate::support::timeouts::{TIMEOUT, wait_for};
use crate::support::world::ApiWorld;

/// The receipt of a reply for which a new process is started.
pub const RECEIVED: &str = "Your reply was received. It will now be run as a `resume`.\n\
                            **Note: to go on in the CLI at home, first quit";
/// X40: the receipt of a reply that goes into an open terminal.
pub const FOR_TERMINAL: &str = "Your reply was received. This session is open in a terminal:";
/// The message about a reply that waits because the session is open in a terminal.
pub const HELD: &str = "This session is open in an interactive CLI.";
/// The message in a thread without a route.
pub const NOT_KNOWN: &str = "This thread is not known as a notification of `Turnbridge`";

const DELAY: Duration = Duration::from_millis(500);

/// A running daemon beside a real agent, with a loopback Slack. A drop stops it.
pub struct DaemonService<'scene> {
    pub slack: SlackApi,
    agent_home: &'scene AgentHome,
    daemon: Child,
}

impl<'scene> DaemonService<'scene> {
    /// Starts with Claude. `resume` is the content of the `[resume]` table in the config.
    #[track_caller]
    pub fn with_claude(world: &'scene ApiWorld, resume: &str) -> DaemonService<'scene> {
        let command = world.claude.command(&world.hermetic, &world.api);
        let program = noting_runs(world, world.claude.program(), "");
        DaemonService::start(
            world,
            &command,
            &format!("claude = '{}'\n{resume}", program.display()),
        )
    }

    #[track_caller]
    pub fn with_codex(world: &'scene CodexWorld) -> DaemonService<'scene> {
        DaemonService::with_codex_and(world, "")
    }

    /// Starts with Codex. `arguments` are passed to every resumed Codex.
    #[track_caller]
    pub fn with_codex_and(world: &'scene CodexWorld, arguments: &str) -> DaemonService<'scene> {
        let command = world.codex.command(&world.hermetic, &world.api);
        let program = noting_runs(world, world.codex.program(), arguments);
        DaemonService::start(world, &command, &format!("codex = '{}'\n", program.display()))
    }

    #[track_caller]
    fn start(
        agent_home: &'scene AgentHome,
        agent: &Command,
        resume: &str,
    ) -> DaemonService<'scene> {
        let slack = SlackApi::start(SlackSetup::default());
        agent_home.configure(&format!(
            "language = \"en\"\n[slack]\nbot_token = \"xoxb-loopback-bot\"\n\
             app_token = \"xapp-loopback-app\"\napi_url = \"{}\"\n\
             [destinations.dm]\ntarget_user_id = \"U0OWNER\"\n[features]\nreply_resume = true\n\
             [gate]\nenabled = false\n[resume]\n{resume}",
            slack.base_url()
        ));
        let mut command = agent_home.hermetic.command(executable("turnbridge"));
        // The agents inherit their environment from the daemon.
        let variables = agent.get_envs();
        command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
        // Its working folder does not matter.
        command.env("TURNBRIDGE_SLACK_TIME_SCALE", "20").current_dir(agent_home.hermetic.root());
        command.args(["daemon", "--foreground"]).stdin(Stdio::null());
        let daemon = command.spawn().expect("start the daemon");
        let service = DaemonService { slack, agent_home, daemon };
        wait_for("a daemon that hears Slack", || {
            let status = agent_home.turnbridge(&["daemon", "status", "--json"]);
            match status["daemon"]["slack"]["state"] == "connected" {
                true => Ok(()),
                false => Err(format!("{status:#}\n{:#?}", service.log())),
            }
        });
        service
    }

    /// Waits for the thread of a turn, until it has an answer and the outbox is empty.
    #[track_caller]
    pub fn thread_of(&self, prompt: &str) -> SlackThread {
        let parent = prompt.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        wait_for(&format!("the thread of `{prompt}`"), || {
            // The order matters: a notice that leaves the outbox later is not in the threads yet.
            let is_all_sent = self.agent_home.outbox().is_empty();
            let threads = self.slack.threads();
            let of_prompt: Vec<_> =
                threads.iter().filter(|thread| thread.parent.text == parent).collect();
            match of_prompt.as_slice() {
                [thread] if !thread.replies.is_empty() && is_all_sent => Ok((*thread).clone()),
                _ => Err(format!("{}\n{:#?}", self.describe(), self.log())),
            }
        })
    }

    /// Sends a reply in Slack's form, with its syntax for links and mentions.
    pub fn reply_as_sent(&self, thread: &SlackThread, text: &str) {
        let (seconds, _) = thread.parent.ts.split_once('.').expect("a time of Slack");
        let seconds: u64 = seconds.parse().expect("seconds");
        self.slack.raise(json!({
            "type": "message", "channel_type": "im", "channel": thread.parent.channel,
            "user": "U0OWNER", "text": text, "ts": format!("{}.000100", seconds + 1),
            "thread_ts": thread.parent.ts, "team": "T0LOOPBACK",
        }));
    }

    /// Waits until the thread has these messages of the daemon, in this order, and returns them.
    #[track_caller]
    pub fn wait_for_words(&self, thread: &SlackThread, words: &[&str]) -> Vec<SlackMessage> {
        wait_for(&format!("{words:?} in the thread"), || {
            let threads = self.slack.threads();
            let now = threads.iter().find(|now| now.parent.ts == thread.parent.ts);
            let mut rest = now.map(|now| now.replies.as_slice()).unwrap_or_default();
            let mut found = Vec::new();
            for word in words {
                let is_it =
                    |reply: &SlackMessage| reply.bot_id.is_some() && reply.text.contains(*word);
                let Some(at) = rest.iter().position(is_it) else {
                    return Err(format!("{}\n{:#?}", self.describe(), self.log()));
                };
                found.push(rest[at].clone());
                rest = &rest[at + 1..];
            }
            Ok(found)
        })
    }

    /// Returns the messages of a thread without the parent.
    pub fn said_in(&self, thread: &SlackThread) -> Vec<String> {
        let threads = self.slack.threads();
        let now = threads.into_iter().find(|now| now.parent.ts == thread.parent.ts);
        let replies = now.map(|now| now.replies).unwrap_or_default();
        replies.into_iter().map(|reply| reply.text).collect()
    }

    /// Returns the folders in which an agent was started for a reply, in order.
    pub fn runs(&self) -> Vec<PathBuf> {
        let text = fs::read_to_string(runs_file(self.agent_home)).unwrap_or_default();
        text.lines().map(PathBuf::from).collect()
    }

    /// Delays the next message to Slack, so that a run that does not wait for it fails the test.
    pub fn delay_the_receipt(&self) {
        self.slack.fail("chat.postMessage", [SlackFault::Delay(FaultMoment::Before, DELAY)]);
    }

    /// Asserts that the delayed receipt was in the thread before the only run began (SLV-37).
    #[track_caller]
    pub fn assert_received_before_the_run(&self, thread: &SlackThread) {
        assert_eq!(self.runs().len(), 1, "only the time of the last one is known");
        let noted = fs::metadata(runs_file(self.agent_home)).and_then(|file| file.modified());
        let noted = noted.expect("when the run was noted");
        let noted = noted.duration_since(UNIX_EPOCH).expect("a time after 1970").as_secs_f64();
        let receipts = self.wait_for_words(thread, &[RECEIVED]);
        let received: f64 = receipts[0].ts.parse().expect("a time of Slack");
        // A file's time is that of the system's last tick, some milliseconds earlier.
        let tick = DELAY.as_secs_f64() / 10.0;
        assert!(received <= noted + tick, "received at {received}, but run at {noted}");
    }

    /// Waits until every reply has ended with these results: `done`, or `none` without a run.
    #[track_caller]
    pub fn wait_for_ends(&self, expected: &[&str]) {
        wait_for(&format!("replies that end so: {expected:?}"), || {
            let inbox = self.agent_home.turnbridge(&["inbox", "--json"]);
            let replies = inbox["replies"].as_array().expect("replies");
            let is_over = replies.iter().all(|reply| reply["state"] == "finished");
            let outcomes = replies.iter().map(|reply| reply["result"]["outcome"].as_str());
            let ends: Vec<_> = outcomes.map(|outcome| outcome.unwrap_or("none")).collect();
            match is_over && ends == expected && self.agent_home.outbox().is_empty() {
                true => Ok(()),
                false => Err(format!("{inbox:#}\n{:#?}", self.log())),
            }
        });
    }

    /// Returns the entries of the daemon's log.
    pub fn log(&self) -> Vec<Value> {
        let hermetic = &self.agent_home.hermetic;
        let on_macos = hermetic.home().join("Library/Logs/turnbridge");
        let folders = [hermetic.state_dir().join("logs"), on_macos];
        let logs = folders.map(|folder| fs::read_to_string(folder.join("daemon.log")));
        let text = logs.into_iter().flatten().collect::<String>();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Asserts that hooks, daemon and Slack reported no problem.
    #[track_caller]
    pub fn assert_no_problems(&self) {
        self.agent_home.assert_no_problems();
        let log = self.log();
        let problems: Vec<_> = log.iter().filter(|entry| entry["level"] != "info").collect();
        assert!(problems.is_empty(), "the daemon had problems: {problems:#?}");
        self.slack.wait_for_all_acked(TIMEOUT);
        assert_eq!(self.slack.violations(), Vec::<String>::new());
    }

    fn describe(&self) -> String {
        let threads = self.slack.threads();
        let texts = threads.iter().map(|thread| {
            let replies: Vec<_> = thread.replies.iter().map(|reply| &reply.text).collect();
            format!("{:?}: {replies:#?}", thread.parent.text)
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl Drop for DaemonService<'_> {
    fn drop(&mut self) {
        let mut command = self.agent_home.hermetic.command(executable("turnbridge"));
        let _ = command.args(["daemon", "stop"]).output();
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

/// Writes a program that records the run and executes the agent with unchanged arguments.
#[track_caller]
fn noting_runs(agent_home: &AgentHome, agent: &Path, arguments: &str) -> PathBuf {
    let program = agent_home.hermetic.root().join("resumed-agent");
    let runs = runs_file(agent_home);
    let (runs, agent) = (runs.display(), agent.display());
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$PWD\" >> '{runs}'\nexec '{agent}' {arguments} \"$@\"\n"
    );
    testkit::write_program(&program, &script);
    program
}

fn runs_file(agent_home: &AgentHome) -> PathBuf {
    agent_home.hermetic.root().join("runs")
}
