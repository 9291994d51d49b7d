//! `turnbridge run-reply ID`: hands one reply to its agent, and waits for the end. The daemon
//! starts this process for each reply. It continues when the daemon stops, and the agent continues
//! when this process is killed.

use anyhow::Result;
use clap::Args;
use turnbridge_core::replies::reply::is_reply_id;
use turnbridge_system::replies::runner;

use crate::failure::hinted;

/// Give one reply of the inbox to its agent, and wait (the daemon does this)
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct RunReplyArgs {
    /// The reply's id
    id: String,
}

pub fn run(arguments: &RunReplyArgs) -> Result<()> {
    let paths = super::state_paths()?;
    let id = &arguments.id;
    if !is_reply_id(id) {
        return Err(hinted(format!("`{id}` is no reply's id"), "`turnbridge inbox` lists them"));
    }
    runner::run(&paths, id)
}
