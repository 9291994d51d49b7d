//! `turnbridge man`: prints or writes manual pages, generated from the texts of `--help`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, CommandFactory};
use clap_mangen::Man;

use crate::output;

/// Print the manual page, or write all of them into a folder
///
/// For example: turnbridge man --dir ~/.local/share/man/man1
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write a page for this and for each command here
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

pub fn run(arguments: &ManArgs) -> Result<()> {
    let mut command = super::Cli::command().disable_help_subcommand(true);
    command.build();
    match &arguments.dir {
        None => Ok(output::raw_stdout().write_all(&page(&command)?)?),
        Some(folder) => {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("could not make `{}`", folder.display()))?;
            write_pages(&command, folder)
        }
    }
}

fn page(command: &clap::Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    Ok(page)
}

/// Writes `turnbridge.1`, `turnbridge-hooks.1`, `turnbridge-hooks-apply.1`.
fn write_pages(command: &clap::Command, folder: &std::path::Path) -> Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let path = folder.join(format!("{name}.1"));
    std::fs::write(&path, page(command)?)
        .with_context(|| format!("could not write `{}`", path.display()))?;
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    shown.into_iter().try_for_each(|command| write_pages(command, folder))
}
