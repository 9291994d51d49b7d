//! Parses the few arguments of a hook executable by hand, because clap would double its size, and
//! prints its help and version. A hook never fails because of an argument: it skips unknown ones.

use std::env::consts;
use std::ffi::OsString;

use turnbridge_core::agents::hook_table::HookProgram;
use turnbridge_core::ids::Agent;
use turnbridge_core::version_wire::ProgramVersion;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookOptions {
    /// The agent whose hook this is.
    pub agent: Agent,
    /// The registration that calls: `plugin`, `settings`.
    pub origin: String,
    /// `--no-gate`: the Stop is only recorded; the gate does not block it.
    pub no_gate: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub enum HookCommand {
    Hook(HookOptions),
    Print(PrintedText),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrintedText {
    Help,
    Version,
    VersionJson,
}

impl Default for HookOptions {
    fn default() -> HookOptions {
        HookOptions { agent: Agent::Claude, origin: "hand".to_owned(), no_gate: false }
    }
}

pub fn parse(arguments: impl Iterator<Item = OsString>) -> HookCommand {
    let mut options = HookOptions::default();
    let mut arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-h" | "--help" => return HookCommand::Print(PrintedText::Help),
            "-V" | "--version" if arguments.next().is_some_and(|next| next == "--json") => {
                return HookCommand::Print(PrintedText::VersionJson);
            }
            "-V" | "--version" => return HookCommand::Print(PrintedText::Version),
            "--no-gate" => options.no_gate = true,
            "--origin" => options.origin = origin(arguments.next().unwrap_or_default()),
            "--tool" => options.agent = agent(&arguments.next().unwrap_or_default()),
            other => {
                if let Some(value) = other.strip_prefix("--origin=") {
                    options.origin = origin(value.to_owned());
                } else if let Some(value) = other.strip_prefix("--tool=") {
                    options.agent = agent(value);
                }
            }
        }
    }
    HookCommand::Hook(options)
}

fn agent(name: &str) -> Agent {
    Agent::parse(name).unwrap_or(Agent::Claude)
}

/// Returns the registration's name. Every session file contains it, so it is kept short and plain.
fn origin(name: String) -> String {
    let is_plain = !name.is_empty()
        && name.len() <= 32
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_plain { name } else { "unknown".to_owned() }
}

#[expect(clippy::print_stdout, reason = "asked for by a person; a hook never gets here")]
pub fn print(program: HookProgram, text: PrintedText) {
    let name = program.as_str();
    match text {
        PrintedText::Version => println!("{name} {VERSION}"),
        PrintedText::VersionJson => {
            println!("{}", ProgramVersion::new(name, VERSION, consts::OS, consts::ARCH).to_json());
        }
        PrintedText::Help => {
            let (what, usage, option, codex) = match program {
                HookProgram::Status => (STATUS, "", "", CODEX),
                HookProgram::StopGate => (STOP_GATE, " [--no-gate]", NO_GATE, ""),
                HookProgram::Notify => (NOTIFY, " --hook", "", CODEX),
            };
            println!(
                "{name}: a hook of Turnbridge

It reads one hook event as JSON from standard input{what}
Claude Code calls it (see hooks/hooks.json){codex}; people use `turnbridge`.

Usage: {name} [--tool TOOL] [--origin NAME]{usage} < event.json

Options:
  --tool TOOL    whose hook: claude, codex [default: claude]
  --origin NAME  which registration calls: plugin, settings [default: hand]
{option}  -h, --help     print this help
  -V, --version  print the version; with `--json` behind it, for programs"
            );
        }
    }
}

const VERSION: &str = env!("CARGO_PKG_VERSION");
const CODEX: &str = ", Codex too (hooks/codex.json)";
const STATUS: &str = ", records the session's state, and exits 0. It
prints nothing, but that the agent may use Turnbridge's own speak without asking.";
const STOP_GATE: &str = " and decides whether the turn may end.
It may: the turn is recorded, exit 0. The agent has not spoken its summary yet: exit 2, and
what to do on standard error. `turnbridge gate explain` says why.";
const NOTIFY: &str = " (PermissionRequest) and, if you want that
(`[notify] waiting = true`), queues a notice that an agent waits for you. Without `--hook` it
delivers what is queued, and exits.";
const NO_GATE: &str = "  --no-gate      only record; let every turn end
";

#[cfg(test)]
mod tests {
    use super::*;

    fn options(arguments: &[&str]) -> HookCommand {
        parse(arguments.iter().map(OsString::from))
    }

    #[test]
    fn the_origin_is_read_and_everything_unknown_is_skipped() {
        let hook = |origin: &str| {
            HookCommand::Hook(HookOptions { origin: origin.to_owned(), ..HookOptions::default() })
        };
        assert_eq!(options(&[]), hook("hand"));
        assert_eq!(options(&["--origin", "plugin"]), hook("plugin"));
        assert_eq!(options(&["--origin=settings", "--new-flag", "x"]), hook("settings"));
        assert_eq!(options(&["--origin"]), hook("unknown"));
        assert_eq!(options(&["--origin", "a b\n"]), hook("unknown"));
        let origin = "settings".to_owned();
        let no_gate = HookOptions { origin, no_gate: true, ..HookOptions::default() };
        assert_eq!(options(&["--no-gate", "--origin", "settings"]), HookCommand::Hook(no_gate));
        let codex = HookOptions { agent: Agent::Codex, ..HookOptions::default() };
        assert_eq!(options(&["--tool", "codex"]), HookCommand::Hook(codex.clone()));
        assert_eq!(options(&["--tool=codex"]), HookCommand::Hook(codex));
        assert_eq!(options(&["--tool", "other"]), hook("hand"));
        assert_eq!(options(&["-V"]), HookCommand::Print(PrintedText::Version));
        assert_eq!(options(&["--version", "x"]), HookCommand::Print(PrintedText::Version));
        assert_eq!(options(&["--version", "--json"]), HookCommand::Print(PrintedText::VersionJson));
        assert_eq!(options(&["x", "--help"]), HookCommand::Print(PrintedText::Help));
    }
}
