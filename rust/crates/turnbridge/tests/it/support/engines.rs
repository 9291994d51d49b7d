//! Installs speech engines that only record their calls, and reads what they recorded.

// The engines of Linux; macOS looks for others.
#![cfg(all(unix, not(target_os = "macos")))]

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use testkit::{wait_until, write_program};

use crate::support::world::World;

/// The timeout, longer than any machine needs.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// Creates a world in which `name` is the only engine. It records its arguments and its stdin, and
/// then runs `speaking`.
pub fn world_with(name: &str, speaking: &str) -> World {
    let world = World::new();
    let folder = world.hermetic.root().join("engines");
    fs::create_dir(&folder).unwrap();
    let notes = notes_path(&world);
    let script = format!(
        "#!/bin/sh\nPATH=/usr/bin:/bin\n{{ printf '[%s] ' \"$@\"; cat; echo; }} > '{0}.new'\n\
         cat '{0}.new' >> '{0}'\necho $$ $PPID > '{0}.pids.new'; mv '{0}.pids.new' '{0}.pids'\n\
         {speaking}\necho end >> '{0}'\n",
        notes.display()
    );
    write_program(&folder.join(name), &script);
    let folder = folder.to_str().unwrap().to_owned();
    world.with("PATH", &folder)
}

pub fn notes_path(world: &World) -> PathBuf {
    world.hermetic.root().join("notes")
}

/// Gives the engine more time to fail, which it may need on a busy machine.
pub fn with_time_to_fail(world: World) -> World {
    world.with("TURNBRIDGE_SPEECH_MOMENT_MS", "20000")
}

/// Returns the engine's record after it has ended `times` times.
#[track_caller]
pub fn notes(world: &World, times: usize) -> String {
    let noted = wait_until(TIMEOUT, "the engine's end", || {
        let noted = fs::read_to_string(notes_path(world)).unwrap_or_default();
        (noted.lines().filter(|line| *line == "end").count() >= times).then_some(noted)
    });
    noted.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Returns the pids of the speaking engine and its player.
#[track_caller]
pub fn pids(world: &World) -> (u32, u32) {
    let path = notes_path(world).with_extension("pids");
    wait_until(TIMEOUT, "the engine's start", || {
        let text = fs::read_to_string(&path).ok()?;
        let (engine, player) = text.trim().split_once(' ')?;
        fs::remove_file(&path).ok()?;
        Some((engine.parse().ok()?, player.parse().ok()?))
    })
}

/// Returns whether a process has ended. A zombie counts as ended.
pub fn has_ended(pid: u32) -> bool {
    // `PID (NAME) STATE …`; an ended process without a wait is a zombie.
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return true };
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'))
}

#[track_caller]
pub fn wait_for_end(pids: (u32, u32)) {
    wait_until(TIMEOUT, "the end of engine and player", || {
        (has_ended(pids.0) && has_ended(pids.1)).then_some(())
    });
}

/// Ends the speech like a prompt.
pub fn cut_off(world: &World) {
    let paths = turnbridge_store::paths::StatePaths::below(&world.hermetic.state_dir());
    turnbridge_store::state::speech_mark::cut_off(&paths).unwrap();
}

/// Returns the path of the file that marks the current speech.
pub fn mark(world: &World) -> PathBuf {
    world.hermetic.state_dir().join("speaking")
}

/// Adds a sound card without output, which plays fifty times faster than speech.
pub fn add_silent_sound_card(world: &World) {
    fs::write(world.hermetic.home().join(".asoundrc"), "pcm.!default { type null }\n").unwrap();
}

pub fn has_espeak_ng() -> bool {
    std::process::Command::new("espeak-ng").arg("--version").output().is_ok()
}
