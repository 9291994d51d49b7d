//! One hook call, from stdin to exit code.
//!
//! A hook stands in the agent's way while it runs: it takes the time first, waits for nobody,
//! opens no network connection, prints nothing and exits 0 whatever happens. What went wrong
//! is one line in `hooks.log`.

mod arguments;
mod call;
mod input;
mod surroundings;

use std::process::ExitCode;

use arguments::Command;
use turnbridge_store::log::Field;

/// Which executable this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// `turnbridge-status`: every event but Stop.
    Status,
    /// `turnbridge-stop-gate`: Stop.
    StopGate,
}

impl Program {
    pub const fn name(self) -> &'static str {
        match self {
            Program::Status => "turnbridge-status",
            Program::StopGate => "turnbridge-stop-gate",
        }
    }
}

/// The whole of `main`.
pub fn run(program: Program) -> ExitCode {
    let at = turnbridge_store::clock::now();
    fail_open_on_panic(program);
    match arguments::parse(std::env::args_os().skip(1)) {
        Command::Hook(options) => call::handle(program, &options, at),
        Command::Print(text) => arguments::print(program, text),
    }
    ExitCode::SUCCESS
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
