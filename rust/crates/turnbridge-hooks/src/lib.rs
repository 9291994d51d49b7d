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
use turnbridge_core::agents::hook_table::HookProgram;
use turnbridge_store::process::agent_environment::{self, Scope};
use turnbridge_store::state::config_text::ConfigText;

/// The whole of `turnbridge-status`.
pub fn status() -> u8 {
    let at = turnbridge_store::clock::now();
    run(HookProgram::Status, |options, config| status::handle(options, config, at))
}

/// The whole of `turnbridge-stop-gate`.
pub fn stop_gate() -> u8 {
    let begun = Instant::now();
    let at = turnbridge_store::clock::now();
    run(HookProgram::StopGate, |options, config| stop_gate::handle(options, config, at, begun))
}

/// `turnbridge-notify --hook`.
pub fn waiting() -> u8 {
    let at = turnbridge_store::clock::now();
    run(HookProgram::Notify, |options, config| {
        notify::waiting(options, config, at);
        0
    })
}

/// `turnbridge notify --tool claude`: a Stop hook made by hand. Its input is on stdin.
pub fn finished_turn() {
    let at = turnbridge_store::clock::now();
    fail_open_on_panic(HookProgram::Notify);
    agent_environment::adopt(Scope::Hook);
    notify::finished(&Options::default(), &ConfigText::default(), at);
}

/// `turnbridge notify --tool codex`: what Codex has handed over. It may be waited for by nobody, but
/// it never fails whoever called.
pub fn codex_report(json: &[u8]) {
    let at = turnbridge_store::clock::now();
    fail_open_on_panic(HookProgram::Notify);
    agent_environment::adopt(Scope::Hook);
    codex_notify::handle(json, &ConfigText::default(), at);
}

fn run(program: HookProgram, handle: impl FnOnce(&Options, &ConfigText) -> u8) -> u8 {
    fail_open_on_panic(program);
    match arguments::parse(std::env::args_os().skip(1)) {
        Command::Hook(options) => {
            agent_environment::adopt(Scope::Hook);
            handle(&options, &ConfigText::default())
        }
        Command::Print(text) => {
            arguments::print(program, text);
            0
        }
    }
}

/// A bug of ours must not look like a failed hook, let alone like a verdict.
fn fail_open_on_panic(program: HookProgram) {
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        call::log_problem(
            program,
            turnbridge_store::clock::now(),
            "panic",
            &[("at", place.into())],
        );
        std::process::exit(0);
    }));
}
