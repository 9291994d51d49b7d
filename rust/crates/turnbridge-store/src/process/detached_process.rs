//! Starts the executables beside this one as detached processes: they get none of this process's
//! streams, and a signal that ends this process does not end them.

use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use turnbridge_core::system::environment_rules::for_the_notifier;

use crate::files::file_lock;
use crate::paths::StatePaths;
use crate::test_switch;

/// Wakes a process that delivers queued notices. A running daemon sees the new file by itself.
pub fn wake(paths: &StatePaths) -> Result<(), String> {
    if file_lock::is_held(&paths.daemon_lock()) {
        return Ok(());
    }
    match start_notifier(&[]) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("the notifier could not be started: {error}")),
    }
}

/// Starts the notifier. It has a token, so it gets only the variables that it needs.
pub fn start_notifier(arguments: &[&str]) -> io::Result<Child> {
    let mut command = command("turnbridge-notify", arguments, Detachment::InItsOwnGroup)?;
    command.env_clear();
    command.envs(for_the_notifier().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.envs(test_switch::variables());
    command.spawn()
}

/// How the process is detached, so that a signal that ends this one does not end it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detachment {
    /// This process puts it into a separate process group.
    InItsOwnGroup,
    /// It makes a separate session, which the leader of a group cannot do.
    ByItself,
}

/// Starts a detached process without streams. Claude waits until no process holds the streams of
/// its hook.
pub fn start(name: &str, arguments: &[&str], apart: Detachment) -> io::Result<Child> {
    command(name, arguments, apart)?.spawn()
}

fn command(name: &str, arguments: &[&str], apart: Detachment) -> io::Result<Command> {
    let program = path_of(name).ok_or(io::ErrorKind::NotFound)?;
    let mut command = Command::new(program);
    command.args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    detach(&mut command, apart);
    Ok(command)
}

/// Returns the path of the executable beside this one, or `None` if it does not exist.
pub fn path_of(name: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    Some(own.with_file_name(name)).filter(|path| path.exists())
}

#[cfg(unix)]
fn detach(command: &mut Command, apart: Detachment) {
    if apart == Detachment::InItsOwnGroup {
        std::os::unix::process::CommandExt::process_group(command, 0);
    }
}

/// Windows has no sessions to make.
#[cfg(windows)]
fn detach(command: &mut Command, _apart: Detachment) {
    // CREATE_NO_WINDOW and CREATE_NEW_PROCESS_GROUP.
    std::os::windows::process::CommandExt::creation_flags(command, 0x0800_0200);
}
