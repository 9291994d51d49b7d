//! Tests the calls of the user's own systemd for Turnbridge's unit, its status, and the unit's
//! file.

use std::fs;
use std::process::Command;

use super::{Managed, user_id};

fn systemd_calls(calls: Vec<String>) -> String {
    calls.join("\n").replace(&format!("show-user {} ", user_id()), "show-user UID ")
}

#[test]
fn systemd_is_called_like_this() {
    let managed = Managed::new("systemd");
    insta::assert_snapshot!(managed.service("install"), @"
    installed `~/home/.config/systemd/user/turnbridge.service`
    running (pid 4711)
    ");
    insta::assert_snapshot!(systemd_calls(managed.calls()), @"
    --user show turnbridge.service --property=LoadState,UnitFileState,ActiveState,MainPID
    --user daemon-reload
    --user show turnbridge.service --property=LoadState,UnitFileState,ActiveState,MainPID
    --user enable --now turnbridge.service
    --user show turnbridge.service --property=LoadState,UnitFileState,ActiveState,MainPID
    show-user UID --property=Linger
    ");
    insta::assert_snapshot!(managed.service("restart"), @"the daemon was started anew");
    insta::assert_snapshot!(managed.orders().join("\n"), @"--user restart turnbridge.service");
    // Another definition restarts the running one.
    fs::write(managed.unit(), "[Service]\n").unwrap();
    insta::assert_snapshot!(managed.service("status"), @"
    installed, but outdated (systemd, `~/home/.config/systemd/user/turnbridge.service`)
    `turnbridge service install` brings it up to date
    running (pid 4711)
    ");
    managed.orders();
    managed.service("install");
    insta::assert_snapshot!(managed.orders().join("\n"), @"
    --user daemon-reload
    --user enable --now turnbridge.service
    --user restart turnbridge.service
    ");
    managed.service("uninstall");
    insta::assert_snapshot!(managed.orders().join("\n"), @"
    --user disable --now turnbridge.service
    --user daemon-reload
    ");
}

#[test]
fn who_does_not_linger_is_told_and_left_alone() {
    let managed = Managed::new("systemd");
    managed.plant("linger", "Linger=no\n");
    managed.service("install");
    let note = managed.status()["note"].as_str().unwrap().to_owned();
    insta::assert_snapshot!(note, @"it ends when you log out; `loginctl enable-linger` keeps it running, and starts it with the machine");
    assert!(!managed.calls().iter().any(|call| call.contains("enable-linger")));
    for odd in ["", "Linger=yes\n", "Linger=\n", "\u{fffd}"] {
        managed.plant("linger", odd);
        assert!(managed.status()["note"].is_null(), "{odd}");
    }
}

#[test]
fn a_unit_that_was_disabled_by_hand_is_installed_again() {
    let managed = Managed::new("systemd");
    managed.service("install");
    fs::remove_file(managed.planted("enabled")).unwrap();
    assert_eq!(managed.status()["installed"], false);
    managed.service("install");
    assert_eq!(managed.status()["installed"], true);
}

#[test]
fn a_daemon_that_does_not_come_up_is_told() {
    let mut managed = Managed::new("systemd");
    // The timeout is just long enough for the responsive ones on a busy machine.
    managed.world = managed.world.with("TURNBRIDGE_SERVICE_TIMEOUT_MS", "3000");
    managed.plant(
        "odd",
        "LoadState=loaded\nUnitFileState=enabled\nActiveState=activating\nMainPID=1\n",
    );
    let output = managed.tried("install");
    assert!(output.status.success(), "{output:?}");
    insta::assert_snapshot!(managed.world.without_paths(&String::from_utf8(output.stdout).unwrap()), @"
    installed `~/home/.config/systemd/user/turnbridge.service`
    not running
    ");
    insta::assert_snapshot!(String::from_utf8(output.stderr).unwrap(), @"note: it is installed but does not run yet; `turnbridge logs daemon` may say why");
    insta::assert_snapshot!(managed.refused("restart"), @"
    error: the daemon did not come up again
    hint: `turnbridge service status` shows how it stands; `turnbridge logs daemon` and `turnbridge daemon --foreground` may say why
    ");
}

#[test]
fn an_answer_that_nobody_understands_is_no_service() {
    let managed = Managed::new("systemd");
    for odd in
        ["", "=\n=\n", "LoadState\nActiveState=active\nMainPID=many", "MainPID=99999999999999"]
    {
        managed.plant("odd", odd);
        let status = managed.status();
        assert_eq!((&status["installed"], &status["pid"]), (&false.into(), &().into()), "{odd}");
    }
    insta::assert_snapshot!(managed.refused("restart"), @"
    error: there is no service to restart
    hint: `turnbridge service install` makes one; `turnbridge daemon stop` and `turnbridge daemon` restart one that was started by hand
    ");
}

#[test]
fn a_service_is_outdated_when_its_path_finds_the_agents_no_more() {
    let mut managed = Managed::new("systemd");
    managed.service("install");
    let agents = managed.world.hermetic.root().join("agents");
    let unit = fs::read_to_string(managed.unit()).unwrap();
    let path = unit.lines().find(|line| line.starts_with("Environment=PATH=")).unwrap();
    assert!(path.starts_with(&format!("Environment=PATH={}:", agents.display())), "SLV-96: {path}");

    // Another terminal's environment does not affect the service.
    managed.world = managed.world.with("LANG", "ja_JP.UTF-8");
    assert_eq!(managed.status()["current"], true);
    managed.world = managed.world.with("CODEX_HOME", "/somewhere/else");
    assert_eq!(managed.status()["current"], false);
    managed.service("install");
    assert_eq!(managed.status()["current"], true);
    // Claude Code moves to a folder that only the terminal finds.
    let moved = managed.world.hermetic.root().join("moved");
    fs::rename(&agents, &moved).unwrap();
    assert_eq!(managed.status()["current"], true, "there is none to be found");
    let bin = managed.world.hermetic.root().join("bin");
    let path = format!("{}:{}:/usr/bin:/bin", bin.display(), moved.display());
    managed.world = managed.world.with("PATH", &path);
    assert_eq!(managed.status()["current"], false);
}

#[test]
fn a_unit_with_the_oddest_paths_is_one_to_systemd() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        return testkit::skipped("there is no systemd-analyze");
    }
    for name in ["plain", "a b%h%$HOME ${x}&<日本語>;#", "it's \"so\" \\ %i $x 日本"] {
        let mut managed = Managed::new("systemd");
        let folder = managed.world.hermetic.root().join(name);
        fs::create_dir_all(&folder).unwrap();
        // The registration uses the name of a link on the PATH.
        let program = folder.join("turnbridge");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_turnbridge"), program).unwrap();
        let bin = managed.world.hermetic.root().join("bin");
        let path = format!("{}:{}:/usr/bin:/bin", bin.display(), folder.display());
        managed.world =
            managed.world.with("PATH", &path).with("CODEX_HOME", folder.to_str().unwrap());
        managed.service("install");
        let unit = fs::read_to_string(managed.unit()).unwrap();
        let verified = managed
            .world
            .hermetic
            .command("systemd-analyze")
            .args(["--user", "verify"])
            .arg(managed.unit())
            .output()
            .unwrap();
        assert!(verified.status.success() && verified.stderr.is_empty(), "{verified:?}\n{unit}");
    }
}
