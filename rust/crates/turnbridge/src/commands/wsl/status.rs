//! `turnbridge wsl` in Windows: the distributions, and the set-up of each running one. A look into
//! a stopped one would start it, so only commands that name it do so.

use anyhow::Result;
use serde_json::{Value, json};
use turnbridge_core::agents::claude::settings_edit::{Form, Registration, StopGate};
use turnbridge_core::system::wsl::DistributionName;
use turnbridge_system::registration::claude_hooks::{Wanted, summary_of};
use turnbridge_system::wsl::wslenv;
use turnbridge_system::wsl::{Distribution, Distributions, Target};

use super::codex_homes;
use crate::config;
use crate::consent::say;
use crate::failure::note;

/// The set-up of one distribution.
struct Report {
    home: String,
    settings: String,
    /// `yes`, `no`, `partly`, or `unreadable`.
    hooks: &'static str,
    /// The folder of Turnbridge's programs, and their version.
    turnbridge: Option<(String, String)>,
    /// Codex's home, or `None` if no Codex has run there.
    codex_home: Option<String>,
    /// The daemon reads the threads there.
    codex_is_followed: bool,
}

enum State {
    Stopped,
    Running(Result<Report>),
}

pub fn run(as_json: bool) -> Result<()> {
    let distributions = Distributions::find(note)?;
    let (internal, installed): (Vec<_>, Vec<_>) =
        distributions.installed()?.into_iter().partition(DistributionName::is_internal);
    let running = distributions.running()?;
    let states: Vec<(DistributionName, State)> = installed
        .into_iter()
        .map(|name| match running.contains(&name) {
            true => (name.clone(), State::Running(report(&distributions, name))),
            false => (name, State::Stopped),
        })
        .collect();
    for name in internal {
        note(&format!("`{name}` belongs to a program for containers and is left out"));
    }
    if as_json {
        let list: Vec<Value> = states.iter().map(|(name, state)| to_json(name, state)).collect();
        return say(&json!({
            "version": 1,
            "side": "windows",
            "distributions": list,
            "wslenv": wslenv(),
        })
        .to_string());
    }
    for (name, state) in &states {
        show(name, state)?;
    }
    say("for a terminal of Windows to hear of agents in WSL, set this variable:")?;
    say(&format!("  {}", wslenv()))
}

fn report(distributions: &Distributions, name: DistributionName) -> Result<Report> {
    let distribution = Distribution::open(distributions, name)?;
    let installed = distribution.turnbridge()?;
    let codex_home = codex_homes::home_of(&distribution)?;
    let environment = &distribution.environment;
    let (home, settings) = (environment.home.clone(), environment.claude_settings());
    let codex_linux_home = environment.codex_home();
    let homes = config::read_or_default().codex.homes;
    let turnbridge = installed.map(|installed| {
        let version = installed.version.map(|number| number.to_string()).join(".");
        (installed.folder, version)
    });
    let is_installed = turnbridge.is_some();
    Ok(Report {
        home,
        settings,
        hooks: registered(&Target::Wsl(Box::new(distribution)), is_installed)?,
        turnbridge,
        codex_is_followed: codex_home.as_ref().is_some_and(|home| codex_homes::has(&homes, home)),
        codex_home: codex_home.map(|_| codex_linux_home),
    })
}

/// Returns whether the settings call Turnbridge. Without executables there, a registered call would
/// start no program.
fn registered(target: &Target, is_installed: bool) -> Result<&'static str> {
    let registration = match is_installed {
        true => Wanted::default().registration(target, &config::read_or_default(), note)?,
        false => nobody(),
    };
    summary_of(target, &registration)
}

fn nobody() -> Registration {
    let [status, stop_gate, notify] = [const { String::new() }; 3];
    let (form, stop_gate_is) = (Form::Exec, StopGate::Off);
    Registration { status, stop_gate, notify, form, stop_gate_is }
}

fn show(name: &DistributionName, state: &State) -> Result<()> {
    let report = match state {
        State::Stopped => return say(&format!("{name}: stopped, and not started to look into it")),
        State::Running(Err(error)) => return say(&format!("{name}: {error:#}")),
        State::Running(Ok(report)) => report,
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

fn to_json(name: &DistributionName, state: &State) -> Value {
    match state {
        State::Stopped => json!({"name": name.as_str(), "running": false}),
        State::Running(Err(error)) => {
            json!({"name": name.as_str(), "running": true, "problem": format!("{error:#}")})
        }
        State::Running(Ok(report)) => json!({
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
