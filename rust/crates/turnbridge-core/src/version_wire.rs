//! The version that stands in every file of ours. While an upgrade is under way, executables of two
//! versions work on one state folder.
//!
//! Within a version, fields are only added, and may be lost again when an older executable writes
//! the file; what must not be lost, or must not be misunderstood, makes a new version. A file of a
//! version that is newer than this one is left as it is.

use serde::{Deserialize, Serialize};

pub const VERSION: u32 = 1;

/// Why a file was neither read nor written.
pub const NEWER: &str = "written by a newer version of Turnbridge, and left as it is";

/// What `--version --json` prints, on one line.
#[derive(Serialize)]
pub struct ProgramVersion<'a> {
    version: u32,
    name: &'a str,
    program_version: &'a str,
    /// Of the files that it writes.
    state_version: u32,
    os: &'a str,
    arch: &'a str,
}

impl<'a> ProgramVersion<'a> {
    pub fn new(name: &'a str, program_version: &'a str, os: &'a str, arch: &'a str) -> Self {
        ProgramVersion { version: 1, name, program_version, state_version: VERSION, os, arch }
    }

    pub fn to_json(&self) -> String {
        // A struct of strings and numbers always serialises.
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[derive(Deserialize)]
struct Head {
    version: u32,
}

/// Whether a newer version than this one has written the file.
pub fn is_newer(bytes: &[u8]) -> bool {
    serde_json::from_slice(bytes).is_ok_and(|head: Head| head.version > VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_higher_number_is_newer() {
        for newer in [r#"{"version":2}"#, r#"{"more":[{}],"version":4000000000,"x":null}"#] {
            assert!(is_newer(newer.as_bytes()), "{newer}");
        }
        let others =
            ["", "{", "2", "{}", r#"{"version":"2"}"#, r#"{"version":1}"#, r#"{"version":-2}"#];
        for other in others {
            assert!(!is_newer(other.as_bytes()), "{other}");
        }
    }
}
