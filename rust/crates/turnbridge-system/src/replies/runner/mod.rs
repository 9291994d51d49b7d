//! Runs one reply: claims it, resumes the session with it or types it into the session's terminal
//! (`pane`), waits, and stores the result.
//!
//! The order makes a reply run at most once: first the lock, then the claim, then the agent. The
//! agent's output goes only into files; the log has their lengths. A prompt is a file that the
//! agent reads; only `codex queue` takes it as an argument. It is never part of a command line that
//! a shell reads.

pub mod agent;
mod codex;
mod pane;
mod stop;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use turnbridge_config::{Config, ResumeConfig};
use turnbridge_core::agents::resume::{
    self, CodexWriter, Invocation, LiveSession, ResumeRefusal, ResumedSession, ResumedThread,
    says_session_unknown,
};
use turnbridge_core::ids::{Agent, SessionId};
use turnbridge_core::replies::holder::StartedProgram;
use turnbridge_core::replies::reply::Reply;
use turnbridge_core::replies::reply_plan::ReplyProgress;
use turnbridge_core::replies::run_end::judge_failure;
use turnbridge_core::replies::run_result::{Reason, RunOutcome, RunResult};
use turnbridge_core::session::Session;
use turnbridge_store::clock;
use turnbridge_store::foreign::codex_rollouts;
use turnbridge_store::log::{LogValue, write_log};
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::inbox::{self, RunClaim, Streams};
use turnbridge_store::state::session_store;

use crate::agent_home::HomeVariable;
use crate::failure::hinted;
use crate::plugin_layout::to_load_again;
use crate::programs;
use crate::replies::runs::{LONGEST_OUTPUT, evidence, obstacle};
use agent::AgentExit;

/// The limit of an agent's errors, enough to recognise its messages.
const LONGEST_COMPLAINT: u64 = 16 << 10;

/// The interval at which a thread is polled for its release.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Runs the reply, unless another process runs it, or has done so. Logs the error too.
pub fn run(paths: &StatePaths, id: &str) -> Result<()> {
    let ran = claim_and_run(paths, id);
    if let Err(error) = &ran {
        // No process reads the output of the daemon's children.
        let fields = [
            ("program", "turnbridge run-reply".into()),
            ("reply", id.into()),
            ("error", format!("{error:#}").into()),
        ];
        write_log(&paths.daemon_log(), clock::now(), "warn", "could not run a reply", &fields);
    }
    ran
}

fn claim_and_run(paths: &StatePaths, id: &str) -> Result<()> {
    stop::listen();
    agent::leave_session();
    let folder = || format!("could not use `{}`", paths.inbox_dir().display());
    // Another live runner has it.
    let Some(_lock) = inbox::lock(paths, id).with_context(folder)? else { return Ok(()) };
    let unknown = || hinted(format!("no reply `{id}` waits"), "`turnbridge inbox` lists them");
    let entry = inbox::entry(paths, id).with_context(folder)?.ok_or_else(unknown)?;
    if let Some(key) = entry.reply.session()
        && entry.progress == ReplyProgress::Waiting
        && obstacle(paths, key).is_some()
    {
        // The reply stays unclaimed: the daemon explains the wait in its thread, and retries.
        return Ok(());
    }
    if inbox::claim(paths, id, clock::now()).with_context(folder)? == RunClaim::Taken {
        return Ok(());
    }
    // The reply is read after the claim, so that no other process finishes it any more.
    let Some(entry) = inbox::entry(paths, id).with_context(folder)? else { return Ok(()) };
    let begun = Instant::now();
    let result = ReplyRunner { paths, reply: &entry.reply }.run();
    log(paths, &entry.reply, &result, begun);
    inbox::save_result(paths, id, &result).with_context(folder)
}

struct ReplyRunner<'a> {
    paths: &'a StatePaths,
    reply: &'a Reply,
}

/// A program, its working folder, and its input.
struct AgentCall<'a> {
    agent: Agent,
    program: &'a Path,
    cwd: Option<&'a str>,
    session: Option<&'a Session>,
    invocation: Invocation,
    way: StartedProgram,
}

