//! Which programs are registered, and how the installed Claude Code can be told to run them.

use anyhow::Result;
use turnbridge_core::ids::Tool;
use turnbridge_core::settings_edit::Form;

use crate::{config, programs};

/// The first Claude Code that knows `args`.
const FIRST_WITH_ARGS: [u32; 3] = [2, 1, 139];

/// The absolute paths of `turnbridge-status`, `turnbridge-stop-gate` and `turnbridge-notify`.
pub fn paths() -> Result<[String; 3]> {
    let own = programs::own_text;
    Ok([own("turnbridge-status")?, own("turnbridge-stop-gate")?, own("turnbridge-notify")?])
}

/// The one that knows no `args` would run our programs without them. One that does not tell its
/// version, or is not there, is taken for a new one.
pub fn form_of_installed_claude() -> Form {
    let claude = programs::agent(Tool::Claude, &config::read_or_default());
    match claude.and_then(|claude| programs::version_of(&claude)) {
        Some(version) if version < FIRST_WITH_ARGS => Form::Shell,
        _ => Form::Exec,
    }
}
