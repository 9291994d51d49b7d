//! Lists the environment variables that a project must not set for Turnbridge's processes, and
//! those that an agent sets for one call. It reads no variables.
//!
//! Claude Code adds `env` of a project's settings to its own environment, and so to that of every
//! hook and MCP server. So a variable of these processes may be a project's choice, while a
//! variable with which the agent's process was started is the user's.

use crate::ids::Agent;

/// The variables that name folders of Turnbridge's files, and of the agents'.
pub const FOLDERS: [&str; 8] = [
    "HOME",
    "USERPROFILE",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "APPDATA",
    "LOCALAPPDATA",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
];

/// The variables of the trusted certificates. With these and a proxy, another party could read the
/// tokens.
pub const CERTIFICATES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// The variables of a connection's proxies.
pub const PROXIES: [&str; 8] = [
    "ALL_PROXY",
    "all_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "NO_PROXY",
    "no_proxy",
];

/// Windows' variables for starting a program and opening a connection, and the user's language.
const SYSTEM: [&str; 8] =
    ["SystemRoot", "SystemDrive", "windir", "TEMP", "TMP", "LANG", "LC_ALL", "LC_MESSAGES"];

/// Returns all variables that the notifier receives. It starts no program, so it needs no PATH.
pub fn for_the_notifier() -> impl Iterator<Item = &'static str> {
    FOLDERS.into_iter().chain(CERTIFICATES).chain(PROXIES).chain(SYSTEM)
}

/// Returns whether the user is informed if a project has set the variable.
pub fn is_told(name: &str) -> bool {
    [&FOLDERS[..], &CERTIFICATES, &PROXIES].concat().contains(&name)
}

/// Returns whether an agent sets the variable for one call. If the agent does not set it, the value
/// may still be a project's: the caller has to check it.
pub fn is_of_the_call(name: &str) -> bool {
    let is_agents = name.starts_with("CLAUDE") && name != "CLAUDE_CONFIG_DIR";
    // The last one is Turnbridge's, for a later program of a chain, whose caller may have ended.
    is_agents
        || ["AI_AGENT", "PLUGIN_ROOT", "PLUGIN_DATA", "TURNBRIDGE_NOTIFY_CHAINED"].contains(&name)
}

/// Returns whether a process of this name is an agent: `claude`, `claude.exe`, `codex`,
/// `codex-x86_64-unk`.
pub fn is_agent(process_name: &str) -> bool {
    let name = process_name.to_ascii_lowercase();
    Agent::ALL.into_iter().any(|agent| name.starts_with(agent.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_agents_set_for_a_call_is_told_from_what_a_start_decides() {
        for name in ["CLAUDECODE", "CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT"] {
            assert!(is_of_the_call(name), "{name}");
        }
        for name in FOLDERS.into_iter().chain(CERTIFICATES).chain(PROXIES) {
            assert!(!is_of_the_call(name) && is_told(name), "{name}");
        }
        for name in ["PATH", "LD_PRELOAD", "TMUX_PANE", "KAWAII_PANE_ID", "TURNBRIDGE_REPLY_ID"] {
            assert!(!is_of_the_call(name) && !is_told(name), "{name}");
        }
    }

    #[test]
    fn the_notifier_gets_nothing_that_loads_code_or_names_programs() {
        for name in for_the_notifier() {
            assert!(!["PATH", "LD_PRELOAD", "LD_LIBRARY_PATH"].contains(&name), "{name}");
            assert!(!name.starts_with("DYLD_") && !name.starts_with("TURNBRIDGE_"), "{name}");
        }
    }

    #[test]
    fn agents_are_known_by_the_names_that_systems_give_their_processes() {
        for name in ["claude", "claude.exe", "Claude.exe", "codex", "codex-x86_64-un"] {
            assert!(is_agent(name), "{name}");
        }
        for name in ["node", "turnbridge", "bash", "systemd", ""] {
            assert!(!is_agent(name), "{name}");
        }
        for agent in Agent::ALL {
            assert!(is_agent(agent.as_str()), "{agent}");
        }
    }
}
