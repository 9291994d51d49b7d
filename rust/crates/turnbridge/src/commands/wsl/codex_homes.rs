//! `turnbridge wsl codex-homes`: lets the daemon of Windows read the threads of a distribution's
//! Codex too (KT-18).

use std::path::{Path, PathBuf};

use anyhow::Result;
use turnbridge_core::system::wsl::{DistributionName, is_same_place};
use turnbridge_system::wsl::{Distribution, Distributions};

use crate::config;
use crate::consent::{Answer, Consent, say};
use crate::failure::{hinted, note};

pub fn run(names: &[String], consent: Consent) -> Result<()> {
    let distributions = Distributions::find(note)?;
    let mut missing = Vec::new();
    let homes = config::read()?.codex.homes;
    for name in chosen(&distributions, names)? {
        let distribution = Distribution::open(&distributions, name)?;
        match home_of(&distribution)? {
            None => {
                let home = distribution.environment.codex_home();
                note(&format!("no Codex in `{}`: there is no `{home}`", distribution.name));
            }
            Some(home) if has(&homes, &home) => {}
            Some(home) => missing.push(text_of(&home)?),
        }
    }
    let path = config::path()?;
    // Shows only the list, because the file may contain tokens.
    let before: String = homes.iter().map(|home| line(&home.display().to_string())).collect();
    let after = missing.iter().fold(before.clone(), |lines, home| lines + &line(home));
    match consent.ask(&path, Some(&before), Some(&after))? {
        Answer::No => Ok(()),
        Answer::NothingToDo => say(&format!("`{}` is as it should be", path.display())),
        Answer::Yes => {
            config::extend("codex", "homes", &missing)?;
            say(&format!("changed `{}`", path.display()))?;
            say("a daemon that runs already takes it up when it is started anew")
        }
    }
}

fn line(home: &str) -> String {
    format!("[codex] homes: {home}\n")
}

/// Selects the distributions. One that the user did not name is never started.
fn chosen(distributions: &Distributions, names: &[String]) -> Result<Vec<DistributionName>> {
    if !names.is_empty() {
        return names.iter().map(|name| distributions.named(name)).collect();
    }
    let running = distributions.running()?;
    let (chosen, stopped): (Vec<_>, Vec<_>) = distributions
        .installed()?
        .into_iter()
        .filter(|name| !name.is_internal())
        .partition(|name| running.contains(name));
    for name in stopped {
        note(&format!("`{name}` is stopped and was not asked; name it to have it started"));
    }
    Ok(chosen)
}

/// Returns the folder of a distribution's Codex as a Windows path, or `None` if it does not exist.
pub fn home_of(distribution: &Distribution) -> Result<Option<PathBuf>> {
    let home = distribution.path(&distribution.environment.codex_home())?;
    Ok(Some(home).filter(|home| home.is_dir()))
}

pub fn has(homes: &[PathBuf], home: &Path) -> bool {
    let home = home.to_string_lossy();
    homes.iter().any(|known| is_same_place(&known.to_string_lossy(), &home))
}

fn text_of(home: &Path) -> Result<String> {
    home.to_str().map(str::to_owned).ok_or_else(|| {
        hinted(format!("`{}` is not UTF-8", home.display()), "`config.toml` cannot hold it")
    })
}
