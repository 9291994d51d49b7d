//! Changes `config.toml` by `turnbridge-config`, and adds a hint to every error.

use std::path::PathBuf;

use anyhow::Result;
use turnbridge_config::{ConfigSetting, Problem};

use crate::failure::hinted;

pub fn path() -> Result<PathBuf> {
    turnbridge_config::path().map_err(explain)
}

pub fn set_all(settings: Vec<ConfigSetting<'_>>) -> Result<bool> {
    turnbridge_config::set_all(settings).map_err(explain)
}

pub fn set(table: &str, key: &str, value: Option<toml_edit::Value>) -> Result<bool> {
    turnbridge_config::set(table, key, value).map_err(explain)
}

/// Adds texts to a list; existing ones stay.
pub fn extend(table: &str, key: &str, texts: &[String]) -> Result<bool> {
    turnbridge_config::extend(table, key, texts).map_err(explain)
}

pub fn explain(problem: Problem) -> anyhow::Error {
    hinted(problem.to_string(), problem.hint)
}
