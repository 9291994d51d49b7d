//! Lists the environment variables that an agent started by Turnbridge must not inherit. The daemon
//! may have been started by another agent, or in its terminal; the new agent would then use that
//! agent's session, sandbox, editor or terminal.
//!
//! All others stay: the user's PATH, proxies, keys, `CLAUDE_CONFIG_DIR`, `CODEX_HOME`, and settings
//! of agents (`CLAUDE_CODE_USE_BEDROCK`). The names are those that Claude Code 2.1.197 and 2.1.326
//! and Codex 0.166.0 set for their children. `CLAUDE_CODE_*` contains both settings and facts of a
//! session, so the latter are listed by name.

use crate::terminals::terminal_table::is_of_a_terminal;

const NAMES: [&str; 46] = [
    // Another Claude Code's session.
    "CLAUDECODE",
    "CLAUDE_AGENT_SDK_CLIENT_APP",
    "CLAUDE_AGENT_SDK_VERSION",
    "CLAUDE_CLIENT_PRESENCE_FILE",
    "CLAUDE_CODE_AGENT_VIEW_RELAUNCH",
    "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_CONTAINER_ID",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_INVOKED_SKILLS",
    "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR",
    "CLAUDE_CODE_PLAN_MODE_REQUIRED",
    "CLAUDE_CODE_REMOTE_SESSION_ID",
    "CLAUDE_CODE_RESUME_FROM_SESSION",
    "CLAUDE_CODE_RESUME_INTERRUPTED_TURN",
    "CLAUDE_CODE_RESUME_PROMPT",
    "CLAUDE_CODE_SANDBOXED",
    "CLAUDE_CODE_SPAWN_TIMESTAMP_MS",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_CODE_TASK_LIST_ID",
    "CLAUDE_CODE_TEAM_NAME",
    "CLAUDE_CODE_TUI_JUST_SWITCHED",
    "CLAUDE_CODE_WEBSOCKET_AUTH_FILE_DESCRIPTOR",
    "CLAUDE_CODE_WORKER_EPOCH",
    "CLAUDE_EFFORT",
    "CLAUDE_ENV_FILE",
    "CLAUDE_JOB_DIR",
    "CLAUDE_PID",
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_PROJECT_UUID",
    "AI_AGENT",
    "SANDBOX_RUNTIME",
    // Another Codex's thread. A plugin's hooks receive the last two.
    "CODEX_CI",
    "CODEX_MANAGED_BY_BUN",
    "CODEX_MANAGED_BY_NPM",
    "CODEX_MANAGED_PACKAGE_ROOT",
    "CODEX_STARTING_DIFF",
    "CODEX_THREAD_ID",
    "CODEX_TOOL_CALL_ID",
    "CODEX_TURN_ID",
    "PLUGIN_DATA",
    "PLUGIN_ROOT",
    // Turnbridge's: the running reply, the mark against calling Codex's notify program in a loop,
    // and the variable of `turnbridge run`.
    "TURNBRIDGE_NOTIFY_CHAINED",
    "TURNBRIDGE_REPLY_ID",
    "TURNBRIDGE_RUN",
];

const PREFIXES: [&str; 15] = [
    "CLAUDE_AGENTS_",
    "CLAUDE_BG_",
    "CLAUDE_BRIDGE_",
    // Its sandbox's proxies.
    "CLAUDE_CODE_HOST_HTTP_PROXY_",
    "CLAUDE_CODE_HOST_SOCKS_PROXY_",
    "CLAUDE_CODE_MESSAGING_",
    "CLAUDE_CODE_SESSION_",
    "CLAUDE_CODE_TMUX_",
    "CLAUDE_PLUGIN_",
    "CLAUDE_PTY_",
    "CLAUDE_RUNNER_",
    "CODEX_EXEC_SERVER_",
    "CODEX_INTERNAL_",
    "CODEX_NETWORK_PROXY_",
    "CODEX_SANDBOX",
];

/// Returns whether the variable describes another agent's session, or the daemon's own terminal.
pub fn is_anothers(name: &str) -> bool {
    // On Windows the names are case-insensitive.
    let name = name.to_ascii_uppercase();
    NAMES.contains(&name.as_str())
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || is_of_a_terminal(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_agent_or_terminal_has_set_is_not_inherited() {
        for name in [
            "CLAUDECODE",
            "CLAUDE_CODE_SSE_PORT",
            "CLAUDE_CODE_ENTRYPOINT",
            "CLAUDE_CODE_SESSION_ID",
            "CLAUDE_CODE_SESSION_ACCESS_TOKEN",
            "CLAUDE_CODE_MESSAGING_TOKEN",
            "CLAUDE_PLUGIN_OPTION_GATE",
            "CLAUDE_PROJECT_DIR",
            "CODEX_SANDBOX",
            "CODEX_SANDBOX_NETWORK_DISABLED",
            "CODEX_THREAD_ID",
            "CODEX_INTERNAL_ORIGINATOR_OVERRIDE",
            "TMUX_PANE",
            "KITTY_LISTEN_ON",
            "ZELLIJ",
            "ZELLIJ_SESSION_NAME",
            "TVINE_SESSION_ID",
            "VSCODE_IPC_HOOK_CLI",
            "TURNBRIDGE_REPLY_ID",
            "Wt_Session",
        ] {
            assert!(is_anothers(name), "{name}");
        }
    }

    #[test]
    fn what_the_user_needs_stays() {
        for name in [
            "PATH",
            "HOME",
            "LANG",
            "SHELL",
            "TERM",
            "HTTPS_PROXY",
            "NO_PROXY",
            "SSL_CERT_FILE",
            "SSH_AUTH_SOCK",
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_BASE_URL",
            "CLAUDE_CONFIG_DIR",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
            "CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS",
            "CODEX_HOME",
            "CODEX_API_KEY",
            "CODEX_CA_CERTIFICATE",
            "OPENAI_API_KEY",
            "TURNBRIDGE_SLACK_API_URL",
        ] {
            assert!(!is_anothers(name), "{name}");
        }
    }

    #[test]
    fn the_list_says_nothing_twice() {
        for name in NAMES {
            let is_covered = PREFIXES.iter().any(|prefix| name.starts_with(prefix));
            assert!(!is_covered, "{name} is one of a prefix");
            assert!(!is_of_a_terminal(name), "{name} is in the table of terminals");
            assert_eq!(NAMES.iter().filter(|other| **other == name).count(), 1, "{name}");
        }
    }
}
