//! Which programs are registered, and how the installed Claude Code can be told to run them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use turnbridge_core::settings_edit::Form;

use crate::config;
use crate::failure::hinted;

/// The first Claude Code that knows `args`.
const FIRST_WITH_ARGS: [u32; 3] = [2, 1, 139];

/// The absolute paths of `turnbridge-status`, `turnbridge-stop-gate` and `turnbridge-notify`, which
/// lie beside this program.
pub fn paths() -> Result<[String; 3]> {
    let own = std::env::current_exe().context("could not find this program's own path")?;
    let folder = own.parent().unwrap_or(Path::new(""));
    let find = |name: &str| {
        let path = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        check(&path)?;
        let text = path.to_str().map(str::to_owned);
        text.ok_or_else(|| {
            let hint = "install Turnbridge in a folder whose path is UTF-8";
            hinted(format!("`{}` cannot be written into JSON", path.display()), hint)
        })
    };
    Ok([find("turnbridge-status")?, find("turnbridge-stop-gate")?, find("turnbridge-notify")?])
}

fn check(path: &Path) -> Result<()> {
    if path.is_file() {
        return Ok(());
    }
    let hint = "run `scripts/build`, or unpack a release over this folder";
    Err(hinted(format!("`{}` is missing", path.display()), hint))
}

/// The one that knows no `args` would run our programs without them. One that does not tell its
/// version, or is not there, is taken for a new one.
pub fn form_of_installed_claude() -> Form {
    let program = config::read_or_default().resume.claude.unwrap_or(PathBuf::from("claude"));
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    match text.ok().and_then(|text| version(&text)) {
        Some(version) if version < FIRST_WITH_ARGS => Form::Shell,
        _ => Form::Exec,
    }
}

/// `2.1.197 (Claude Code)`.
fn version(text: &str) -> Option<[u32; 3]> {
    let mut numbers = text.split_whitespace().next()?.splitn(3, '.').map(str::parse);
    let mut next = || numbers.next()?.ok();
    Some([next()?, next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(version("2.1.197 (Claude Code)\n"), Some([2, 1, 197]));
        assert_eq!(version("2.1.9"), Some([2, 1, 9]));
        assert!(version("2.1.9") < Some(FIRST_WITH_ARGS));
        assert!(version("10.0.0") > Some(FIRST_WITH_ARGS));
        for text in ["", "claude", "2.1", "2.1.x"] {
            assert_eq!(version(text), None, "{text}");
        }
    }
}
