//! The config as the command line reads it: what is worth knowing is noted, what is wrong is an
//! error with a hint.

use std::path::PathBuf;

use anyhow::Result;
pub use turnbridge_config::{Config, RATES, Voice, check_voice_name};
use turnbridge_config::{Problem, Setting};

use crate::failure::{hinted, note};

pub fn read() -> Result<Config> {
    let config = Config::read().map_err(explain)?;
    for key in &config.unknown {
        note(&format!("`{}`: there is no {key}; it is ignored", path()?.display()));
    }
    if config.is_exposed {
        let path = path()?;
        note(&format!("others can read the tokens in `{0}`; run `chmod 600 {0}`", path.display()));
    }
    Ok(config)
}

/// For those who have something to do with or without a config.
pub fn read_or_default() -> Config {
    read().unwrap_or_else(|error| {
        note(&format!("{error:#}; going on as if there were none"));
        Config::default()
    })
}

pub fn path() -> Result<PathBuf> {
    turnbridge_config::path().map_err(explain)
}

pub fn set_all(settings: Vec<Setting<'_>>) -> Result<bool> {
    turnbridge_config::set_all(settings).map_err(explain)
}

pub fn set(table: &str, key: &str, value: Option<toml_edit::Value>) -> Result<bool> {
    turnbridge_config::set(table, key, value).map_err(explain)
}

/// Adds to a list; what is there stays.
pub fn extend(table: &str, key: &str, texts: &[String]) -> Result<bool> {
    turnbridge_config::extend(table, key, texts).map_err(explain)
}

fn explain(problem: Problem) -> anyhow::Error {
    hinted(problem.to_string(), problem.hint)
}
