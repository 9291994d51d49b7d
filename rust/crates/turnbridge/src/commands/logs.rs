//! `turnbridge logs`: prints the logs for users.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use serde_json::Value;
use turnbridge_core::text::token_mask::without_tokens;
use turnbridge_core::text::visible_text::visible_line;
use turnbridge_store::files::bounded_file::read_tail;
use turnbridge_store::paths::StatePaths;

use crate::output;

/// The number of bytes read from the end of a log.
const TAIL: u64 = 1 << 20;
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// Show what Turnbridge did, and what it could not do
#[derive(Debug, Args)]
pub struct Arguments {
    /// Which log
    #[arg(default_value = "all")]
    log: Log,
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
enum Log {
    All,
    Hooks,
    Notify,
    Daemon,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let paths = super::state_paths()?;
    let files = files(&paths, arguments.log);
    let mut lines: Vec<(String, String)> = Vec::new();
    for (name, path) in &files {
        let (tail, length) = read_tail(path, TAIL).unwrap_or_default();
        let text = String::from_utf8_lossy(&tail).into_owned();
        let skipped = usize::from(length > tail.len() as u64);
        lines.extend(text.lines().skip(skipped).map(|line| ((*name).to_owned(), line.to_owned())));
    }
    // Merges several logs in the order of their times.
    lines.sort_by_key(|(_, line)| time_of(line));
    let skipped = lines.len().saturating_sub(arguments.lines);
    for (name, line) in &lines[skipped..] {
        print(arguments, name, line)?;
    }
    if arguments.follow { follow(arguments, &files) } else { Ok(()) }
}

fn files(paths: &StatePaths, log: Log) -> Vec<(&'static str, PathBuf)> {
    let all = [
        (Log::Hooks, "hooks", paths.hooks_log()),
        (Log::Notify, "notify", paths.notify_log()),
        (Log::Daemon, "daemon", paths.daemon_log()),
    ];
    let is_wanted = |(one, ..): &(Log, &str, PathBuf)| log == Log::All || log == *one;
    all.into_iter().filter(is_wanted).map(|(_, name, path)| (name, path)).collect()
}

fn time_of(line: &str) -> String {
    let entry: Value = serde_json::from_str(line).unwrap_or_default();
    entry["ts"].as_str().unwrap_or_default().to_owned()
}

fn follow(arguments: &Arguments, files: &[(&'static str, PathBuf)]) -> Result<()> {
    let length = |path: &PathBuf| path.metadata().map_or(0, |metadata| metadata.len());
    let mut seen: Vec<u64> = files.iter().map(|(_, path)| length(path)).collect();
    loop {
        std::thread::sleep(LOOK_EVERY);
        for ((name, path), seen) in files.iter().zip(&mut seen) {
            let now = length(path);
            // A shorter file means that the log was rotated.
            if now < *seen {
                *seen = 0;
            }
            if now > *seen {
                let text = read_from(path, *seen).context("could not read a log")?;
                let whole = text.rfind('\n').map_or(0, |end| end + 1);
                text[..whole].lines().try_for_each(|line| print(arguments, name, line))?;
                *seen += whole as u64;
            }
        }
    }
}

fn read_from(path: &PathBuf, start: u64) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn print(arguments: &Arguments, log: &str, line: &str) -> Result<()> {
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
