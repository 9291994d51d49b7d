//! Tests that a failed installation of the service leaves everything unchanged, and that a failed
//! removal keeps the service.

use std::fs;
use std::path::PathBuf;

use super::{ALL, ByHand, CONFIG, Managed};

/// Returns the last order of an installation.
fn last_order(manager: &str) -> &'static str {
    match manager {
        "systemd" => "enable",
        "launchd" => "bootstrap",
        _ => "Run",
    }
}

impl Managed {
    fn definition(&self, manager: &str) -> PathBuf {
        match manager {
            "systemd" => self.unit(),
            "launchd" => self.plist(),
            _ => self.task(),
        }
    }
}

#[test]
fn a_manager_that_refuses_leaves_no_file_and_no_setting() {
    for manager in ALL {
        let managed = Managed::new(manager);
        let before = managed.home();
        managed.plant(&format!("{}.fails", last_order(manager)), "");
        let said = managed.refused("install");
        assert!(said.contains("that did not work\nhint: "), "{said}");
        assert!(said.contains("`turnbridge daemon` starts it by hand"), "{said}");
        assert_eq!((managed.home(), managed.config()), (before, CONFIG.to_owned()), "{manager}");
        assert!(!managed.planted("active").exists() && !managed.planted("task").exists());
        // The next installation succeeds.
        managed.service("install");
        assert_eq!(managed.status()["running"], true, "{manager}");
    }
}

#[test]
fn the_service_that_was_there_is_put_back() {
    for manager in ALL {
        let managed = Managed::new(manager);
        managed.service("install");
        let definition = managed.definition(manager);
        let old = b"an old definition".as_slice();
        fs::write(&definition, old).unwrap();
        managed.plant(&format!("{}.fails", last_order(manager)), "");
        managed.refused("install");
        assert_eq!(fs::read(&definition).unwrap(), old, "{manager}");
        let status = managed.status();
        for (key, value) in [("installed", true), ("running", true), ("current", false)] {
            assert_eq!(status[key], value, "{manager}: {key}");
        }
    }
}

#[test]
fn a_config_that_cannot_be_written_undoes_the_service() {
    for manager in ALL {
        let managed = Managed::new(manager);
        let before = managed.home();
        let lock = managed.world.hermetic.config_dir().join("config.toml.lock");
        fs::create_dir(&lock).unwrap();
        let said = managed.refused("install");
        assert!(said.starts_with("error: could not lock `CONFIG/config.toml.lock`"), "{said}");
        fs::remove_dir(lock).unwrap();
        assert_eq!((managed.home(), managed.config()), (before, CONFIG.to_owned()), "{manager}");
        assert_eq!(managed.status()["installed"], false, "{manager}");
    }
}

#[test]
fn a_daemon_that_had_to_make_way_comes_back() {
    let managed = Managed::new("systemd");
    let _daemon = ByHand::start(&managed);
    managed.plant("enable.fails", "");
    managed.refused("install");
    assert!(managed.is_daemon_running());
}

#[test]
fn a_manager_that_does_not_answer_is_not_waited_for() {
    let mut managed = Managed::new("systemd");
    let before = managed.home();
    managed.world = managed.world.with("TURNBRIDGE_SERVICE_TIMEOUT_MS", "100");
    managed.plant("show.hangs", "");
    insta::assert_snapshot!(managed.refused("install"), @"
    error: `systemctl --user show turnbridge.service --property=LoadState,UnitFileState,ActiveState,MainPID` did not answer within 100ms
    hint: `turnbridge daemon` starts it by hand, until you log out
    ");
    insta::assert_snapshot!(managed.refused("status"), @"
    error: `systemctl --user show turnbridge.service --property=LoadState,UnitFileState,ActiveState,MainPID` did not answer within 100ms
    hint: `turnbridge daemon status` says whether a daemon runs
    ");
    fs::remove_file(managed.planted("show.hangs")).unwrap();
    // The timeout is long enough for the responsive ones on a busy machine.
    managed.world = managed.world.with("TURNBRIDGE_SERVICE_TIMEOUT_MS", "5000");
    managed.plant("enable.hangs", "");
    let said = managed.refused("install");
    assert!(said.starts_with("error: `systemctl --user enable --now turnbridge.service` did not"));
    assert_eq!((managed.home(), managed.config()), (before, CONFIG.to_owned()));
}

#[test]
fn a_service_that_cannot_be_stopped_is_not_forgotten() {
    let managed = Managed::new("systemd");
    managed.service("install");
    let home = managed.home();
    managed.plant("disable.fails", "");
    insta::assert_snapshot!(managed.refused("uninstall"), @"
    error: `systemctl --user disable --now turnbridge.service` failed (exit code 4): disable: that did not work
    hint: nothing was removed; run this again when the reason is gone
    ");
    assert_eq!(managed.home(), home);
    assert_eq!(managed.config(), format!("{CONFIG}service_enabled = true\n"));
    // A service that is already gone counts as removed, whatever the manager reports.
    for name in ["enabled", "active"] {
        fs::remove_file(managed.planted(name)).unwrap();
    }
    managed.plant("disable.fails", "");
    assert_eq!(managed.service("uninstall"), "the service is gone\n");
    assert!(!managed.unit().exists());
}
