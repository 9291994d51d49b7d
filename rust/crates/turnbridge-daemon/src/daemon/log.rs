//! Writes `daemon.log` (SLV-83), which records input, decisions and output. It contains no token
//! and no text of the user or a model.

use std::path::PathBuf;

use turnbridge_store::clock;
use turnbridge_store::log::{LogValue, write_log};
use turnbridge_store::paths::StatePaths;

#[derive(Debug, Clone)]
pub struct DaemonLog {
    path: PathBuf,
}

impl DaemonLog {
    pub fn new(paths: &StatePaths) -> DaemonLog {
        DaemonLog { path: paths.daemon_log() }
    }

    pub fn info(&self, message: &str, fields: &[(&str, LogValue)]) {
        self.write("info", message, fields);
    }

    pub fn warn(&self, message: &str, fields: &[(&str, LogValue)]) {
        self.write("warn", message, fields);
    }

    pub fn error(&self, message: &str, fields: &[(&str, LogValue)]) {
        self.write("error", message, fields);
    }

    fn write(&self, level: &str, message: &str, fields: &[(&str, LogValue)]) {
        write_log(&self.path, clock::now(), level, message, fields);
    }
}
