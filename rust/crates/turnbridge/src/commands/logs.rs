//! `turnbridge logs`: prints the last lines of the logs, and with `--follow` each new line.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde_json::Value;
use turnbridge_core::text::token_mask::without_tokens;
use turnbridge_core::text::visible_text::visible_line;
use turnbridge_system::logs::{Line, Logs};

use crate::output;

const LOOK_EVERY: Duration = Duration::from_millis(300);

/// Show what Turnbridge did, and what it could not do
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// Which log
    #[arg(default_value = "all")]
    log: LogName,
    /// How many lines
    #[arg(long, short = 'n', default_value_t = 50)]
    lines: usize,
    /// Print the lines as they stand: JSON
    #[arg(long)]
    json: bool,
    /// Go on with what is added, until Ctrl-C
    #[arg(long, short)]
    follow: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogName {
    All,
    Hooks,
    Notify,
    Daemon,
}

pub fn run(arguments: &LogsArgs) -> Result<()> {
    let name = match arguments.log {
        LogName::All => None,
        LogName::Hooks => Some("hooks"),
        LogName::Notify => Some("notify"),
        LogName::Daemon => Some("daemon"),
    };
    let mut logs = Logs::of(&super::state_paths()?, name);
    for line in logs.last(arguments.lines) {
        print(arguments, &line)?;
    }
    if !arguments.follow {
        return Ok(());
    }
    logs.skip_to_end();
    loop {
        std::thread::sleep(LOOK_EVERY);
        logs.added(|line| print(arguments, line))?;
    }
}

fn print(arguments: &LogsArgs, line: &Line) -> Result<()> {
    let Line { log, text: line } = line;
    let mut out = output::stdout();
    match serde_json::from_str::<Value>(line) {
        Ok(Value::Object(entry)) if !arguments.json => {
            let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
            let text = |name: &str| visible_line(&without_tokens(text(name))).into_owned();
            write!(out, "{} {log:<6} {:<5} {}", text("ts"), text("level"), text("message"))?;
            for (name, value) in &entry {
                if !["ts", "level", "message"].contains(&name.as_str()) {
                    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    let shown = format!("  {name}={value}");
                    write!(out, "{}", visible_line(&without_tokens(&shown)))?;
                }
            }
            writeln!(out)?;
        }
        _ => writeln!(out, "{}", without_tokens(line))?,
    }
    Ok(())
}
