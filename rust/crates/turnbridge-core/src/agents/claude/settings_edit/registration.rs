//! The wanted registration: the program for each event, and its arguments.

use super::layout::New;
use crate::agents::hook_table::{HookCall, HookEventName, HookProgram};
use crate::ids::Agent;
use crate::text::shell_words::shell_word;

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

/// Settings contain no tool that speaks, so the gate is off unless the user wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopGate {
    On,
    Off,
}

/// A wanted entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub program: HookProgram,
    pub command: String,
    /// `None` in shell form.
    pub args: Option<Vec<String>>,
    matcher: Option<&'static str>,
    timeout: u32,
}

impl Registration {
    /// Returns the entries of the table for an event, with the arguments of the settings.
    pub(super) fn wanted(&self, event: HookEventName) -> Vec<Wanted> {
        event.calls(Agent::Claude).iter().map(|call| self.call(call)).collect()
    }

    fn call(&self, &HookCall { program, matcher, timeout }: &HookCall) -> Wanted {
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
        Wanted { program, command, args, matcher, timeout }
    }

    const fn who_calls(&self, program: HookProgram) -> &'static [&'static str] {
        match (program, self.stop_gate_is) {
            (HookProgram::StopGate, StopGate::Off) => &["--origin", "settings", "--no-gate"],
            _ => &["--origin", "settings"],
        }
    }
}

impl Wanted {
    pub fn group(&self) -> New {
        let mut handler =
            vec![New::string(Some("type"), "command"), New::string(Some("command"), &self.command)];
        handler.extend(self.args.as_ref().map(|args| New::strings(Some("args"), args)));
        handler.push(New::number(Some("timeout"), self.timeout));
        let matcher = self.matcher.map(|matcher| New::string(Some("matcher"), matcher));
        let handlers = New::array(Some("hooks"), vec![New::object(None, handler)]);
        New::object(None, matcher.into_iter().chain([handlers]).collect()).on_one_line()
    }
}
