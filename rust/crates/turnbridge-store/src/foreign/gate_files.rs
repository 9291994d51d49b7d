//! Reads the Stop gate's switches from Turnbridge's config and from that of the original plugin.

use std::path::PathBuf;

use turnbridge_core::gate::gate_switches::{Switch, config_switch, cvi_switch};

use crate::files::bounded_file::{self, is_absent};
use crate::paths::{config_file, cvi_config_file};
use crate::state::config_text::ConfigText;

/// The limit of a config of the original plugin.
const LONGEST: u64 = 4 << 20;

/// A switch and the file that contains it.
#[derive(Debug, Clone)]
pub struct GateSetting {
    pub path: PathBuf,
    pub switch: Switch,
}

/// Returns `[gate] KEY` of Turnbridge's config, or `None` without a home.
pub fn in_config(config: &ConfigText, key: &str) -> Option<GateSetting> {
    let switch = match config.get() {
        Ok(text) => config_switch(text, key),
        Err(error) if is_absent(error) => Switch::Absent,
        Err(_) => Switch::Invalid,
    };
    Some(GateSetting { path: config_file()?, switch })
}

/// Returns `CVI_ENABLED` of the original plugin's config.
pub fn in_cvi_config() -> Option<GateSetting> {
    let path = cvi_config_file()?;
    let switch = match bounded_file::read_if_there(&path, LONGEST) {
        Ok(contents) => contents.map_or(Switch::Absent, |contents| cvi_switch(&contents)),
        Err(_) => Switch::Invalid,
    };
    Some(GateSetting { path, switch })
}