impl ReplyRunner<'_> {
    fn run(&self) -> RunResult {
        self.try_run().unwrap_or_else(|reason| RunResult::failed(reason, None, clock::now()))
    }

    fn try_run(&self) -> Result<RunResult, Reason> {
        let key = self.reply.session().ok_or(Reason::SessionInvalid)?;
        let agent = key.agent;
        // A broken config counts as an empty one, which allows nothing extra.
        let config = Config::read().unwrap_or_default();
        let session = session_store::read(self.paths, key);
        if config.resume.live == LiveSession::Pane
            && let Some(result) = self.type_into_pane(key)
        {
            return Ok(result);
        }
        let cwd = folder_of(agent, session.as_ref(), self.reply);
        if cwd.is_some_and(|cwd| !Path::new(cwd).is_dir()) {
            return Err(Reason::FolderMissing);
        }
        let program = programs::agent(agent, &config).ok_or(Reason::ProgramMissing)?;
        let invocation = match agent {
            Agent::Claude => claude(&key.id, session.as_ref(), &config.resume, &self.reply.text),
            Agent::Codex => codex(&key.id, cwd, CodexWriter::Free, &self.reply.text),
        };
        let call = AgentCall {
            agent,
            program: &program,
            cwd,
            session: session.as_ref(),
            invocation: invocation.map_err(reason_of)?,
            way: StartedProgram::Agent,
        };
        match agent {
            Agent::Claude => self.call(&call),
            Agent::Codex => self.call_codex(key, &call),
        }
    }

    /// Returns whether the user, or the process that ends this one, has asked for a stop.
    fn is_stopping(&self) -> bool {
        stop::is_asked() || inbox::is_stop_requested(self.paths, &self.reply.id)
    }

    fn streams(&self) -> Result<Streams, Reason> {
        Streams::of(self.paths, &self.reply.id).map_err(|_| Reason::NotStarted)
    }

    fn call(&self, call: &AgentCall<'_>) -> Result<RunResult, Reason> {
        if self.is_stopping() {
            return Ok(RunResult::new(RunOutcome::Stopped, clock::now()));
        }
        let streams = self.streams()?;
        let mut command = self.command(call, &streams).map_err(|_| Reason::NotStarted)?;
        let child = command.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Reason::ProgramMissing,
            _ => Reason::NotStarted,
        })?;
        // Elsewhere the child has done this itself, before it became the agent.
        #[cfg(windows)]
        let _ = inbox::save_agent(self.paths, &self.reply.id, child.id(), call.way, clock::now());
        let end = agent::wait(child, || self.is_stopping()).map_err(|_| Reason::NotStarted)?;
        let (stdout_bytes, stderr_bytes) = streams.lengths();
        let result = match end {
            AgentExit::Stopped => RunResult::new(RunOutcome::Stopped, clock::now()),
            AgentExit::Exit(0) => RunResult {
                output: self.unseen_output(call.agent, &streams),
                code: Some(0),
                ..RunResult::new(RunOutcome::Done, clock::now())
            },
            AgentExit::Exit(code) => {
                let said = [streams.read_stderr(LONGEST_COMPLAINT), streams.read_stdout(4_096)];
                let is_unknown = said.iter().any(|text| says_session_unknown(text));
                let reason = if is_unknown { Reason::SessionUnknown } else { Reason::ExitCode };
                self.by_evidence(call, RunResult::failed(reason, Some(code), clock::now()))
            }
            AgentExit::Signal(signal) => self
                .by_evidence(call, RunResult::failed(Reason::Signal, Some(signal), clock::now())),
        };
        Ok(RunResult { stdout_bytes, stderr_bytes, ..result })
    }

    /// Corrects the result by the traces of the turn, which are better evidence than the agent's
    /// end.
    fn by_evidence(&self, call: &AgentCall<'_>, result: RunResult) -> RunResult {
        let never_ran = matches!(result.reason, Some(Reason::SessionUnknown));
        if call.way == StartedProgram::Queue || never_ran {
            return result;
        }
        // Hooks outlive a killed agent.
        while inbox::is_hook_running(&self.reply.id) {
            std::thread::sleep(LOOK_AGAIN);
        }
        judge_failure(&evidence(self.paths, self.reply), result)
    }

    /// Returns the agent's output if no hook has seen a turn end: a slash command, or an agent
    /// without Turnbridge's hooks. No other source reports it, except the agent's rollouts.
    fn unseen_output(&self, agent: Agent, streams: &Streams) -> Option<String> {
        let is_unseen =
            !agent.tells_turns_by_rollouts() && !inbox::has_ended(self.paths, &self.reply.id);
        let output = is_unseen.then(|| streams.read_stdout(LONGEST_OUTPUT))?;
        Some(output).filter(|output| !output.trim().is_empty())
    }

    fn command(&self, call: &AgentCall<'_>, streams: &Streams) -> std::io::Result<Command> {
        let mut command = Command::new(call.program);
        command.args(&call.invocation.arguments);
        if let Some(cwd) = call.cwd {
            command.current_dir(cwd);
        }
        let (stdout, stderr) = streams.create()?;
        command.stdout(stdout).stderr(stderr);
        match &call.invocation.stdin {
            Some(text) => command.stdin(streams.open_stdin(text)?),
            None => command.stdin(Stdio::null()),
        };
        agent::clear_environment(&mut command);
        if let Some(HomeVariable { name, value }) = call.session.and_then(HomeVariable::of) {
            match value {
                Some(folder) => command.env(name, folder),
                None => command.env_remove(name),
            };
        }
        command.env(inbox::REPLY_ID, &self.reply.id);
        agent::in_its_own_group(&mut command);
        #[cfg(unix)]
        {
            let (paths, id, way) = (self.paths.clone(), self.reply.id.clone(), call.way);
            agent::name_itself(&mut command, move |pid| {
                inbox::save_agent(&paths, &id, pid, way, clock::now())
            });
        }
        Ok(command)
    }
}

