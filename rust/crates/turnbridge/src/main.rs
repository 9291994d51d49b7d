//! `turnbridge`: the command line.

mod commands;
mod config;
mod doctor;
mod failure;
mod programs;
mod runner;
mod service;
mod setup;
mod speech;
mod terminals;
mod wsl;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    failure::report(commands::Cli::parse().run())
}
