//! Runs the executables under `strace`, so that a test can read their system calls.

use std::path::Path;
use std::process::Command;

use testkit::skipped;

use super::world::World;

/// Returns whether `strace` exists and may trace. If not, reports that `what` is not tested.
pub fn can_trace(what: &str) -> bool {
    let status = Command::new("strace").args(["-o", "/dev/null", "true"]).status();
    let can = status.is_ok_and(|status| status.success());
    if !can {
        skipped(&format!("{what}: `strace` is not installed, or may not trace"));
    }
    can
}

/// Returns a call of a Turnbridge executable whose system calls are written to `file`.
pub fn traced(world: &World, program: &str, options: &[&str], file: &Path) -> Command {
    let called = world.command(program);
    let mut strace = world.hermetic.command("strace");
    strace.arg("-qq").args(options).arg("-o").arg(file).arg("--").arg(called.get_program());
    strace.envs(called.get_envs().filter_map(|(name, value)| Some((name, value?))));
    strace
}
