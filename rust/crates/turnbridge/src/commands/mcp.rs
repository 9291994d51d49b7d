//! `turnbridge mcp`: serves the voice as a tool for agents, over stdio.
//!
//! Claude runs MCP servers outside its sandbox, where sound works. One line is one message, and
//! stdout contains nothing else. An invalid line never ends the server. Another process plays a
//! started speech, which therefore continues after the server's end.

use std::io::{self, Write};

use anyhow::{Context, Result};
use clap::Args;
use turnbridge_store::process::agent_environment::{self, Scope};
use turnbridge_system::speech::{self, SilenceReason};

use crate::config;
use crate::mcp::lines::{McpLine, read_line};
use crate::mcp::protocol::{self, ToolResult};
use crate::output;

/// Serve the voice to agents as an MCP tool, over stdin and stdout
///
/// The Claude Code plugin starts it by itself.
#[derive(Debug, Args)]
pub struct McpArgs {}

pub fn run(_: &McpArgs) -> Result<()> {
    // A project must not select the programs that speak.
    agent_environment::adopt(Scope::Server);
    let mut input = io::stdin().lock();
    loop {
        let answer = match read_line(&mut input).context("could not read stdin")? {
            McpLine::Whole(line) => protocol::answer(&line, speak),
            McpLine::TooLong => Some(protocol::too_long()),
            McpLine::End => return Ok(()),
        };
        if let Some(answer) = answer {
            let mut out = output::raw_stdout();
            writeln!(out, "{answer}").and_then(|()| out.flush())?;
        }
    }
}

/// Speaks a text. It reads the config each time, so that muting takes effect immediately.
fn speak(text: &str) -> ToolResult {
    match speech::speak(text, &config::read_or_default().voice) {
        Ok(_) => ToolResult::well("Speaking."),
        Err(SilenceReason::Muted) => {
            ToolResult::well("The user has muted the voice, so nothing was said. That is fine.")
        }
        Err(SilenceReason::NothingToSay) => {
            ToolResult::well("Nothing was said: the text has no words outside of code.")
        }
        Err(SilenceReason::NoEngine) => cannot("there is no speech engine on it"),
        Err(SilenceReason::NoSound(cause)) => cannot(&format!("it cannot play sound ({cause})")),
        Err(SilenceReason::Failed(cause)) => cannot(&cause),
    }
}

/// Returns an error that also tells the model not to retry.
fn cannot(why: &str) -> ToolResult {
    ToolResult::badly(&format!("This machine cannot speak: {why}. The turn may end without it."))
}
