//! Parses the names of WSL's distributions and the output of `wsl.exe`, and translates the names by
//! which Windows and Linux find each other's files and variables.
//!
//! Other code runs `wsl.exe` and reads files. `wsl.exe` writes its own texts as UTF-16, but the
//! output of a program inside a distribution unchanged.

mod environment;
mod inside;
mod paths;
mod wslenv;

use std::fmt;

pub use environment::WslEnvironment;
pub use inside::{Traces, automount_root, can_run_windows_programs, is_wsl};
pub use paths::{below, is_same_place, unc_roots};
pub use wslenv::merged_wslenv;

/// The characters that Windows forbids in file names, or interprets.
const NEVER_IN_NAMES: [char; 9] = ['/', '\\', ':', '*', '?', '"', '<', '>', '|'];

/// The name of a distribution. It can be an argument and a part of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DistributionName(String);

impl DistributionName {
    pub fn parse(name: &str) -> Option<DistributionName> {
        let is_allowed = |c: char| !c.is_control() && !NEVER_IN_NAMES.contains(&c);
        // Windows drops dots and blanks at the end of a name.
        let is_name = !name.is_empty()
            && name.len() <= 255
            && !name.starts_with(['-', '.', ' '])
            && !name.ends_with(['.', ' '])
            && name.chars().all(is_allowed);
        is_name.then(|| DistributionName(name.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether it is the name, ignoring case as WSL does.
    pub fn is_called(&self, name: &str) -> bool {
        self.0.to_lowercase() == name.to_lowercase()
    }

    /// Returns whether it is a container program's internal distribution, in which no user works.
    pub fn is_internal(&self) -> bool {
        const INTERNAL: [&str; 4] =
            ["docker-desktop", "docker-desktop-data", "rancher-desktop", "rancher-desktop-data"];
        INTERNAL.iter().any(|name| self.is_called(name))
    }
}

impl fmt::Display for DistributionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the output of `wsl.exe` as text without NULs. It is UTF-16 (with or without a mark), or
/// UTF-8 with `WSL_UTF8=1`.
pub fn decode_output(bytes: &[u8]) -> String {
    let text = match bytes.strip_prefix(&[0xff, 0xfe]) {
        Some(rest) => from_utf16(rest),
        // No text in UTF-8 has a NUL. In UTF-16 even a name without ASCII has a line end with one.
        None if bytes.contains(&0) => from_utf16(bytes),
        None => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) if bytes.len().is_multiple_of(2) => from_utf16(bytes),
            Err(_) => String::from_utf8_lossy(bytes).into_owned(),
        },
    };
    text.trim_start_matches('\u{feff}').replace('\0', "")
}

fn from_utf16(bytes: &[u8]) -> String {
    let units: Vec<u16> =
        bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&units)
}

/// Returns the distributions in the output of `wsl.exe -l -q`, in its order, and the other lines.
pub fn distributions_in(output: &[u8]) -> (Vec<DistributionName>, Vec<String>) {
    let text = decode_output(output);
    let lines = text.split(['\r', '\n']).map(str::trim).filter(|line| !line.is_empty());
    let mut found = (Vec::new(), Vec::new());
    for line in lines {
        match DistributionName::parse(line) {
            Some(name) => found.0.push(name),
            None => found.1.push(line.to_owned()),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[track_caller]
    fn check(output: &[u8], expected: &[&str]) {
        let (names, others) = distributions_in(output);
        assert_eq!(names.iter().map(DistributionName::as_str).collect::<Vec<_>>(), expected);
        assert_eq!(others, Vec::<String>::new());
    }

    #[test]
    fn kt_19_distributions_are_read_in_every_encoding_of_wsl_exe() {
        let both = ["Ubuntu-24.04", "日本語"];
        check(&utf16("Ubuntu-24.04\r\n日本語\r\n"), &both);
        check(&utf16("\u{feff}Ubuntu-24.04\r\n日本語\r\n"), &both);
        check(&utf16("Ubuntu-24.04\0\r\r\n\r\n日本語\0\0"), &both);
        check("Ubuntu-24.04\r\n日本語\r\n".as_bytes(), &both);
        check("\u{feff}Ubuntu-24.04\n日本語".as_bytes(), &both);
        check(&utf16("日本語"), &["日本語"]);
        check(b"", &[]);
        // Cut off in the middle of a letter.
        check(&utf16("Ubuntu\r\n日")[..17], &["Ubuntu"]);
        assert_eq!(decode_output(b"\xff"), "\u{fffd}");
    }

    #[test]
    fn a_name_that_could_lead_elsewhere_is_none() {
        let hostile = [
            "",
            "-d",
            "--exec",
            "..",
            ".",
            "a/b",
            "a\\b",
            "C:",
            "a\tb",
            "a\u{1b}[0m",
            "a ",
            "a.",
            " a",
            "*",
            "\\\\server\\share",
            "a\"b",
        ];
        for name in hostile {
            assert_eq!(DistributionName::parse(name), None, "{name:?}");
        }
        assert_eq!(DistributionName::parse(&"x".repeat(256)), None);
        let (names, others) = distributions_in(b"../x\nUbuntu\n");
        assert_eq!((names.len(), others), (1, vec!["../x".to_owned()]));
        assert!(DistributionName::parse("My Ubuntu $1").is_some());
    }

    #[test]
    fn engine_rooms_are_known_by_name() {
        let is_internal = |name| DistributionName::parse(name).unwrap().is_internal();
        assert!(
            ["docker-desktop", "Docker-Desktop-Data", "rancher-desktop"].map(is_internal)
                == [true; 3]
        );
        assert!(!is_internal("docker-desktop-mine"));
    }
}
