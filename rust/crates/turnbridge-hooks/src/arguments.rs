//! The few arguments of a hook executable, read by hand: clap would double its size.
//! A hook never fails over an argument; what it does not know it skips.

use std::ffi::OsString;

use crate::Program;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Which registration calls: `plugin`, `settings`.
    pub origin: String,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Command {
    Hook(Options),
    Print(Text),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text {
    Help,
    Version,
}

pub fn parse(arguments: impl Iterator<Item = OsString>) -> Command {
    let mut options = Options { origin: "hand".to_owned() };
    let mut arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-h" | "--help" => return Command::Print(Text::Help),
            "-V" | "--version" => return Command::Print(Text::Version),
            "--origin" => options.origin = origin(arguments.next().unwrap_or_default()),
            other => {
                if let Some(value) = other.strip_prefix("--origin=") {
                    options.origin = origin(value.to_owned());
                }
            }
        }
    }
    Command::Hook(options)
}

/// The name stands in every session file, so it is kept short and plain.
fn origin(name: String) -> String {
    let is_plain = !name.is_empty()
        && name.len() <= 32
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_plain { name } else { "unknown".to_owned() }
}

#[expect(clippy::print_stdout, reason = "asked for by a person; a hook never gets here")]
pub fn print(program: Program, text: Text) {
    let name = program.name();
    match text {
        Text::Version => println!("{name} {}", env!("CARGO_PKG_VERSION")),
        Text::Help => println!(
            "{name}: a Claude Code hook of Turnbridge

It reads one hook event as JSON from standard input, records the session's state, prints
nothing and exits 0. Claude Code calls it (see hooks/hooks.json); people use `turnbridge`.

Usage: {name} [--origin NAME] < event.json

Options:
  --origin NAME  which registration calls: plugin, settings [default: hand]
  -h, --help     print this help
  -V, --version  print the version"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(arguments: &[&str]) -> Command {
        parse(arguments.iter().map(OsString::from))
    }

    #[test]
    fn the_origin_is_read_and_everything_unknown_is_skipped() {
        let hook = |origin: &str| Command::Hook(Options { origin: origin.to_owned() });
        assert_eq!(options(&[]), hook("hand"));
        assert_eq!(options(&["--origin", "plugin"]), hook("plugin"));
        assert_eq!(options(&["--origin=settings", "--new-flag", "x"]), hook("settings"));
        assert_eq!(options(&["--origin"]), hook("unknown"));
        assert_eq!(options(&["--origin", "a b\n"]), hook("unknown"));
        assert_eq!(options(&["-V"]), Command::Print(Text::Version));
        assert_eq!(options(&["x", "--help"]), Command::Print(Text::Help));
    }
}
