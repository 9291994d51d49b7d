//! Starts an agent in this terminal (`turnbridge run`). Claude Code gets Turnbridge's plugin and a
//! new session id as arguments, unless the command line or the settings make them unnecessary, and
//! the variables that a host application sets in its own panes (TV-6..11), for users without one
//! (X34).

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use turnbridge_config::Config;
use turnbridge_core::agents::claude::claude_launch::{Additions, additions, named_session};
use turnbridge_core::ids::Agent;
use turnbridge_core::sinks::tvine_project::project_id;
use turnbridge_core::terminals::command_line;
use turnbridge_core::terminals::pane_id::OWN_SESSION;
use turnbridge_store::paths::home_dir;

use crate::failure::hinted;
use crate::plugin_layout::own_plugin;
use crate::programs;
use crate::random;
use crate::registration::claude_plugin;

/// An agent that is about to start.
#[derive(Debug)]
pub struct AgentStart {
    pub agent: Agent,
    command: Command,
}

impl AgentStart {
    /// Finds the program, and adds Turnbridge's arguments and variables. `argv` is the program and
    /// its own arguments, which come last. `config` is called only if it is needed.
    pub fn plan(argv: &[OsString], config: fn() -> Config) -> Result<AgentStart> {
        let words: Vec<_> = argv.iter().map(|word| word.to_string_lossy()).collect();
        let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
        let agent = agent_in(&words)?;
        let mut command = Command::new(program(agent, &argv[0], config)?);
        if agent.takes_session_id_and_plugin() {
            let wanted = additions(&words[1..]);
            let new_session = wanted.session_id.then(random::uuid).transpose()?;
            command.args(added_arguments(wanted, new_session.as_deref()));
            if wanted.plugin {
                let session = new_session.as_deref().or_else(|| named_session(&words[1..]));
                command.envs(tvine_variables(session));
            }
        }
        command.args(&argv[1..]);
        Ok(AgentStart { agent, command })
    }

    /// Replaces this process by the agent. Windows cannot do that: there it waits for the agent,
    /// leaves Ctrl-C to it, and returns its exit code.
    pub fn run(self) -> Result<i32> {
        let program = self.command.get_program().to_string_lossy().into_owned();
        take_our_place(self.command).with_context(|| format!("could not start `{program}`"))
    }
}

/// Returns the agent that the command line starts. An agent behind `env` and the like is an error,
/// because those would have to be run, too.
fn agent_in(words: &[&str]) -> Result<Agent> {
    let agent = command_line::agent(words).filter(|(_, argv)| argv.len() == words.len());
    agent.map(|(agent, _)| agent).ok_or_else(|| {
        let given = words.first().copied().unwrap_or_default();
        hinted(format!("`{given}` is no agent"), "run `turnbridge run -- claude` or `… -- codex`")
    })
}

/// Returns whether the pane shows this agent. An agent that another agent starts has the pane's
/// variables too, but is not shown.
pub fn is_shown() -> bool {
    std::io::stdin().is_terminal() && std::env::var_os("CLAUDECODE").is_none()
}

/// Returns the path that the user has named, else the program of `config.toml` or of the PATH.
fn program(agent: Agent, given: &OsString, config: fn() -> Config) -> Result<PathBuf> {
    let path = PathBuf::from(given);
    if path.components().count() > 1 {
        return Ok(path);
    }
    programs::agent(agent, &config()).ok_or_else(|| {
        let hint = format!("install it, or set `resume.{agent}` in config.toml to its path");
        hinted(format!("could not find `{agent}`"), hint)
    })
}

fn added_arguments(wanted: Additions, new_session: Option<&str>) -> Vec<OsString> {
    let mut added = Vec::new();
    if let Some(folder) = own_plugin().filter(|_| wanted.plugin && !claude_plugin::is_enabled()) {
        added.extend(["--plugin-dir".into(), folder.into_os_string()]);
    }
    if let Some(id) = new_session {
        added.extend(["--session-id".into(), id.into()]);
    }
    added
}

/// Returns the variables by which a host application informs its hooks (TV-9..11). Returns none if
/// a host application has set them for this process.
fn tvine_variables(session: Option<&str>) -> Vec<(&'static str, OsString)> {
    let names = ["TVINE_PROJECT_DIR", "TVINE_SESSION_ID", "TVINE_SOCKET_PATH"];
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let (Some(home), Ok(folder)) = (home_dir(), std::env::current_dir()) else { return Vec::new() };
    if names.into_iter().any(is_set) && !is_inherited_from_us() {
        return Vec::new();
    }
    let root = folder.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&folder);
    let tvine = home.join(".tvine");
    let project = tvine.join("projects").join(project_id(&root.to_string_lossy()));
    // Without one, hooks take the id that the agent gives its session. An older one is overwritten.
    let session = session.unwrap_or_default();
    vec![
        (names[0], project.into_os_string()),
        (names[1], session.into()),
        (names[2], tvine.join("tvine.sock").into_os_string()),
        (OWN_SESSION, session.into()),
    ]
}

/// Returns whether the variables are those of an agent that `turnbridge run` has started, and that
/// has started this process.
fn is_inherited_from_us() -> bool {
    let [own, set] = [OWN_SESSION, "TVINE_SESSION_ID"].map(std::env::var_os);
    own.is_some() && own == set
}

#[cfg(unix)]
fn take_our_place(mut command: Command) -> std::io::Result<i32> {
    Err(std::os::unix::process::CommandExt::exec(&mut command))
}

#[cfg(not(unix))]
fn take_our_place(mut command: Command) -> std::io::Result<i32> {
    use windows_sys::Win32::System::Console::SetConsoleCtrlHandler;
    unsafe extern "system" fn leave_it_to_the_agent(_event: u32) -> i32 {
        1
    }
    // SAFETY: the handler touches nothing. An agent does not inherit it, as it would `NULL`.
    unsafe { SetConsoleCtrlHandler(Some(leave_it_to_the_agent), 1) };
    Ok(command.status()?.code().unwrap_or(1))
}
