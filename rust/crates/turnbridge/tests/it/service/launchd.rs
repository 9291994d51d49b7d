//! Tests the calls of launchd for a launch agent of macOS, and its status.

use std::fs;

use super::{Managed, user_id};

impl Managed {
    fn launchd_orders(&self) -> String {
        self.orders().join("\n").replace(&format!("gui/{}", user_id()), "gui/UID")
    }
}

#[test]
fn slv_89_97_98_99_100_launchd_is_called_like_this() {
    let managed = Managed::new("launchd");
    insta::assert_snapshot!(managed.service("install"), @"
    installed `~/home/Library/LaunchAgents/dev.turnbridge.daemon.plist`
    running (pid 4711)
    ");
    insta::assert_snapshot!(managed.launchd_orders(), @"bootstrap gui/UID ~/home/Library/LaunchAgents/dev.turnbridge.daemon.plist");
    assert_eq!(fs::read(managed.planted("active")).unwrap(), fs::read(managed.plist()).unwrap());
    insta::assert_snapshot!(managed.service("status"), @"
    installed (launchd, `~/home/Library/LaunchAgents/dev.turnbridge.daemon.plist`)
    running (pid 4711)
    ");
    managed.service("restart");
    insta::assert_snapshot!(managed.launchd_orders(), @"kickstart -k gui/UID/dev.turnbridge.daemon");
    // Another definition: launchd still ends the old one.
    fs::write(managed.plist(), "<plist/>").unwrap();
    assert_eq!(managed.status()["current"], false);
    managed.service("install");
    insta::assert_snapshot!(managed.launchd_orders(), @"
    bootout gui/UID/dev.turnbridge.daemon
    bootstrap gui/UID ~/home/Library/LaunchAgents/dev.turnbridge.daemon.plist
    bootstrap gui/UID ~/home/Library/LaunchAgents/dev.turnbridge.daemon.plist
    ");
    assert_eq!(fs::read(managed.planted("active")).unwrap(), fs::read(managed.plist()).unwrap());
    // The daemon's output file is removed with it.
    let output = managed.world.hermetic.home().join("Library/Logs/turnbridge/daemon.out.log");
    fs::write(&output, "panicked").unwrap();
    managed.service("uninstall");
    insta::assert_snapshot!(managed.launchd_orders(), @"bootout gui/UID/dev.turnbridge.daemon");
    assert!(!output.exists() && !managed.plist().exists());
}

#[test]
fn an_agent_that_is_loaded_but_does_not_run_is_told() {
    let managed = Managed::new("launchd");
    managed.service("install");
    for odd in ["", "{}", "\tstate = spawn scheduled\n\tpid = 1\n", "\tstate = waiting\n\tpid = x"]
    {
        managed.plant("odd", odd);
        let status = managed.status();
        assert_eq!((&status["installed"], &status["running"]), (&true.into(), &false.into()));
        assert!(status["pid"].is_null(), "{odd}");
    }
}
