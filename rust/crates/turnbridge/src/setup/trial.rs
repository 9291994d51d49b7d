//! Tests the finished set-up: sends a real prompt to each agent. Its turn must arrive by the normal
//! path, in Slack or on the board. On a terminal it then waits for a reply of the user and reports
//! its result (SLV-10, SLV-12 to SLV-14).

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use turnbridge_core::ids::{Agent, SessionKey};
use turnbridge_core::notices::route::Route;
use turnbridge_core::replies::reply::Reply;
use turnbridge_core::replies::run_result::{RunOutcome, RunResult};
use turnbridge_core::system::setup_texts::SetupText;
use turnbridge_core::text::texts::Text;
use turnbridge_core::text::visible_text::visible_line;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::clock;
use turnbridge_store::files::atomic_file::make_private_folder;
use turnbridge_store::state::{inbox, outbox, routes, session_store, turn_store};
use turnbridge_system::replies::runner;

use super::agents::RegisteredAgent;
use super::{Setup, SetupChannel};
use crate::output;

/// The timeout of a turn: a model may think for a while even about a test.
const WAIT_FOR_TURN: Duration = Duration::from_secs(300);
/// The timeout from the turn's end to Slack; the daemon needs a second.
const WAIT_FOR_NOTICE: Duration = Duration::from_secs(60);
/// The timeout of a reply: the user must find the thread.
const WAIT_FOR_REPLY: Duration = Duration::from_secs(600);
const LOOK: Duration = Duration::from_millis(100);
/// The number of an agent's last lines shown for its failure.
const LAST_LINES: usize = 3;

/// The place where a turn has arrived, and where its replies are.
enum TrialThread {
    Slack(Route),
    Board(SessionKey),
}

/// The texts about a turn on its way, and about a reply to it.
struct TrialTexts {
    waiting: SetupText,
    arrived: SetupText,
    missing: SetupText,
    reply_now: SetupText,
    reply_ran: SetupText,
}

impl TrialTexts {
    const fn of(channel: SetupChannel) -> TrialTexts {
        match channel {
            SetupChannel::Slack => TrialTexts {
                waiting: SetupText::WaitingForNotice,
                arrived: SetupText::NoticeArrived,
                missing: SetupText::NoNotice,
                reply_now: SetupText::ReplyNow,
                reply_ran: SetupText::ReplyRan,
            },
            SetupChannel::Board => TrialTexts {
                waiting: SetupText::WaitingForTurn,
                arrived: SetupText::TurnArrived,
                missing: SetupText::NoTurn,
                reply_now: SetupText::ReplyOnBoard,
                reply_ran: SetupText::ReplyRanOnBoard,
            },
        }
    }
}

