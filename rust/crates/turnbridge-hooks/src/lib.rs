//! Handles one hook call, from stdin to exit code.
//!
//! A hook blocks the agent while it runs. So it takes the time first, waits only for the session's
//! lock and (in the gate) for the transcript, opens no network connection, and prints only text
//! that Claude reads or shows to the user. It exits 0 whatever happens, unless the Stop gate has
//! decided that the turn may not end yet. A failure is one line in `hooks.log`, or in `notify.log`
//! for a report of Codex.

mod announcement;
mod arguments;
mod call;
mod codex_notify;
mod input;
mod notice;
mod notify;
mod own_speak;
mod reply;
pub mod run_environment;
pub mod start;
mod status;
mod stop_gate;
mod transcript;

use std::time::Instant;

use arguments::{HookCommand, HookOptions};
use turnbridge_core::agents::hook_table::HookProgram;
use turnbridge_store::process::agent_environment::{self, Scope};
use turnbridge_store::state::config_text::ConfigText;

/// Runs `turnbridge-status`.
pub fn status() -> u8 {
    let at = turnbridge_store::clock::now();
    run(HookProgram::Status, |options, config| status::handle(options, config, at))
}

/// Runs `turnbridge-stop-gate`.
pub fn stop_gate() -> u8 {
    let begun = Instant::now();
    let at = turnbridge_store::clock::now();
    run(HookProgram::StopGate, |options, config| stop_gate::handle(options, config, at, begun))
}

/// Runs `turnbridge-notify --hook`.
pub fn waiting() -> u8 {
    let at = turnbridge_store::clock::now();
    run(HookProgram::Notify, |options, config| {
        notify::waiting(options, config, at);
        0
    })
}

/// Runs `turnbridge notify --tool claude`: a Stop hook that the user made by hand. Its input is on
/// stdin.
pub fn finished_turn() {
    let at = turnbridge_store::clock::now();
    fail_open_on_panic(HookProgram::Notify);
    agent_environment::adopt(Scope::Hook);
    notify::finished(&HookOptions::default(), &ConfigText::default(), at);
}

/// Runs `turnbridge notify --tool codex` with the JSON from Codex. The caller may not wait for it,
/// but never gets an error from it.
pub fn codex_report(json: &[u8]) {
    let at = turnbridge_store::clock::now();
    fail_open_on_panic(HookProgram::Notify);
    agent_environment::adopt(Scope::Hook);
    codex_notify::handle(json, &ConfigText::default(), at);
}

fn run(program: HookProgram, handle: impl FnOnce(&HookOptions, &ConfigText) -> u8) -> u8 {
    fail_open_on_panic(program);
    match arguments::parse(std::env::args_os().skip(1)) {
        HookCommand::Hook(options) => {
            agent_environment::adopt(Scope::Hook);
            handle(&options, &ConfigText::default())
        }
        HookCommand::Print(text) => {
            arguments::print(program, text);
            0
        }
    }
}

/// Exits 0 on a panic. A bug in a hook must not look like a failed hook, let alone like a verdict.
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
