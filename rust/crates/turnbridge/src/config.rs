//! Reads the config for the command line: prints notes about unknown keys and exposed tokens, and
//! returns a wrong config as an error with a hint.

use anyhow::Result;
pub use turnbridge_config::{Config, RATES, VoiceConfig, check_voice_name};
use turnbridge_system::config_file::explain;
pub use turnbridge_system::config_file::{extend, path, set, set_all};

use crate::failure::note;

/// Reads the config, and prints notes about unknown keys and exposed tokens.
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

/// Reads the config, or prints a note and returns the default. For commands that work without a
/// config.
pub fn read_or_default() -> Config {
    read().unwrap_or_else(|error| {
        note(&format!("{error:#}; going on as if there were none"));
        Config::default()
    })
}
