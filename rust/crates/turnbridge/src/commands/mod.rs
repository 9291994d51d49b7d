//! Defines the command line of `turnbridge` and runs the chosen command. Each command has its own
//! module; `place` is a shared option, `documented` a test of the command lines in the documents.

pub mod board;
pub mod codex;
mod completions;
pub mod daemon;
mod demo;
mod demo_agent;
mod doctor;
#[cfg(test)]
mod documented;
mod focus;
pub mod gate;
pub mod hooks;
mod inbox;
mod logs;
mod man;
mod mcp;
mod notify;
mod outbox;
mod pane;
mod place;
mod routes;
mod run;
mod run_reply;
mod service;
mod sessions;
mod setup;
mod shell_init;
mod speak;
mod uninstall;
mod voice;
mod watch;
pub mod wsl;

use std::env::consts;
use std::io::IsTerminal;

use anyhow::Result;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use turnbridge_core::version_wire::ProgramVersion;
use turnbridge_system::state_folder::state_paths;

use crate::consent::say;
use crate::output;

/// Keeps you in touch with coding agents that work without you
///
/// Alone, in a terminal, it sets everything up: see `turnbridge setup --help`.
#[derive(Debug, Parser)]
#[command(
    name = "turnbridge",
    version,
    disable_version_flag = true,
    args_conflicts_with_subcommands = true,
    max_term_width = 100
)]
pub struct Cli {
    /// Print the version
    #[arg(short = 'V', long)]
    version: bool,
    /// With `--version`: as one line of JSON, for programs
    #[arg(long, requires = "version")]
    json: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Setup(setup::SetupArgs),
    Sessions(sessions::SessionsArgs),
    Focus(focus::FocusArgs),
    Run(run::RunArgs),
    Pane(pane::PaneArgs),
    ShellInit(shell_init::ShellInitArgs),
    Watch(watch::WatchArgs),
    Board(board::BoardArgs),
    Demo(demo::DemoArgs),
    Gate(gate::GateArgs),
    Hooks(hooks::HooksArgs),
    Daemon(daemon::DaemonArgs),
    #[command(alias = "launchd")]
    Service(service::ServiceArgs),
    Doctor(doctor::DoctorArgs),
    Codex(codex::CodexArgs),
    Inbox(inbox::InboxArgs),
    Outbox(outbox::OutboxArgs),
    Routes(routes::RoutesArgs),
    Logs(logs::LogsArgs),
    Notify(notify::NotifyArgs),
    Speak(speak::SpeakArgs),
    Voice(voice::VoiceArgs),
    Wsl(wsl::WslArgs),
    Mcp(mcp::McpArgs),
    Uninstall(uninstall::UninstallArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    RunReply(run_reply::RunReplyArgs),
    DemoAgent(demo_agent::DemoAgentArgs),
}

impl Cli {
    pub fn run(self) -> Result<()> {
        let Some(command) = self.command else {
            return if self.version { print_version(self.json) } else { alone() };
        };
        match command {
            Command::Setup(arguments) => setup::run(arguments),
            Command::Sessions(arguments) => sessions::run(&arguments),
            Command::Focus(arguments) => focus::run(&arguments),
            Command::Run(arguments) => run::run(&arguments),
            Command::Pane(arguments) => pane::run(&arguments),
            Command::ShellInit(arguments) => shell_init::run(&arguments),
            Command::Watch(arguments) => watch::run(&arguments),
            Command::Board(arguments) => board::run(&arguments),
            Command::Demo(arguments) => demo::run(&arguments),
            Command::Gate(arguments) => gate::run(&arguments),
            Command::Hooks(arguments) => hooks::run(&arguments),
            Command::Daemon(arguments) => daemon::run(&arguments),
            Command::Service(arguments) => service::run(&arguments),
            Command::Doctor(arguments) => doctor::run(&arguments),
            Command::Codex(arguments) => codex::run(&arguments),
            Command::Inbox(arguments) => inbox::run(&arguments),
            Command::Outbox(arguments) => outbox::run(&arguments),
            Command::Routes(arguments) => routes::run(&arguments),
            Command::Logs(arguments) => logs::run(&arguments),
            Command::Notify(arguments) => notify::run(&arguments),
            Command::Speak(arguments) => speak::run(&arguments),
            Command::Voice(arguments) => voice::run(&arguments),
            Command::Wsl(arguments) => wsl::run(&arguments),
            Command::Mcp(arguments) => mcp::run(&arguments),
            Command::Uninstall(arguments) => uninstall::run(&arguments),
            Command::Man(arguments) => man::run(&arguments),
            Command::Completions(arguments) => completions::run(&arguments),
            Command::RunReply(arguments) => run_reply::run(&arguments),
            Command::DemoAgent(arguments) => demo_agent::run(&arguments),
        }
    }
}

fn print_version(as_json: bool) -> Result<()> {
    let (name, version) = ("turnbridge", env!("CARGO_PKG_VERSION"));
    match as_json {
        true => say(&ProgramVersion::new(name, version, consts::OS, consts::ARCH).to_json()),
        false => say(&format!("{name} {version}")),
    }
}

/// X35: runs the set-up in a terminal, or prints the help.
fn alone() -> Result<()> {
    if std::io::stdin().is_terminal() && output::is_terminal() {
        return setup::run(setup::SetupArgs::default());
    }
    let help = Cli::command().render_help();
    Cli::command().error(ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, help).exit()
}