impl Setup<'_> {
    /// Tests each agent, if the user agrees. Returns whether one was tested.
    pub fn try_out(&self, agents: &[RegisteredAgent], channel: SetupChannel) -> Result<bool> {
        if agents.is_empty() {
            return Ok(false);
        }
        self.dialogue.heading(&self.dialogue.text(SetupText::TestHeading, &[]))?;
        let mut is_tried = false;
        for agent in agents {
            let question =
                self.dialogue.text(SetupText::TestQuestion, &[agent.agent.product_name()]);
            if self.dialogue.ask_yes(&question, true)? {
                self.try_agent(agent, channel)?;
                is_tried = true;
            }
        }
        Ok(is_tried)
    }

    fn try_agent(&self, agent: &RegisteredAgent, channel: SetupChannel) -> Result<()> {
        let words = TrialTexts::of(channel);
        let folder = self.folder(agent.agent)?;
        let started = clock::now();
        self.run_prompt(agent, &folder)?;
        let look = |since| self.thread(channel, agent.agent, &folder, since);
        let thread = self.wait(words.waiting, WAIT_FOR_NOTICE, || Ok(look(started)))?;
        let Some(thread) = thread else {
            return Err(self.not_arrived(&words, agent.agent, &folder));
        };
        self.dialogue.say(words.arrived, &[])?;
        if self.dialogue.is_interactive && !self.options.no_reply_test {
            self.try_reply(&words, &thread, look)?;
        }
        Ok(())
    }

    /// Returns the test's folder. It stays, because a reply in the thread runs there.
    fn folder(&self, agent: Agent) -> Result<PathBuf> {
        let folder = self.paths.state_dir().join("setup-test").join(agent.as_str());
        make_private_folder(&folder)
            .with_context(|| format!("could not make `{}`", folder.display()))?;
        Ok(folder.canonicalize().unwrap_or(folder))
    }

    /// SLV-13, SLV-14: runs the agent. Its output goes to files, because processes that it leaves
    /// may keep the streams open.
    fn run_prompt(&self, agent: &RegisteredAgent, folder: &Path) -> Result<()> {
        let name = agent.agent.product_name();
        let said = folder.join(".said");
        let failed = |cause: &str| {
            let (name, folder) = (name, folder.display().to_string());
            self.dialogue.trouble(
                (SetupText::TestRunFailed, &[name, cause]),
                (SetupText::TestRunAdvice, &[name, &folder]),
            )
        };
        let out = File::create(&said).and_then(|out| Ok((out.try_clone()?, out)));
        let (out, errors) = out.context("could not write to the state folder")?;
        let mut command = Command::new(&agent.program);
        let prompt = Text::TestPrompt.text(self.dialogue.language);
        match agent.agent {
            Agent::Claude => {
                if let Some(folder) = &agent.plugin_folder {
                    command.arg("--plugin-dir").arg(folder);
                }
                command.args(["-p", prompt]);
            }
            // The folder is no repository and contains nothing of value.
            Agent::Codex => drop(command.args(["exec", "--skip-git-repo-check", prompt])),
        }
        runner::agent::clear_environment(&mut command);
        command.current_dir(folder).stdin(Stdio::null()).stdout(out).stderr(errors);
        let mut child = command.spawn().map_err(|error| failed(&error.to_string()))?;
        let running = self.dialogue.text(SetupText::TestRunning, &[name]);
        let ended = self.wait_saying(&running, WAIT_FOR_TURN, || Ok(child.try_wait()?));
        let status = match ended {
            Ok(Some(status)) => status,
            other => {
                let _ = child.kill();
                let _ = child.wait();
                other?;
                let limit = WAIT_FOR_TURN.as_secs().to_string();
                return Err(failed(&self.dialogue.text(SetupText::Seconds, &[&limit])));
            }
        };
        let text = fs::read(&said).unwrap_or_default();
        let _ = fs::remove_file(&said);
        if status.success() {
            return Ok(());
        }
        Err(failed(&format!("{status}: {}", last_lines(&String::from_utf8_lossy(&text)))))
    }

    /// Returns the place where a turn in this folder since that time has arrived.
    fn thread(
        &self,
        channel: SetupChannel,
        agent: Agent,
        folder: &Path,
        since: Timestamp,
    ) -> Option<TrialThread> {
        match channel {
            SetupChannel::Slack => self.route(agent, folder, since).map(TrialThread::Slack),
            SetupChannel::Board => self.session(agent, folder, since).map(TrialThread::Board),
        }
    }

    fn session(&self, agent: Agent, folder: &Path, since: Timestamp) -> Option<SessionKey> {
        let has_turn = |key: &SessionKey| {
            let turns = turn_store::read_turns(&self.paths, key);
            let ended = turns.last().and_then(|turn| turn.ended_at);
            ended.is_some_and(|at| at >= since)
        };
        let sessions = session_store::read_all(&self.paths).unwrap_or_default();
        let here = sessions.into_iter().filter(|session| {
            session.key.agent == agent
                && session.cwd.as_deref().is_some_and(|cwd| is_same_folder(cwd, folder))
        });
        here.map(|session| session.key).find(has_turn)
    }

    fn route(&self, agent: Agent, folder: &Path, since: Timestamp) -> Option<Route> {
        let is_it = |route: &Route| {
            route.session.agent() == Some(agent)
                && route.cwd.as_deref().is_some_and(|cwd| is_same_folder(cwd, folder))
                && route.written_at.is_some_and(|at| at >= since)
        };
        routes::read(&self.paths).unwrap_or_default().into_iter().rev().find(is_it)
    }

    /// Returns the most specific error for a turn that has not arrived.
    fn not_arrived(&self, words: &TrialTexts, agent: Agent, folder: &Path) -> anyhow::Error {
        let of_folder = |cwd: Option<&str>| cwd.is_some_and(|cwd| is_same_folder(cwd, folder));
        let mut waiting = outbox::oldest_first(&self.paths).into_iter().flatten();
        let stuck = waiting.find(|entry| of_folder(entry.notice.cwd.as_deref()));
        let sessions = session_store::read_all(&self.paths).unwrap_or_default();
        let is_seen = sessions
            .iter()
            .any(|session| session.key.agent == agent && of_folder(session.cwd.as_deref()));
        let what = self.dialogue.text(words.missing, &[agent.product_name()]);
        let hint = match stuck {
            Some(entry) => {
                let cause = entry.progress.last_error.unwrap_or_else(|| "...".to_owned());
                self.dialogue.text(SetupText::NoticeStuck, &[&cause])
            }
            None if is_seen => self.dialogue.text(SetupText::DaemonByHand, &[]),
            None => self.dialogue.text(SetupText::HooksNotSeen, &[]),
        };
        crate::failure::hinted(what, hint)
    }

    /// Waits for a reply and reports its result. A failure does not fail the set-up: the user may
    /// reply later.
    fn try_reply(
        &self,
        words: &TrialTexts,
        thread: &TrialThread,
        look: impl Fn(Timestamp) -> Option<TrialThread>,
    ) -> Result<()> {
        self.dialogue.say(words.reply_now, &[])?;
        let since = clock::now();
        let deadline = Instant::now() + WAIT_FOR_REPLY;
        let mut has_come = false;
        while Instant::now() < deadline {
            if !has_come && self.reply_to(thread).is_some() {
                has_come = true;
                self.dialogue.say(SetupText::ReplyArrived, &[])?;
            }
            match self.reply_to(thread).and_then(|(_, result)| result) {
                Some(RunResult { outcome: RunOutcome::Failed, reason, .. }) => {
                    let reason = reason.map_or("?", |reason| reason.as_str());
                    return self.dialogue.say(SetupText::ReplyFailed, &[reason]);
                }
                Some(_) if look(since).is_some() => {
                    return self.dialogue.say(words.reply_ran, &[]);
                }
                _ => {}
            }
            if self.dialogue.enter_within(LOOK)? {
                return self.dialogue.say(SetupText::Skipped, &[]);
            }
        }
        self.dialogue.say(SetupText::NoReply, &[])
    }

    /// Returns the reply in a thread, and the result of its run.
    fn reply_to(&self, thread: &TrialThread) -> Option<(Reply, Option<RunResult>)> {
        let is_it = |reply: &Reply| match thread {
            TrialThread::Slack(route) => {
                let thread = reply.thread.as_ref();
                thread.is_some_and(|thread| thread.thread_ts == route.thread_ts)
            }
            TrialThread::Board(key) => reply.session() == Some(key),
        };
        let finished = inbox::finished(&self.paths).unwrap_or_default();
        let waiting = inbox::entries(&self.paths).unwrap_or_default();
        let waiting = waiting.into_iter().map(|entry| (entry.reply, None));
        finished.into_iter().chain(waiting).find(|(reply, _)| is_it(reply))
    }

    fn wait<T>(
        &self,
        text: SetupText,
        timeout: Duration,
        look: impl FnMut() -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        self.wait_saying(&self.dialogue.text(text, &[]), timeout, look)
    }

    /// Polls `look`; on a terminal it shows the elapsed seconds meanwhile.
    fn wait_saying<T>(
        &self,
        text: &str,
        timeout: Duration,
        mut look: impl FnMut() -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let began = Instant::now();
        let counts = output::is_terminal();
        let mut shown = None;
        let text = visible_line(text);
        let mut out = output::raw_stdout();
        if !counts {
            writeln!(out, "  {text}")?;
        }
        let found = loop {
            let found = look()?;
            let elapsed = began.elapsed();
            if found.is_some() || elapsed >= timeout {
                break found;
            }
            if counts && shown != Some(elapsed.as_secs()) {
                shown = Some(elapsed.as_secs());
                let seconds = elapsed.as_secs().to_string();
                let waited = self.dialogue.text(SetupText::WaitedFor, &[&text, &seconds]);
                write!(out, "\r  {waited}")?;
                out.flush()?;
            }
            std::thread::sleep(LOOK);
        };
        if shown.is_some() {
            writeln!(out)?;
        }
        Ok(found)
    }
}

fn is_same_folder(cwd: &str, folder: &Path) -> bool {
    Path::new(cwd) == folder || Path::new(cwd).canonicalize().is_ok_and(|cwd| cwd == folder)
}

fn last_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines.len().saturating_sub(LAST_LINES);
    lines[last..].join(" / ").chars().take(400).collect()
}
