//! Reports all distributions, and the setup of each that runs. A stopped one is not examined,
//! because that would start it; commands that name it do.

use std::path::{Path, PathBuf};

use anyhow::Result;
use turnbridge_config::Config;
use turnbridge_core::agents::claude::settings_edit::{Form, Registration, StopGate};
use turnbridge_core::system::wsl::{DistributionName, is_same_place};

use super::{Distribution, Distributions, WslTarget};
use crate::failure::Remark;
use crate::registration::claude_hooks::{WantedHooks, summary_of};

/// All installed distributions.
#[derive(Debug)]
pub struct Survey {
    pub distributions: Vec<(DistributionName, DistributionState)>,
    /// The distributions that belong to programs for containers.
    pub internal: Vec<DistributionName>,
}

/// The setup of one distribution.
#[derive(Debug)]
pub struct DistributionReport {
    pub home: String,
    pub settings: String,
    /// `yes`, `no`, `partly`, or `unreadable`.
    pub hooks: &'static str,
    /// The folder of Turnbridge's programs there, and their version.
    pub turnbridge: Option<(String, String)>,
    /// `None` if no Codex has been run there.
    pub codex_home: Option<String>,
    /// Whether the daemon reads the threads there.
    pub codex_is_followed: bool,
}

#[derive(Debug)]
pub enum DistributionState {
    Stopped,
    Running(Result<DistributionReport>),
}

impl Survey {
    /// Lists all distributions, and examines those that run.
    pub fn make(config: fn() -> Config, remark: Remark) -> Result<Survey> {
        let distributions = Distributions::find(remark)?;
        let (internal, installed): (Vec<_>, Vec<_>) =
            distributions.installed()?.into_iter().partition(DistributionName::is_internal);
        let running = distributions.running()?;
        let state = |name: DistributionName| match running.contains(&name) {
            true => {
                (name.clone(), DistributionState::Running(report(&distributions, name, config)))
            }
            false => (name, DistributionState::Stopped),
        };
        Ok(Survey { distributions: installed.into_iter().map(state).collect(), internal })
    }
}

fn report(
    distributions: &Distributions,
    name: DistributionName,
    config: fn() -> Config,
) -> Result<DistributionReport> {
    let remark = distributions.remark;
    let distribution = Distribution::open(distributions, name)?;
    let installed = distribution.turnbridge()?;
    let codex_home = distribution.codex_home()?;
    let environment = &distribution.environment;
    let (home, settings) = (environment.home.clone(), environment.claude_settings());
    let codex_linux_home = environment.codex_home();
    let homes = config().codex.homes;
    let turnbridge = installed.map(|installed| {
        let version = installed.version.map(|number| number.to_string()).join(".");
        (installed.folder, version)
    });
    let is_installed = turnbridge.is_some();
    Ok(DistributionReport {
        home,
        settings,
        hooks: registered(&WslTarget::Wsl(Box::new(distribution)), is_installed, config, remark)?,
        turnbridge,
        codex_is_followed: codex_home.as_ref().is_some_and(|home| is_one_of(&homes, home)),
        codex_home: codex_home.map(|_| codex_linux_home),
    })
}

/// Returns whether the settings call Turnbridge. If its programs are missing there, such a call
/// cannot succeed.
fn registered(
    target: &WslTarget,
    is_installed: bool,
    config: fn() -> Config,
    remark: Remark,
) -> Result<&'static str> {
    let registration = match is_installed {
        true => WantedHooks::default().registration(target, &config(), remark)?,
        false => nobody(),
    };
    summary_of(target, &registration)
}

fn nobody() -> Registration {
    let [status, stop_gate, notify] = [const { String::new() }; 3];
    let (form, stop_gate_is) = (Form::Exec, StopGate::Off);
    Registration { status, stop_gate, notify, form, stop_gate_is }
}

/// Returns whether this folder of Codex is one of `[codex] homes`.
pub fn is_one_of(homes: &[PathBuf], home: &Path) -> bool {
    let home = home.to_string_lossy();
    homes.iter().any(|known| is_same_place(&known.to_string_lossy(), &home))
}
