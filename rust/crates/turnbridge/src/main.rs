//! `turnbridge`: the command line.

mod commands;
mod config;
mod demo;
mod doctor;
mod failure;
mod output;
mod plugin_layout;
mod programs;
mod random_uuid;
mod resume_command;
mod runner;
mod service;
mod setup;
mod speech;
mod terminals;
mod wsl;

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
