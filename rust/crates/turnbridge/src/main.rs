//! Starts `turnbridge`: runs the command line, or plays an agent if a demo has started it under an
//! agent's name.

mod commands;
mod config;
pub mod consent;
mod demo;
mod doctor;
mod failure;
mod interrupt;
mod mcp;
mod output;
mod register;
mod session_views;
mod setup;
mod shell_init;
mod sign_in;
mod watch;

use std::process::ExitCode;

use clap::Parser;
use turnbridge_store::process::agent_environment::{self, Scope};

fn main() -> ExitCode {
    agent_environment::adopt(Scope::Command);
    if let Some(tool) = demo::answer::part() {
        return failure::report(demo::answer::run(tool));
    }
    failure::report(commands::Cli::parse().run())
}
