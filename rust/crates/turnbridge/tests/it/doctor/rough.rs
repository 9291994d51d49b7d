//! Tests that doctor ends with findings when files are garbage, when files and programs never
//! respond, and when folders are missing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::healthy_setup::{HealthySetup, report_of};

/// Returns every file that the doctor reads.
fn files(healthy: &HealthySetup) -> Vec<PathBuf> {
    let hermetic = &healthy.world.hermetic;
    let claude = hermetic.claude_config_dir();
    let state = [
        "daemon.json",
        "routes.jsonl",
        "sessions/claude-x.json",
        "outbox/n1.json",
        "inbox/r1.json",
    ];
    let mut files: Vec<_> = state.map(|name| healthy.state(name)).to_vec();
    files.extend([
        healthy.settings(),
        claude.join("plugins/installed_plugins.json"),
        claude.join("plugins/known_marketplaces.json"),
        hermetic.project().join(".claude/settings.json"),
        healthy.codex_config(),
        hermetic.config_dir().join("config.toml"),
    ]);
    for file in &files {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
    }
    files
}

#[test]
fn garbage_in_every_file_is_told_and_survived() {
    let deep = "[".repeat(100_000);
    let odd = r#"{"hooks":[],"plugins":{"turnbridge@m":7},"enabledPlugins":{"turnbridge@m":true},"slack":{"state":1}}"#;
    let contents = ["", "{", "\u{feff}null", "[]", "\"x\"", odd, &deep];
    let contents = contents.iter().map(|text| text.as_bytes()).chain([&b"\xff\xfe\x00"[..]]);
    for garbage in contents {
        let healthy = HealthySetup::new();
        healthy.stand_in("claude", "echo 99999999999.1.1; echo x >&2");
        for file in files(&healthy) {
            fs::write(&file, garbage).unwrap();
        }
        let report = healthy.report(&["--fix"]);
        assert!(!report.problems().contains(&"check-unfinished".to_owned()), "{:#}", report.0);
        assert!(!report.problems().is_empty());
    }
}

#[test]
fn what_never_answers_is_left_behind() {
    let healthy = HealthySetup::new();
    healthy.stand_in("claude", "exec /bin/sleep 600");
    for file in files(&healthy) {
        let _ = fs::remove_file(&file);
        let made = Command::new("mkfifo").arg(&file).status().unwrap();
        assert!(made.success());
    }
    let mut command = healthy.command("turnbridge");
    // No check waits longer than this; the responsive ones have finished by then.
    command.env("TURNBRIDGE_DOCTOR_TIMEOUT_MS", "3000").args(["doctor", "--json"]);
    let report = report_of(&mut command);
    let problems = report.problems();
    for id in ["check-unfinished", "claude-silent", "config-invalid", "codex-config-invalid"] {
        assert!(problems.contains(&id.to_owned()), "{id}: {problems:?}");
    }
}

#[test]
fn without_a_home_that_is_the_one_problem() {
    let healthy = HealthySetup::new();
    let mut command = Command::new(healthy.programs().join("turnbridge"));
    command.env_clear().env("PATH", healthy.world.hermetic.root().join("bin"));
    command.current_dir(healthy.world.hermetic.project()).args(["doctor", "--json", "--fix"]);
    let report = report_of(&mut command);
    assert_eq!(report.problems(), ["no-home"], "{:#}", report.0);
}

#[test]
fn a_state_folder_that_is_not_there_yet_is_not_made() {
    let healthy = HealthySetup::new();
    fs::remove_dir_all(healthy.world.hermetic.state_dir()).unwrap();
    assert_eq!(healthy.problems(&[]), ["hooks-unseen"]);
    assert!(!healthy.world.hermetic.state_dir().exists());
}

#[test]
fn a_state_folder_that_cannot_be_written_to_is_told() {
    let healthy = HealthySetup::new();
    let folder = healthy.world.hermetic.state_dir();
    let mode = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o500);
    // root can write there too.
    let is_almighty = fs::write(folder.join("probe"), "").is_ok();
    let problems = healthy.problems(&[]);
    mode(0o700);
    if is_almighty {
        fs::remove_file(folder.join("probe")).unwrap();
        assert!(!problems.contains(&"state-unwritable".to_owned()), "{problems:?}");
        return testkit::skipped("root may write everywhere");
    }
    assert_eq!(problems, ["state-unwritable"]);
}

#[test]
fn the_current_folder_may_be_gone() {
    let healthy = HealthySetup::new();
    let folder = healthy.world.hermetic.root().join("gone");
    fs::create_dir(&folder).unwrap();
    let mut command = Command::new("/bin/sh");
    command
        .env_clear()
        .envs(healthy.command("turnbridge").get_envs().filter_map(|(k, v)| Some((k, v?))));
    command.current_dir(&folder).args(["-c", "/bin/rmdir \"$1\" && exec \"$0\" doctor --json"]);
    command.arg(healthy.programs().join("turnbridge")).arg(Path::new(&folder));
    assert_eq!(report_of(&mut command).problems(), ["folder-gone"]);
}
