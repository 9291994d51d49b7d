//! Finds the programs to register as hooks, and chooses the form of registration that the installed
//! Claude Code supports.

use anyhow::Result;
use turnbridge_config::Config;
use turnbridge_core::agents::claude::settings_edit::Form;
use turnbridge_core::ids::Agent;

use crate::failure::Remark;
use crate::programs::{self, FIRST_WITH_ARGS};
use crate::wsl::WslTarget;

/// Returns the absolute paths of `turnbridge-status`, `turnbridge-stop-gate` and
/// `turnbridge-notify`. In a distribution they are those of Linux, never those of this Windows.
pub fn paths(target: &WslTarget, remark: Remark) -> Result<[String; 3]> {
    match target {
        WslTarget::Here => {
            let [status, stop_gate, notify] = programs::CALLED_BY_AGENTS.map(programs::own_text);
            Ok([status?, stop_gate?, notify?])
        }
        WslTarget::Wsl(distribution) => {
            let installed = distribution.needed_turnbridge()?;
            if Some(installed.version) != programs::version_in(env!("CARGO_PKG_VERSION")) {
                let [major, minor, patch] = installed.version;
                let name = &distribution.name;
                remark(&format!(
                    "the Turnbridge in `{name}` is another one: {major}.{minor}.{patch}"
                ));
            }
            Ok(programs::CALLED_BY_AGENTS.map(|name| installed.path_of(name)))
        }
    }
}

/// Returns the form for the installed version. A Claude Code that is too old for `args` would run
/// the programs without arguments, so it gets a command line. One that prints no version, or is
/// missing, counts as new.
pub fn form_of_installed_claude(target: &WslTarget, config: &Config) -> Result<Form> {
    let version = match target {
        WslTarget::Here => {
            let claude = programs::agent(Agent::Claude, config);
            claude.and_then(|claude| programs::version_of(&claude))
        }
        WslTarget::Wsl(distribution) => distribution.claude_version()?,
    };
    Ok(match version {
        Some(version) if version < FIRST_WITH_ARGS => Form::Shell,
        _ => Form::Exec,
    })
}
