//! The files that hold the Stop gate's switches.

use std::path::PathBuf;

use turnbridge_core::gate::gate_switches::{Switch, config_switch, cvi_switch};

use crate::files::bounded_file;
use crate::paths::{config_file, cvi_config_file};

/// No file of switches is longer.
const LONGEST: u64 = 4 << 20;

/// A switch and the file that holds it.
#[derive(Debug, Clone)]
pub struct Setting {
    pub path: PathBuf,
    pub switch: Switch,
}

/// `[gate] KEY` of our own config. `None` without a home.
pub fn in_config(key: &str) -> Option<Setting> {
    read(config_file()?, |contents| config_switch(contents, key))
}

/// `CVI_ENABLED` of the original plugin's config.
pub fn in_cvi_config() -> Option<Setting> {
    read(cvi_config_file()?, cvi_switch)
}

fn read(path: PathBuf, parse: impl Fn(&[u8]) -> Switch) -> Option<Setting> {
    let switch = match bounded_file::read_if_there(&path, LONGEST) {
        Ok(contents) => contents.map_or(Switch::Absent, |contents| parse(&contents)),
        Err(_) => Switch::Invalid,
    };
    Some(Setting { path, switch })
}
