//! Changes `config.toml` by `turnbridge-config`, and adds a hint to every error.

use std::path::PathBuf;

use anyhow::Result;
use turnbridge_config::{ConfigSetting, Problem};

use crate::failure::hinted;

pub fn path() -> Result<PathBuf> {
    turnbridge_config::path().map_err(explain)
}

/// Sets all values or none, and returns whether the file has changed.
pub fn set_all(settings: Vec<ConfigSetting<'_>>) -> Result<bool> {
    turnbridge_config::set_all(settings).map_err(explain)
}

/// Sets or removes one value, and returns whether the file has changed.
pub fn set(table: &str, key: &str, value: Option<toml_edit::Value>) -> Result<bool> {
    turnbridge_config::set(table, key, value).map_err(explain)
}

/// Appends texts to a list, and returns whether the file has changed. Existing texts stay.
pub fn extend(table: &str, key: &str, texts: &[String]) -> Result<bool> {
    turnbridge_config::extend(table, key, texts).map_err(explain)
}

/// Returns the problem as an error with its hint.
pub fn explain(problem: Problem) -> anyhow::Error {
    hinted(problem.to_string(), problem.hint)
}
