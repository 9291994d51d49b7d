//! What is to be registered: which program for which event, and how it is called.

use super::layout::New;
use super::own::{Program, quote};
use crate::session::event::HookEventName;

/// Seconds, as in the plugin's `hooks/hooks.json`.
const TIMEOUT: u32 = 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// The absolute paths of our executables.
    pub status: String,
    pub stop_gate: String,
    pub notify: String,
    pub form: Form,
    pub stop_gate_is: StopGate,
}

/// How Claude Code is told what to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `command` and `args`: no shell in between.
    Exec,
    /// One command line, for a Claude Code that does not know `args`.
    Shell,
}

/// Settings bring no way to speak, so the gate is off unless the user wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopGate {
    On,
    Off,
}

/// One entry as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub program: Program,
    pub command: String,
    /// `None` in shell form.
    pub args: Option<Vec<String>>,
}

impl Registration {
    pub(super) fn wanted(&self, event: HookEventName) -> Vec<Wanted> {
        let origin = ["--origin", "settings"];
        match (event, self.stop_gate_is) {
            (HookEventName::Stop, StopGate::On) => vec![self.call(Program::StopGate, &origin)],
            (HookEventName::Stop, StopGate::Off) => {
                vec![self.call(Program::StopGate, &["--origin", "settings", "--no-gate"])]
            }
            (HookEventName::PermissionRequest, _) => vec![
                self.call(Program::Status, &origin),
                self.call(Program::Notify, &["--hook", "--origin", "settings"]),
            ],
            _ => vec![self.call(Program::Status, &origin)],
        }
    }

    fn call(&self, program: Program, args: &[&str]) -> Wanted {
        let path = match program {
            Program::Status => &self.status,
            Program::StopGate => &self.stop_gate,
            Program::Notify => &self.notify,
        };
        match self.form {
            Form::Exec => Wanted {
                program,
                command: path.clone(),
                args: Some(args.iter().map(|arg| (*arg).to_owned()).collect()),
            },
            Form::Shell => {
                let command = format!("{} {}", quote(path), args.join(" "));
                Wanted { program, command, args: None }
            }
        }
    }
}

impl Wanted {
    pub fn group(&self) -> New {
        let mut handler =
            vec![New::string(Some("type"), "command"), New::string(Some("command"), &self.command)];
        handler.extend(self.args.as_ref().map(|args| New::strings(Some("args"), args)));
        handler.push(New::number(Some("timeout"), TIMEOUT));
        let handlers = New::array(Some("hooks"), vec![New::object(None, handler)]);
        New::object(None, vec![handlers]).on_one_line()
    }
}
