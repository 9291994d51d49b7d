//! `turnbridge hooks status`: which events call us, and whether they call this Turnbridge.

use anyhow::Result;
use serde_json::json;
use turnbridge_core::agents::claude::settings_edit::{Registered, all_hooks_are_off, inspect};
use turnbridge_core::session::event::HookEventName;
use turnbridge_system::wsl::Target;

use super::{Wanted, settings_file_of};
use crate::consent::{explain, refused, say};
use crate::failure::note;

pub fn run(target: &Target, wanted: Wanted, as_json: bool) -> Result<()> {
    let registration = wanted.registration_in(target)?;
    let file = settings_file_of(target)?.file;
    let current = file.current::<String>().map_err(|failure| explain(failure, file.path()))?;
    let text = current.text_or_empty();
    let states = inspect(text, &registration)
        .map_err(|refusal| refused(&refusal.to_string(), file.path()))?;
    let summary = summary(&states);
    let is_off = all_hooks_are_off(text);
    let backup = file.backup_path();
    if as_json {
        let events: Vec<_> = states
            .iter()
            .map(|(event, state)| json!({"event": event.as_str(), "registered": word(*state)}))
            .collect();
        return say(&json!({
            "version": 1,
            "path": file.path(),
            "registered": summary,
            "all_hooks_off": is_off,
            "backup": backup.exists().then_some(backup),
            "events": events,
        })
        .to_string());
    }
    say(&match summary {
        "yes" => format!("registered in `{}`", file.path().display()),
        "no" => format!("not registered in `{}`", file.path().display()),
        _ => {
            format!("registered in part, or for another Turnbridge, in `{}`", file.path().display())
        }
    })?;
    if summary == "partly" {
        for (event, state) in states {
            say(&format!("  {:<20} {}", event.as_str(), word(state)))?;
        }
        note(&format!("`turnbridge hooks apply{}` brings it up to date", target.option()));
    }
    if is_off {
        note("`disableAllHooks` is set in it: no hook runs");
    }
    Ok(())
}

/// All events in a word.
pub fn summary(states: &[(HookEventName, Registered)]) -> &'static str {
    let count = |wanted| states.iter().filter(|(_, state)| *state == wanted).count();
    match (count(Registered::Yes), count(Registered::No)) {
        (_, none) if none == states.len() => "no",
        (all, _) if all == states.len() => "yes",
        _ => "partly",
    }
}

const fn word(state: Registered) -> &'static str {
    match state {
        Registered::Yes => "yes",
        Registered::Outdated => "outdated",
        Registered::No => "no",
    }
}
