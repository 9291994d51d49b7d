//! Tests what differs on Windows: paths and line ends, files that other processes hold open,
//! consoles.

use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::process::CommandExt;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{skipped, wait_until};
use turnbridge_store::files::file_lock::FileLock;
use windows_sys::Win32::System::Console::{
    AllocConsole, CTRL_BREAK_EVENT, GenerateConsoleCtrlEvent,
};

use crate::support::world::{SESSION, World, payload};

const TIMEOUT: Duration = Duration::from_secs(60);
const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
const FILE_SHARE_READ: u32 = 1;
/// Set under wine, which has consoles in terminals only: scripts/check-platforms presses Ctrl-C in
/// one.
const NO_CONSOLE: &str = "TURNBRIDGE_TEST_NO_CONSOLE";

fn prompt(text: &str) -> Value {
    payload("UserPromptSubmit", json!({ "prompt": text }))
}

#[test]
fn a_payload_with_backslashes_and_crlf_is_read() {
    let world = World::new();
    let text = r#"{
  "session_id": "825c8529-ee09-4cb8-8902-dd785b12ca0a",
  "transcript_path": "C:\\Users\\me\\.claude\\projects\\C--work-shop\\t.jsonl",
  "cwd": "C:\\work\\my shop",
  "hook_event_name": "UserPromptSubmit",
  "prompt": "look at C:\\work\\my shop\\a.txt\r\nand go on"
}
"#;
    world.hook("turnbridge-status", &["--origin", "plugin"], text.replace('\n', "\r\n").as_bytes());
    let session = &world.sessions()[0];
    assert_eq!(session["session_id"], SESSION);
    assert_eq!(
        (&session["state"], &session["cwd"]),
        (&json!("working"), &json!("C:\\work\\my shop"))
    );
    assert_eq!(session["project"], "my shop");
    let shown = world.turnbridge(&["sessions", "show", SESSION, "--json"]);
    assert!(shown.contains(r"look at C:\\work\\my shop\\a.txt\r\nand go on"), "{shown}");
    assert_eq!(world.hooks_log(), Vec::<Value>::new());
}

/// Starts a hook and sends it its event.
fn begin(world: &World, event: &Value) -> Child {
    let mut command = world.command("turnbridge-status");
    command.args(["--origin", "plugin"]).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, event.to_string().as_bytes()).unwrap();
    child
}

#[test]
fn a_hook_waits_for_the_lock_that_another_process_holds() {
    let world = World::new();
    world.status(&prompt("first"));
    let path = world.session_file(SESSION);
    let lock = FileLock::acquire(&path.with_extension("lock"), TIMEOUT).unwrap();
    let before = fs::read(&path).unwrap();
    let mut hook = begin(&world, &payload("Stop", json!({ "last_assistant_message": "done" })));
    thread::sleep(Duration::from_millis(500));
    assert!(hook.try_wait().unwrap().is_none(), "it did not wait");
    assert_eq!(fs::read(&path).unwrap(), before);
    drop(lock);
    assert!(hook.wait().unwrap().success());
    assert_ne!(fs::read(&path).unwrap(), before);
    assert_eq!(world.hooks_log(), Vec::<Value>::new());
}

/// Like virus scanners and indexers, which open a changed file and block writers meanwhile.
#[test]
fn a_file_is_replaced_while_others_read_it_again_and_again() {
    let world = World::new();
    world.status(&prompt("first"));
    let path = world.session_file(SESSION);
    let is_over = AtomicBool::new(false);
    let scan = || {
        let mut scans = 0;
        while !is_over.load(Ordering::Relaxed) {
            let file = OpenOptions::new().read(true).share_mode(FILE_SHARE_READ).open(&path);
            if let Ok(mut file) = file {
                let mut text = String::new();
                file.read_to_string(&mut text).unwrap();
                assert!(serde_json::from_str::<Value>(&text).is_ok(), "torn: {text}");
                thread::sleep(Duration::from_millis(1));
                scans += 1;
            }
            thread::sleep(Duration::from_millis(4));
        }
        scans
    };
    thread::scope(|scope| {
        let scanner = scope.spawn(scan);
        for number in 0..10 {
            let text = format!("prompt {number}");
            world.status(&prompt(&text));
            assert!(world.turnbridge(&["sessions"]).contains(&text), "{:?}", world.hooks_log());
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(scanner.join().unwrap() > 0);
    });
    let left = fs::read_dir(path.parent().unwrap()).unwrap().count();
    assert_eq!(left, 2, "the file and its lock");
}

/// The effect of Ctrl-C and of a closed console.
#[test]
fn the_daemon_ends_in_good_order_when_its_console_says_so() {
    if std::env::var_os(NO_CONSOLE).is_some() {
        return skipped(&format!("{NO_CONSOLE} is set"));
    }
    let world = World::new();
    // Fails if there is a console already.
    // SAFETY: it has no arguments.
    unsafe { AllocConsole() };
    let mut command = world.command("turnbridge");
    command.args(["daemon", "--foreground"]).stdin(Stdio::null());
    let mut daemon = command.creation_flags(CREATE_NEW_PROCESS_GROUP).spawn().unwrap();
    let status = world.hermetic.state_dir().join("daemon.json");
    wait_until(TIMEOUT, "a daemon that runs", || status.exists().then_some(()));
    // SAFETY: two numbers.
    let is_sent = unsafe { GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, daemon.id()) };
    assert_ne!(is_sent, 0, "{}", std::io::Error::last_os_error());
    let ended = wait_until(TIMEOUT, "its end", || daemon.try_wait().unwrap());
    assert!(ended.success(), "{ended:?}");
    assert!(!status.exists());
    let log = world.hermetic.state_dir().join("logs/daemon.log");
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("the daemon has stopped"), "{log}");
}
