//! `turnbridge hooks status`: shows the registered events, and whether they call this Turnbridge.

use anyhow::Result;
use turnbridge_system::registration::claude_hooks::{self, word};
use turnbridge_system::wsl::WslTarget;

use super::HooksApplyArgs;
use crate::consent::say;
use crate::failure::note;

pub fn run(target: &WslTarget, wanted: HooksApplyArgs, as_json: bool) -> Result<()> {
    let status = claude_hooks::status(target, &wanted.registration(target)?)?;
    if as_json {
        return say(&status.to_json().to_string());
    }
    let (path, summary) = (status.path.display(), status.summary());
    say(&match summary {
        "yes" => format!("registered in `{path}`"),
        "no" => format!("not registered in `{path}`"),
        _ => format!("registered in part, or for another Turnbridge, in `{path}`"),
    })?;
    if summary == "partly" {
        for (event, registered) in &status.events {
            say(&format!("  {:<20} {}", event.as_str(), word(*registered)))?;
        }
        note(&format!("`turnbridge hooks apply{}` brings it up to date", target.option()));
    }
    if status.is_all_off {
        note("`disableAllHooks` is set in it: no hook runs");
    }
    Ok(())
}
