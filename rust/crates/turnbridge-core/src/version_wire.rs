//! Defines the version number in state files, and the output of `--version --json`. During an
//! upgrade, executables of two versions use one state folder.
//!
//! Within a version, fields are only added, and an older executable may drop them when it writes
//! the file. A field that must not be lost or misunderstood makes a new version. A file of a newer
//! version is left unchanged.

use serde::{Deserialize, Serialize};

/// The version of the state files that this executable writes.
pub const VERSION: u32 = 1;

/// The message about a file of a newer version.
pub const NEWER: &str = "written by a newer version of Turnbridge, and left as it is";

/// The output of `--version --json`, on one line.
#[derive(Serialize)]
pub struct ProgramVersion<'a> {
    version: u32,
    name: &'a str,
    program_version: &'a str,
    /// The version of the files that the program writes.
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
struct VersionHead {
    version: u32,
}

/// Returns whether a newer version than this one wrote the file.
pub fn is_newer(bytes: &[u8]) -> bool {
    serde_json::from_slice(bytes).is_ok_and(|head: VersionHead| head.version > VERSION)
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
