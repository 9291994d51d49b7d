//! Reads the facts about a run from the hook's environment variables: how the agent was started,
//! the terminal and the plugin.

use std::collections::BTreeMap;
use std::ffi::OsString;

use turnbridge_core::session::{Plugin, RunEnvironment};
use turnbridge_core::terminals::pane_id::OWN_SESSION;
use turnbridge_core::terminals::terminal_table::is_kept;

/// A part of the PATH of Codex's background server (seen with 0.166, the only trace of it in a
/// hook's environment). The server works for every terminal, but has the variables of the first
/// that started it.
const CODEX_SERVER: &str = "app-server-daemon";

/// The limit of a stored value. A longer one is no id or path, and every hook would rewrite it.
const MAX_VALUE: usize = 4_096;

pub fn run_environment(
    origin: &str,
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> RunEnvironment {
    let mut environment = RunEnvironment { origin: origin.to_owned(), ..RunEnvironment::default() };
    let mut plugin_root = None;
    let mut plugin_data = String::new();
    let mut plugin_gate = None;
    let mut env = BTreeMap::new();
    let mut is_codex_server = false;
    for (name, value) in variables {
        let Some(name) = name.to_str() else { continue };
        let value = || Some(value.to_string_lossy().into_owned()).filter(|text| !text.is_empty());
        match name {
            "PATH" => is_codex_server = value().is_some_and(|path| path.contains(CODEX_SERVER)),
            "CLAUDE_CODE_ENTRYPOINT" => environment.entrypoint = value(),
            "CLAUDE_PROJECT_DIR" => environment.project_dir = value(),
            "CLAUDE_CONFIG_DIR" => environment.config_dir = value(),
            "CLAUDE_PLUGIN_ROOT" => plugin_root = value(),
            // Claude exports only values that the user has set, never a default.
            "CLAUDE_PLUGIN_OPTION_GATE" => plugin_gate = value().filter(|text| text.len() <= 16),
            "CLAUDE_PLUGIN_DATA" => plugin_data = value().unwrap_or_default(),
            _ if name == OWN_SESSION || is_kept(name) => {
                if let Some(value) = value().filter(|value| value.len() <= MAX_VALUE) {
                    env.insert(name.to_owned(), value);
                }
            }
            _ => {}
        }
    }
    // Claude names the data folder of a plugin `<plugin>-<marketplace>`, and `-inline` if it came
    // by `--plugin-dir`.
    let by_plugin_dir = plugin_data.trim_end_matches(['/', '\\']).ends_with("-inline");
    environment.plugin = plugin_root.map(|root| Plugin { root, by_plugin_dir, gate: plugin_gate });
    if !is_codex_server {
        environment.env = env;
    }
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host_of(variables: &[(&str, &str)]) -> RunEnvironment {
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
        run_environment("plugin", variables)
    }

    #[test]
    fn pane_ids_and_host_variables_are_kept_and_nothing_else() {
        let environment = host_of(&[
            ("TMUX", "/tmp/tmux-1000/default,1,0"),
            ("TMUX_PANE", "%3"),
            ("ZELLIJ", "0"),
            ("ZELLIJ_PANE_ID", "5"),
            ("TVINE_SESSION_ID", "abc"),
            ("KAWAII_PANE_ID", "p1"),
            ("KAWAII_EMPTY", ""),
            ("ANTHROPIC_API_KEY", "secret"),
            ("SLACK_TOKEN", "secret"),
            ("MY_TVINE_X", "no"),
            ("CLAUDE_CODE_ENTRYPOINT", "cli"),
        ]);
        let names: Vec<_> = environment.env.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["KAWAII_PANE_ID", "TMUX", "TMUX_PANE", "TVINE_SESSION_ID", "ZELLIJ", "ZELLIJ_PANE_ID"]
        );
        assert!(environment.is_interactive());
        assert_eq!(environment.plugin, None);
    }

    #[test]
    fn what_codexs_server_has_of_its_first_terminal_is_nobodys_pane() {
        let path =
            "/usr/bin:/home/user/.codex/packages/app-server-daemon/releases/0.166.0/codex-path";
        let pane = ("TMUX_PANE", "%3");
        assert!(host_of(&[pane, ("PATH", path)]).env.is_empty());
        assert!(host_of(&[("PATH", path), pane]).env.is_empty());
        assert_eq!(host_of(&[pane, ("PATH", "/usr/bin")]).env.len(), 1);
    }

    #[test]
    fn a_plugin_that_came_by_plugin_dir_is_told_from_an_installed_one() {
        let by_plugin_dir = |data: &str| {
            let environment =
                host_of(&[("CLAUDE_PLUGIN_ROOT", "/p"), ("CLAUDE_PLUGIN_DATA", data)]);
            environment.plugin.unwrap().by_plugin_dir
        };
        assert!(by_plugin_dir("/home/user/.claude/plugins/data/turnbridge-inline"));
        assert!(!by_plugin_dir("/home/user/.claude/plugins/data/turnbridge-turnbridge"));
    }
}
