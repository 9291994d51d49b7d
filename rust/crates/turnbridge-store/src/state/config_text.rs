//! Reads the text of `config.toml`, for hooks and other code that searches for single keys in it.
//! `turnbridge-config` reads the whole config.

use std::cell::OnceCell;
use std::fmt;
use std::io;

use crate::files::bounded_file;
use crate::paths::config_file;
use crate::state::folder_trust::check_config;

/// The limit of a config.
const LONGEST: u64 = 4 << 20;

/// The text of the file, read on first use and never again: one call uses the same text throughout.
#[derive(Default)]
pub struct ConfigText {
    read: OnceCell<io::Result<Vec<u8>>>,
}

/// Prints none of the text, because it contains tokens.
impl fmt::Debug for ConfigText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ConfigText")
    }
}

impl ConfigText {
    /// Returns the text, or the reason why there is none.
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
