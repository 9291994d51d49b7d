//! `turnbridge pane scan`: prints the events in a terminal's output as JSON lines, for a host that
//! owns the terminal and passes the output on stdin. With `--act` it also records them.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use turnbridge_core::terminals::osc_scan::OscEvent;
use turnbridge_core::terminals::pane_id::PaneId;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_system::panes::follow_output;

use super::PaneArgument;
use crate::output;

/// Tell what a terminal's output says, one line of JSON for each event
///
/// Reads the output of the pane's programs, as it goes to the screen, from stdin: `cwd` (OSC 7,
/// 9;9), `prompt` (OSC 133;A, or a folder that was told), `title`, `output_stopped` and
/// `output_resumed`.
#[derive(Debug, Args)]
pub struct PaneScanArgs {
    #[command(flatten)]
    pane: PaneArgument,
    /// Print JSON, as it does without this
    #[arg(long)]
    json: bool,
    /// Also do what `pane prompt` does when a prompt is seen, and `pane close` at the end of stdin;
    /// and note when the output stops
    #[arg(long)]
    act: bool,
    /// How long nothing must come before the output counts as stopped
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0, value_parser = seconds)]
    quiet: f64,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is wanted".to_owned())?;
    let is_sound = (0.01..=86_400.0).contains(&seconds);
    is_sound.then_some(seconds).ok_or_else(|| "between 0.01 and 86400 seconds".to_owned())
}

pub fn run(arguments: &PaneScanArgs) -> Result<()> {
    let paths = super::super::state_paths()?;
    let registry = super::registry(&paths);
    let pane = match arguments.pane.find(registry, &super::pane_environment()) {
        Ok(pane) => Some(pane),
        // A name is needed only for doing something.
        Err(_) if !arguments.act && arguments.pane.pane.is_none() => None,
        Err(error) => return Err(error),
    };
    let acting = pane.as_ref().filter(|_| arguments.act).map(|pane| (registry, pane));
    let quiet = Duration::from_secs_f64(arguments.quiet);
    follow_output(std::io::stdin(), quiet, acting, |seen, now| print(seen, pane.as_ref(), now))
}

fn print(seen: &OscEvent, pane: Option<&PaneId>, now: Timestamp) -> Result<()> {
    let mut line = match seen {
        OscEvent::Cwd { path, host } => json!({"event": "cwd", "path": path, "host": host}),
        OscEvent::PromptReturned => json!({"event": "prompt"}),
        OscEvent::Title(title) => json!({"event": "title", "title": title}),
        OscEvent::OutputStopped { last_at } => {
            json!({"event": "output_stopped", "last_output_at": last_at.to_string()})
        }
        OscEvent::OutputResumed => json!({"event": "output_resumed"}),
    };
    line["version"] = json!(1);
    line["at"] = Value::String(now.to_string());
    line["pane"] = json!(pane.map(PaneId::as_str));
    let mut out = output::stdout();
    writeln!(out, "{line}")?;
    out.flush()?;
    Ok(())
}
