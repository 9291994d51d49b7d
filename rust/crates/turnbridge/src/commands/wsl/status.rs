//! `turnbridge wsl` in Windows: lists the distributions, and shows how each that runs is set up.

use anyhow::Result;
use serde_json::{Value, json};
use turnbridge_core::system::wsl::DistributionName;
use turnbridge_system::wsl::wslenv;
use turnbridge_system::wsl::{DistributionState, Survey};

use crate::config;
use crate::consent::say;
use crate::failure::note;

pub fn run(as_json: bool) -> Result<()> {
    let Survey { distributions, internal } = Survey::make(config::read_or_default, note)?;
    for name in internal {
        note(&format!("`{name}` belongs to a program for containers and is left out"));
    }
    if as_json {
        let list: Vec<Value> =
            distributions.iter().map(|(name, state)| to_json(name, state)).collect();
        return say(&json!({
            "version": 1,
            "side": "windows",
            "distributions": list,
            "wslenv": wslenv(),
        })
        .to_string());
    }
    for (name, state) in &distributions {
        show(name, state)?;
    }
    say("for a terminal of Windows to hear of agents in WSL, set this variable:")?;
    say(&format!("  {}", wslenv()))
}

fn show(name: &DistributionName, state: &DistributionState) -> Result<()> {
    let report = match state {
        DistributionState::Stopped => {
            return say(&format!("{name}: stopped, and not started to look into it"));
        }
        DistributionState::Running(Err(error)) => return say(&format!("{name}: {error:#}")),
        DistributionState::Running(Ok(report)) => report,
    };
    say(&format!("{name}: running, home `{}`", report.home))?;
    say(&match &report.turnbridge {
        Some((folder, version)) => format!("  Turnbridge {version} in `{folder}`"),
        None => "  no Turnbridge for Linux; install it there first".to_owned(),
    })?;
    say(&match report.hooks {
        "yes" => format!("  hooks registered in `{}`", report.settings),
        "no" => format!("  hooks not registered in `{}`", report.settings),
        "partly" => {
            format!("  hooks registered in part, or for another one, in `{}`", report.settings)
        }
        _ => format!("  `{}` cannot be understood", report.settings),
    })?;
    say(&match (&report.codex_home, report.codex_is_followed) {
        (None, _) => "  no Codex".to_owned(),
        (Some(home), true) => format!("  Codex in `{home}`, followed"),
        (Some(home), false) => format!("  Codex in `{home}`, not in `[codex] homes`"),
    })
}

fn to_json(name: &DistributionName, state: &DistributionState) -> Value {
    match state {
        DistributionState::Stopped => json!({"name": name.as_str(), "running": false}),
        DistributionState::Running(Err(error)) => {
            json!({"name": name.as_str(), "running": true, "problem": format!("{error:#}")})
        }
        DistributionState::Running(Ok(report)) => json!({
            "name": name.as_str(),
            "running": true,
            "home": report.home,
            "settings": report.settings,
            "hooks": report.hooks,
            "turnbridge": report.turnbridge.as_ref().map(
                |(folder, version)| json!({"folder": folder, "version": version})
            ),
            "codex_home": report.codex_home,
            "codex_followed": report.codex_is_followed,
        }),
    }
}
