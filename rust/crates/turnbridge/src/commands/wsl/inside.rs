//! `turnbridge wsl` inside a distribution: shows its name, whether it can run programs of Windows,
//! and the speech engine.

use anyhow::Result;
use serde_json::json;
use turnbridge_system::speech::{Manner, Speaker};
use turnbridge_system::wsl::InsideWsl;
use turnbridge_system::wsl::wslenv;

use crate::consent::say;

pub fn run(inside: &InsideWsl, as_json: bool) -> Result<()> {
    let speaker = Speaker::usual(&Manner::default());
    if as_json {
        let engine = speaker.map(
            |found| json!({"name": found.engine.name(), "path": found.path.to_string_lossy()}),
        );
        return say(&json!({
            "version": 1,
            "side": "inside",
            "distribution": inside.distribution,
            "windows_programs": inside.can_run_windows_programs,
            "engine": engine,
            "wslenv": wslenv(),
        })
        .to_string());
    }
    say(&match &inside.distribution {
        Some(name) => format!("inside WSL, distribution `{name}`"),
        None => "inside WSL; the name of the distribution is not known here".to_owned(),
    })?;
    say(match inside.can_run_windows_programs {
        true => "programs of Windows can be run",
        false => "programs of Windows cannot be run (`[interop]` in `/etc/wsl.conf`)",
    })?;
    say(&match speaker {
        Some(found) => format!("`{}` speaks (`{}`)", found.engine.name(), found.path.display()),
        None => "nothing here can speak".to_owned(),
    })?;
    say("for a terminal of Windows to hear of agents here, set this in Windows:")?;
    say(&format!("  {}", wslenv()))
}
