//! `turnbridge demo`: runs a daemon with its board, and agents that only play, in a separate home.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use turnbridge_system::programs;

use crate::demo::company::DemoProcesses;
use crate::demo::home::DemoHome;
use crate::demo::performance::Performance;
use crate::interrupt::Interrupt;
use crate::output;

/// See what it is like, with agents that only play
///
/// Opens the board with some sessions of Claude Code and Codex at work; answer one of them there.
/// All of it lives in a folder of its own, which is removed at the end. Nothing of yours is read or
/// changed, and no account is needed.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Print the board's address only
    #[arg(long)]
    no_open: bool,
    /// End by itself after so many seconds, and print the sessions
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// Use this folder, which has to be empty or new, and leave it there at the end
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
}

pub fn run(arguments: &DemoArgs) -> Result<()> {
    for name in ["turnbridge-status", "turnbridge-stop-gate"] {
        programs::own(name)?;
    }
    let interrupt = Interrupt::listen()?;
    let home = match &arguments.state {
        Some(folder) => DemoHome::kept(folder)?,
        None => DemoHome::temporary()?,
    };
    let performance = Performance {
        home: &home,
        opens_browser: !arguments.no_open,
        length: arguments.seconds.map(Duration::from_secs),
        interrupt: &interrupt,
    };
    let mut company = DemoProcesses::new(home.paths());
    performance.run(&mut company)?;
    if arguments.seconds.is_some() {
        let listed = home.command(&["sessions"])?.output();
        let listed = listed.context("could not run `turnbridge sessions`")?;
        output::stdout().write_all(&listed.stdout)?;
    }
    Ok(())
    // The processes end before the home is removed.
}
