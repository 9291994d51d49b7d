//! Tests hooks whose home is missing or no folder, or whose state folder is full or read-only, and
//! the folder of the logs.

use serde_json::json;

use crate::support::world::{World, assert_silent_success, feed, lines_of, payload};

fn prompt() -> String {
    payload("UserPromptSubmit", json!({"prompt": "x"})).to_string()
}

#[test]
fn without_a_home_the_sinks_are_still_served() {
    let world = World::new();
    let path = world.hermetic.root().join("kawaii.jsonl");
    let mut command = world.command("turnbridge-status");
    command.env_clear().env("KAWAII_NOTIFY_PATH", &path).env("KAWAII_PANE_ID", "p");
    assert_silent_success(&feed(command, prompt().as_bytes()));
    let lines = lines_of(&std::fs::read_to_string(path).unwrap());
    assert_eq!(lines[0]["event"], "working");
}

#[test]
fn a_home_that_is_no_folder_is_no_obstacle() {
    let world = World::new();
    let file = world.hermetic.root().join("file");
    std::fs::write(&file, "").unwrap();
    for home in [file, world.hermetic.root().join("missing/deeper")] {
        let mut command = world.command("turnbridge-status");
        command.env_remove("XDG_STATE_HOME").env("HOME", &home).env("USERPROFILE", &home);
        assert_silent_success(&feed(command, prompt().as_bytes()));
    }
}

/// A service's definition names the same folder on macOS; see `service_files`.
#[test]
fn x13_the_logs_lie_where_the_system_keeps_logs() {
    let world = World::new();
    let home = world.hermetic.home();
    let elsewhere = world.hermetic.root().join("elsewhere");
    let usual = match std::env::consts::OS {
        "macos" => home.join("Library/Logs/turnbridge"),
        "windows" => home.join("AppData/Local/turnbridge/logs"),
        _ => home.join(".local/state/turnbridge/logs"),
    };
    // Windows does not use the variable.
    let named = if cfg!(windows) { usual.clone() } else { elsewhere.join("turnbridge/logs") };
    for (variable, folder) in [(None, usual), (Some(elsewhere), named)] {
        let mut command = world.command("turnbridge-status");
        command.env_remove("XDG_STATE_HOME");
        command.envs(variable.map(|value| ("XDG_STATE_HOME", value)));
        assert_silent_success(&feed(command, b"no event"));
        let log = std::fs::read_to_string(folder.join("hooks.log")).expect("hooks.log");
        assert_eq!(lines_of(&log).len(), 1, "{log}");
        std::fs::remove_file(folder.join("hooks.log")).unwrap();
    }
}

/// Runs the hook with its state folder on a small file system, which `prepare` fills or locks.
/// Returns `None` if the machine does not allow the mount.
#[cfg(target_os = "linux")]
fn on_a_file_system(world: &World, prepare: &str) -> Option<std::process::Output> {
    let state = world.hermetic.root().join("mounted");
    std::fs::create_dir_all(&state).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=64k tmpfs \"$XDG_STATE_HOME\" || exit 77\n{prepare}\nexec \"$0\" --origin plugin"
    );
    let hook = world.command("turnbridge-status");
    let mut command = std::process::Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
    command.arg(hook.get_program()).env_clear();
    command.envs(hook.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("XDG_STATE_HOME", &state).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let output = feed(command, prompt().as_bytes());
    let refused = output.status.code() == Some(77) || !output.stderr.is_empty();
    (!refused).then_some(output)
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_or_read_only_state_folder_costs_the_record_and_nothing_else_x19() {
    let world = World::new();
    let path = world.hermetic.root().join("kawaii.jsonl");
    let world =
        world.with("KAWAII_NOTIFY_PATH", path.to_str().unwrap()).with("KAWAII_PANE_ID", "p");
    let full = "head -c 1000000 /dev/zero > \"$XDG_STATE_HOME/fill\" 2>/dev/null";
    let read_only = "mount -o remount,ro \"$XDG_STATE_HOME\"";
    for prepare in [full, read_only] {
        let Some(output) = on_a_file_system(&world, prepare) else {
            testkit::skipped("this machine does not let us mount a file system of our own");
            return;
        };
        assert_silent_success(&output);
    }
    let lines = lines_of(&std::fs::read_to_string(path).unwrap());
    assert_eq!(lines.len(), 2, "the terminal is told all the same");
}
