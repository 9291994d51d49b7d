//! Tests the calls of the Windows Task Scheduler for Turnbridge's task, and the task's definition.

use std::fs;

use super::Managed;

#[test]
fn the_task_scheduler_is_called_like_this() {
    let managed = Managed::new("task-scheduler");
    managed.service("install");
    let calls = managed.programs[0].calls();
    assert!(calls.iter().all(|call| call[1..3] == ["/TN", r"\Turnbridge\Daemon"]), "{calls:?}");
    let without_state = |text: String| text.replace("~/home/.local/state/turnbridge", "STATE");
    let orders = || without_state(managed.orders().join("\n"));
    insta::assert_snapshot!(orders(), @"
    /Create /TN /Turnbridge/Daemon /XML STATE/daemon.task.xml /F
    /Run /TN /Turnbridge/Daemon
    ");
    let task = fs::read(managed.planted("task")).unwrap();
    assert_eq!(task, fs::read(managed.task()).unwrap());
    assert!(task.starts_with(&[0xff, 0xfe, b'<', 0]), "UTF-16 with a mark");
    managed.service("restart");
    insta::assert_snapshot!(orders(), @"
    /End /TN /Turnbridge/Daemon
    /Run /TN /Turnbridge/Daemon
    ");
    fs::write(managed.task(), "<Task/>").unwrap();
    assert_eq!(managed.status()["current"], false);
    managed.service("install");
    insta::assert_snapshot!(orders(), @"
    /End /TN /Turnbridge/Daemon
    /Create /TN /Turnbridge/Daemon /XML STATE/daemon.task.xml /F
    /Run /TN /Turnbridge/Daemon
    ");
    managed.service("uninstall");
    insta::assert_snapshot!(orders(), @"
    /End /TN /Turnbridge/Daemon
    /Delete /TN /Turnbridge/Daemon /F
    ");
    assert!(!managed.planted("task").exists() && !managed.task().exists());
}

#[test]
fn a_task_runs_for_the_user_who_installed_it() {
    let managed = Managed::new("task-scheduler");
    managed.service("install");
    let bytes = fs::read(managed.task()).unwrap();
    let units: Vec<u16> =
        bytes.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    let text = String::from_utf16(&units).unwrap();
    assert_eq!(text.matches(r"<UserId>DESK&amp;TOP\user</UserId>").count(), 2, "{text}");
    let program = env!("CARGO_BIN_EXE_turnbridge");
    assert!(text.contains(&format!("--headless {program} daemon --foreground")), "SLV-91: {text}");
}