fn home_of(session: Option<&Session>) -> Option<PathBuf> {
    codex_rollouts::home_of(Path::new(session?.transcript_path.as_deref()?))
}

/// Returns the folder for the run. The folder in which a session was started may differ from the
/// one in which its last turn ended.
fn folder_of<'a>(agent: Agent, session: Option<&'a Session>, reply: &'a Reply) -> Option<&'a str> {
    let of_session = session.and_then(Session::project_dir);
    let of_reply = reply.cwd.as_deref();
    if agent.is_found_in_its_folder_only() {
        of_session.or(of_reply)
    } else {
        of_reply.or(of_session)
    }
}

fn claude(
    id: &SessionId,
    session: Option<&Session>,
    settings: &ResumeConfig,
    prompt: &str,
) -> Result<Invocation, ResumeRefusal> {
    let plugin = session.and_then(Session::current_run).and_then(|run| run.host.plugin.as_ref());
    let plugin = plugin.filter(|plugin| plugin.by_plugin_dir);
    let plugin_dir = plugin.map(|plugin| to_load_again(&plugin.root));
    let session = ResumedSession {
        id,
        plugin_dir: plugin_dir.as_deref(),
        permission_mode: session.and_then(|session| session.permission_mode.as_deref()),
        allow_bypass: settings.allow_bypass,
        newlines: settings.claude_newlines,
    };
    resume::claude(&session, prompt)
}

fn codex(
    id: &SessionId,
    cwd: Option<&str>,
    writer: CodexWriter,
    prompt: &str,
) -> Result<Invocation, ResumeRefusal> {
    resume::codex(&ResumedThread { id, cwd, writer }, prompt)
}

fn reason_of(refusal: ResumeRefusal) -> Reason {
    match refusal {
        ResumeRefusal::NoSessionId => Reason::SessionInvalid,
        ResumeRefusal::Command => Reason::CommandRefused,
        ResumeRefusal::TooLong => Reason::TooLong,
    }
}

/// Logs the run in ids, words and lengths (SLV-83).
fn log(paths: &StatePaths, reply: &Reply, result: &RunResult, begun: Instant) {
    let mut fields: Vec<(&str, LogValue)> = vec![
        ("program", "turnbridge run-reply".into()),
        ("reply", reply.id.as_str().into()),
        ("tool", reply.to.agent_text().into()),
        ("session_id", reply.to.id_text().into()),
        ("outcome", result.outcome.as_str().into()),
        ("text_bytes", reply.text.len().into()),
        ("stdout_bytes", result.stdout_bytes.into()),
        ("stderr_bytes", result.stderr_bytes.into()),
        ("duration_ms", u64::try_from(begun.elapsed().as_millis()).unwrap_or(0).into()),
    ];
    fields.extend(result.reason.map(|reason| ("reason", reason.as_str().into())));
    fields.extend(result.code.map(|code| ("code", code.to_string().into())));
    let thread = reply.thread.as_ref();
    fields.extend(thread.map(|thread| ("thread_ts", thread.thread_ts.as_str().into())));
    let level = if result.outcome == RunOutcome::Failed { "warn" } else { "info" };
    write_log(&paths.daemon_log(), clock::now(), level, "a reply was run", &fields);
}
