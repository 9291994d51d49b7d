//! Selects the version of an agent for the tests. Without `TURNBRIDGE_TEST_CLAUDE` or
//! `TURNBRIDGE_TEST_CODEX` it is the newest supported one, which is pinned in `tests/NAME`; the
//! variable names the oldest supported one, a version or a program instead. Also parses the version
//! that an agent prints.

use std::path::{Path, PathBuf};

/// The version of an agent that an environment variable selects.
#[derive(Debug, PartialEq, Eq)]
pub enum WantedVersion {
    /// The one in `tests/NAME`.
    Newest,
    /// The oldest supported one, in `tests/NAME/oldest`.
    Oldest,
    /// A version, which `scripts/agent` has put into `tests/NAME/versions`.
    Version(String),
    /// The program at this path.
    Program(PathBuf),
}

impl WantedVersion {
    /// Reads the environment variable. Returns `Newest` if it is not set.
    pub fn by(variable: &str) -> WantedVersion {
        WantedVersion::read(std::env::var(variable).ok().as_deref())
    }

    fn read(value: Option<&str>) -> WantedVersion {
        let is_version = |text: &str| {
            text.contains('.') && text.bytes().all(|byte| b"0123456789.".contains(&byte))
        };
        match value.unwrap_or_default() {
            "" | "newest" => WantedVersion::Newest,
            "oldest" => WantedVersion::Oldest,
            version if is_version(version) => WantedVersion::Version(version.to_owned()),
            program => WantedVersion::Program(PathBuf::from(program)),
        }
    }

    /// Returns the folder `node_modules` of npm's installation, or `None` for a program.
    pub fn modules(&self, name: &str) -> Option<PathBuf> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests").join(name);
        let folder = match self {
            WantedVersion::Newest => folder,
            WantedVersion::Oldest => folder.join("oldest"),
            WantedVersion::Version(version) => folder.join("versions").join(version),
            WantedVersion::Program(_) => return None,
        };
        Some(folder.join("node_modules"))
    }

    /// Returns a hint for the user how to install a missing program.
    pub fn hint(&self, name: &str) -> String {
        match self {
            WantedVersion::Version(version) => format!("run `scripts/agent {name} {version}`"),
            WantedVersion::Newest | WantedVersion::Oldest | WantedVersion::Program(_) => {
                "run `scripts/test`, which installs what the tests need".to_owned()
            }
        }
    }
}

/// Returns the version in the output of `--version` (`2.1.326 (Claude Code)`, `codex-cli 0.169.0`),
/// or `None` if there is none.
pub fn version_in(printed: &str) -> Option<[u32; 3]> {
    printed.split_whitespace().find_map(|word| {
        let numbers: Vec<u32> = word.split('.').map_while(|part| part.parse().ok()).collect();
        numbers.try_into().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_a_word_and_a_path_are_told_apart() {
        assert_eq!(WantedVersion::read(None), WantedVersion::Newest);
        assert_eq!(WantedVersion::read(Some("oldest")), WantedVersion::Oldest);
        assert_eq!(
            WantedVersion::read(Some("2.1.139")),
            WantedVersion::Version("2.1.139".to_owned())
        );
        assert_eq!(
            WantedVersion::read(Some("./claude")),
            WantedVersion::Program("./claude".into())
        );
        assert_eq!(
            WantedVersion::read(Some("claude-2.1.139")),
            WantedVersion::Program("claude-2.1.139".into())
        );
    }

    #[test]
    fn the_version_is_the_first_word_of_three_numbers() {
        assert_eq!(version_in("2.1.326 (Claude Code)\n"), Some([2, 1, 326]));
        assert_eq!(version_in("codex-cli 0.169.0"), Some([0, 169, 0]));
        assert_eq!(version_in("claude"), None);
    }
}
