//! One hook call, from stdin to exit code.
//!
//! A hook stands in the agent's way while it runs: it takes the time first, waits for nobody,
//! opens no network connection, prints nothing but what Claude is to read, and exits 0 whatever
//! happens, unless the Stop gate has decided that the turn may not end yet. What went wrong is
//! one line in `hooks.log`.

mod announcement;
mod arguments;
mod call;
mod codex_notify;
mod input;
mod notice;
mod notify;
mod own_speak;
mod reply;
pub mod start;
mod status;
mod stop_gate;
pub mod surroundings;
mod transcript;

use std::time::Instant;

use arguments::{Command, Options};
use turnbridge_store::log::Field;
use turnbridge_store::process::agent_environment::{self, Scope};

/// Which executable this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Program {
    /// `turnbridge-status`: every event but Stop, and Codex's Stop too.
    Status,
    /// `turnbridge-stop-gate`: Stop.
    StopGate,
    /// `turnbridge-notify` as the hook of PermissionRequest, and `turnbridge notify`.
    Notify,
}

impl Program {
    const fn name(self) -> &'static str {
        match self {
            Program::Status => "turnbridge-status",
            Program::StopGate => "turnbridge-stop-gate",
            Program::Notify => "turnbridge-notify",
        }
    }
}

/// The whole of `turnbridge-status`.
pub fn status() -> u8 {
    let at = turnbridge_store::clock::now();
    run(Program::Status, |options| status::handle(options, at))
}

/// The whole of `turnbridge-stop-gate`.
pub fn stop_gate() -> u8 {
    let begun = Instant::now();
    let at = turnbridge_store::clock::now();
    run(Program::StopGate, |options| stop_gate::handle(options, at, begun))
}

/// `turnbridge-notify --hook`.
pub fn waiting() -> u8 {
    let at = turnbridge_store::clock::now();
    run(Program::Notify, |options| {
        notify::waiting(options, at);
        0
    })
}

/// `turnbridge notify --tool claude`: a Stop hook made by hand. Its input is on stdin.
pub fn finished_turn() {
    let at = turnbridge_store::clock::now();
    fail_open_on_panic(Program::Notify);
    agent_environment::adopt(Scope::Hook);
    notify::finished(&Options::default(), at);
}

/// `turnbridge notify --tool codex`: what Codex has handed over. It may be waited for by nobody, but
/// it never fails whoever called.
pub fn codex_report(json: &[u8]) {
    let at = turnbridge_store::clock::now();
    fail_open_on_panic(Program::Notify);
    agent_environment::adopt(Scope::Hook);
    codex_notify::handle(json, at);
}

fn run(program: Program, handle: impl FnOnce(&Options) -> u8) -> u8 {
    fail_open_on_panic(program);
    match arguments::parse(std::env::args_os().skip(1)) {
        Command::Hook(options) => {
            agent_environment::adopt(Scope::Hook);
            handle(&options)
        }
        Command::Print(text) => {
            arguments::print(program, text);
            0
        }
    }
}

/// A bug of ours must not look like a failed hook, let alone like a verdict.
fn fail_open_on_panic(program: Program) {
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        call::log_problem(
            program,
            turnbridge_store::clock::now(),
            "panic",
            &[("at", Field::Text(place))],
        );
        std::process::exit(0);
    }));
}
