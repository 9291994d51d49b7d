//! Builds the entries that Turnbridge wants for an event: program, arguments, matcher and timeout.

use super::layout::NewEntry;
use crate::agents::hook_table::{HookCall, HookEventName, HookProgram};
use crate::ids::Agent;
use crate::text::shell_words::shell_word;

/// The wanted registration: the programs, and how they are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// The absolute paths of the executables.
    pub status: String,
    pub stop_gate: String,
    pub notify: String,
    pub form: Form,
    pub stop_gate_is: StopGate,
}

/// The form of a command in the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `command` and `args`: no shell runs them.
    Exec,
    /// One command line, for a Claude Code that does not know `args`.
    Shell,
}

/// Whether the registered Stop hook may hold a turn. Settings contain no tool that speaks, so the
/// gate is off unless the user wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopGate {
    On,
    Off,
}

/// The wanted hook of one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WantedEntry {
    pub program: HookProgram,
    pub command: String,
    /// `None` in shell form.
    pub args: Option<Vec<String>>,
    matcher: Option<&'static str>,
    timeout: u32,
}

impl Registration {
    /// Returns the hooks that the table has for an event, with the arguments for the settings.
    pub(super) fn wanted(&self, event: HookEventName) -> Vec<WantedEntry> {
        event.calls(Agent::Claude).iter().map(|call| self.call(call)).collect()
    }

    fn call(&self, &HookCall { program, matcher, timeout }: &HookCall) -> WantedEntry {
        let path = match program {
            HookProgram::Status => &self.status,
            HookProgram::StopGate => &self.stop_gate,
            HookProgram::Notify => &self.notify,
        };
        let args: Vec<&str> =
            program.arguments().iter().chain(self.who_calls(program)).copied().collect();
        let (command, args) = match self.form {
            Form::Exec => (path.clone(), Some(args.into_iter().map(str::to_owned).collect())),
            Form::Shell => (format!("{} {}", shell_word(path), args.join(" ")), None),
        };
        WantedEntry { program, command, args, matcher, timeout }
    }

    const fn who_calls(&self, program: HookProgram) -> &'static [&'static str] {
        match (program, self.stop_gate_is) {
            (HookProgram::StopGate, StopGate::Off) => &["--origin", "settings", "--no-gate"],
            _ => &["--origin", "settings"],
        }
    }
}

impl WantedEntry {
    /// Returns the entry as a group of Claude's settings, to be written on one line.
    pub fn group(&self) -> NewEntry {
        let mut handler = vec![
            NewEntry::string(Some("type"), "command"),
            NewEntry::string(Some("command"), &self.command),
        ];
        handler.extend(self.args.as_ref().map(|args| NewEntry::strings(Some("args"), args)));
        handler.push(NewEntry::number(Some("timeout"), self.timeout));
        let matcher = self.matcher.map(|matcher| NewEntry::string(Some("matcher"), matcher));
        let handlers = NewEntry::array(Some("hooks"), vec![NewEntry::object(None, handler)]);
        NewEntry::object(None, matcher.into_iter().chain([handlers]).collect()).on_one_line()
    }
}
