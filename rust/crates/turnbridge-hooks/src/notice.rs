//! Queues what a turn came to for whoever wants to be told, and wakes whoever delivers it.
//! The hook itself never talks to anybody: its cost does not depend on Slack.

use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use turnbridge_core::event::{Event, EventKind};
use turnbridge_core::ids::Tool;
use turnbridge_core::notice_switches::wants_slack;
use turnbridge_core::notice_wire::{Notice, codex_turn_id};
use turnbridge_store::outbox::{self, Queued};
use turnbridge_store::paths::{StatePaths, config_file};
use turnbridge_store::{bounded_file, file_lock};

/// No config is longer.
const LONGEST_CONFIG: u64 = 4 << 20;

/// The text of `config.toml`.
pub fn config() -> io::Result<Vec<u8>> {
    let path = config_file().ok_or(io::ErrorKind::NotFound)?;
    bounded_file::read(&path, LONGEST_CONFIG)
}

pub fn queue(paths: &StatePaths, notice: &Notice) -> Result<(), String> {
    let is_wanted = match config() {
        Ok(config) => wants_slack(&config),
        // One that is there and cannot be read may name a Slack: whoever delivers says what is
        // wrong, and the notice waits.
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    };
    if !is_wanted {
        return Ok(());
    }
    match outbox::queue(paths, notice) {
        Ok(Queued::New) => wake(paths),
        Ok(Queued::Known) => Ok(()),
        Err(error) => Err(format!("outbox: {error}")),
    }
}

/// The id of the notice that `event` makes; `payload` is its hash. Its second report makes the same
/// id, and no second notice.
pub fn notice_id(event: &Event, payload: u64) -> String {
    let ends_turn =
        matches!(event.kind, EventKind::TurnEnded { .. } | EventKind::TurnFailed { .. });
    let turn = event.facts.prompt_id.as_deref().filter(|_| event.tool == Tool::Codex && ends_turn);
    let of_turn = codex_turn_id(event.session_id.as_str(), turn);
    of_turn.unwrap_or_else(|| format!("{}-{payload:016x}", event.tool))
}

/// A daemon that lives sees the new file by itself.
fn wake(paths: &StatePaths) -> Result<(), String> {
    if file_lock::is_held(&paths.daemon_lock()) {
        return Ok(());
    }
    // The agent waits until nobody holds its streams any more, so the notifier gets none of them.
    let mut command = Command::new(notifier().ok_or("the notifier is not to be found")?);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    detach(&mut command);
    match command.spawn() {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("the notifier could not be started: {error}")),
    }
}

/// It lies beside us.
fn notifier() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let name = format!("turnbridge-notify{}", std::env::consts::EXE_SUFFIX);
    Some(own.with_file_name(name)).filter(|path| path.exists())
}

#[cfg(unix)]
fn detach(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

#[cfg(windows)]
fn detach(command: &mut Command) {
    // CREATE_NO_WINDOW and CREATE_NEW_PROCESS_GROUP.
    std::os::windows::process::CommandExt::creation_flags(command, 0x0800_0200);
}
