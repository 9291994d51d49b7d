//! `turnbridge wsl codex-homes`: adds the Codex homes of distributions to the config, so that the
//! daemon of Windows reads their threads too (KT-18).

use std::path::Path;

use anyhow::Result;
use turnbridge_system::wsl::{Distribution, Distributions, is_one_of};

use crate::config;
use crate::consent::{Consent, ConsentAnswer, say};
use crate::failure::{hinted, note};

pub fn run(names: &[String], consent: Consent) -> Result<()> {
    let distributions = Distributions::find(note)?;
    let mut missing = Vec::new();
    let homes = config::read()?.codex.homes;
    for name in distributions.chosen(names)? {
        let distribution = Distribution::open(&distributions, name)?;
        match distribution.codex_home()? {
            None => {
                let home = distribution.environment.codex_home();
                note(&format!("no Codex in `{}`: there is no `{home}`", distribution.name));
            }
            Some(home) if is_one_of(&homes, &home) => {}
            Some(home) => missing.push(text_of(&home)?),
        }
    }
    let path = config::path()?;
    // Shows only the list, because the file may contain tokens.
    let before: String = homes.iter().map(|home| line(&home.display().to_string())).collect();
    let after = missing.iter().fold(before.clone(), |lines, home| lines + &line(home));
    match consent.ask(&path, Some(&before), Some(&after))? {
        ConsentAnswer::No => Ok(()),
        ConsentAnswer::NothingToDo => say(&format!("`{}` is as it should be", path.display())),
        ConsentAnswer::Yes => {
            config::extend("codex", "homes", &missing)?;
            say(&format!("changed `{}`", path.display()))?;
            say("a daemon that runs already takes it up when it is started anew")
        }
    }
}

fn line(home: &str) -> String {
    format!("[codex] homes: {home}\n")
}

fn text_of(home: &Path) -> Result<String> {
    home.to_str().map(str::to_owned).ok_or_else(|| {
        hinted(format!("`{}` is not UTF-8", home.display()), "`config.toml` cannot hold it")
    })
}
