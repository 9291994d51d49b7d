//! The text of `config.toml` for hooks, which look for single keys in it. Everybody else reads the whole config by
//! `turnbridge-config`.

use std::cell::OnceCell;
use std::io;

use crate::files::bounded_file;
use crate::paths::config_file;
use crate::state::folder_trust::check_config;

/// No config is longer.
const LONGEST: u64 = 4 << 20;

/// Reads the file when somebody first asks, and never again: all that one call does goes by the same text.
#[derive(Debug, Default)]
pub struct ConfigText {
    read: OnceCell<io::Result<Vec<u8>>>,
}

impl ConfigText {
    /// Returns the text, or why there is none.
    pub fn get(&self) -> Result<&[u8], &io::Error> {
        self.read.get_or_init(read).as_deref()
    }

    /// Returns the text if no other user can have written it.
    pub fn trusted(&self) -> io::Result<&[u8]> {
        check_config()?;
        self.get().map_err(|error| io::Error::new(error.kind(), error.to_string()))
    }
}

fn read() -> io::Result<Vec<u8>> {
    bounded_file::read(&config_file().ok_or(io::ErrorKind::NotFound)?, LONGEST)
}
