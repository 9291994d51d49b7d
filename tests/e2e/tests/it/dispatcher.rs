//! Tests the script `packaging/dispatch`, which is installed under the name of every executable and
//! starts the one for this machine. It runs `uname` only if no file or variable identifies the
//! machine. Without an executable, hooks print nothing except for one message when a session
//! starts.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use testkit::{Hermetic, skipped, write_program};

use crate::support::agent_home::{repository, stdout_of};
use crate::support::packages::{AWKWARD, NAMES};

/// The files by which it recognises a Linux.
const ARCH_FILE: &str = "/proc/sys/kernel/arch";
const INTEL_LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
const ARM_LOADER: &str = "/lib/ld-linux-aarch64.so.1";

const TARGETS: [&str; 4] = [
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
];

/// Prints its identity, its arguments and its input.
const STAND_IN: &str = "#!/bin/sh\nprintf '%s|' TARGET $$ \"${0##*/}\" \"$@\"\ncat\nexit 7\n";

struct Tree {
    hermetic: Hermetic,
    bin: PathBuf,
}

/// The facts of a machine that a dispatcher can read.
#[derive(Default)]
struct DispatcherMachine<'a> {
    /// The existing files and their content.
    files: &'a [(&'a str, &'a str)],
    ostype: &'a str,
    hosttype: &'a str,
    uname: &'a str,
}

impl Tree {
    fn new(targets: &[&str]) -> Tree {
        let hermetic = Hermetic::new();
        let bin = hermetic.root().join(AWKWARD).join("bin");
        for target in targets {
            fs::create_dir_all(bin.join(target)).unwrap();
            for name in NAMES {
                write_program(&bin.join(target).join(name), &STAND_IN.replace("TARGET", target));
            }
        }
        fs::create_dir_all(&bin).unwrap();
        let tree = Tree { hermetic, bin };
        for name in NAMES {
            write_program(&tree.bin.join(name), &dispatcher());
        }
        tree
    }

    fn command(&self, name: &str) -> Command {
        self.hermetic.command(self.bin.join(name))
    }

    /// Returns the executable that it starts on such a machine, and whether it had to run `uname`.
    fn goes_to(&self, machine: &DispatcherMachine<'_>) -> (String, bool) {
        let root = self.hermetic.root();
        let was_asked = root.join("was-asked");
        let _ = fs::remove_file(&was_asked);
        let mut here = dispatcher();
        for file in [ARCH_FILE, INTEL_LOADER, ARM_LOADER] {
            let stand_in = root.join(file.replace('/', "-"));
            here = here.replace(file, stand_in.to_str().unwrap());
            let _ = fs::remove_file(&stand_in);
            if let Some((_, text)) = machine.files.iter().find(|(name, _)| *name == file) {
                fs::write(stand_in, text).unwrap();
            }
        }
        write_program(&self.bin.join("turnbridge"), &here);
        let programs = root.join("programs");
        fs::create_dir_all(&programs).unwrap();
        let uname = format!("#!/bin/sh\n: >'{}'\necho '{}'\n", was_asked.display(), machine.uname);
        write_program(&programs.join("uname"), &uname);
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let mut command = self.command("turnbridge");
        command.env("PATH", path).stdin(Stdio::null());
        command.env("OSTYPE", machine.ostype).env("HOSTTYPE", machine.hosttype);
        let output = command.output().unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        let target = told.split('|').next().unwrap_or_default().to_owned();
        assert_eq!(output.status.code(), Some(if target.is_empty() { 1 } else { 7 }));
        (target, was_asked.exists())
    }
}

fn dispatcher() -> String {
    fs::read_to_string(repository().join("packaging/dispatch")).unwrap()
}

fn feed(mut command: Command, input: &str) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program may ignore its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

#[test]
fn the_dispatcher_is_at_most_fifteen_lines_that_every_shell_can_read() {
    let path = repository().join("packaging/dispatch");
    assert!(dispatcher().lines().count() <= 15);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o111, 0o111);
    for (program, arguments) in [
        ("sh", vec!["-n"]),
        ("dash", vec!["-n"]),
        ("bash", vec!["--posix", "-n"]),
        ("shellcheck", vec![]),
    ] {
        match Command::new(program).args(arguments).arg(&path).output() {
            Ok(output) => assert!(output.status.success(), "{program}: {output:?}"),
            Err(_) => {
                skipped(&format!("the dispatcher in the eyes of `{program}`: it is not installed"))
            }
        }
    }
}

#[test]
fn the_executable_gets_arguments_and_input_and_its_exit_code_is_told() {
    let tree = Tree::new(&TARGETS);
    for name in NAMES {
        let mut command = tree.command(name);
        command.args(["--origin", "a  b", "$HOME", "it's"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let pid = child.id();
        child.stdin.take().unwrap().write_all(b"{\"a\":\"$x\\n\"}\n").unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(7));
        let told = String::from_utf8(output.stdout).unwrap();
        let (target, told) = told.split_once('|').unwrap();
        assert!(TARGETS.contains(&target), "{target}");
        // It is the same process, whose parent is the agent.
        assert_eq!(told, format!("{pid}|{name}|--origin|a  b|$HOME|it's|{{\"a\":\"$x\\n\"}}\n"));
    }
}

#[test]
fn the_target_is_found_by_whatever_the_machine_tells_and_uname_is_the_last_to_be_asked() {
    let tree = Tree::new(&TARGETS);
    let [linux, linux_arm, mac, mac_arm] = TARGETS.map(str::to_owned);
    let from_files =
        |files| DispatcherMachine { files, uname: "lies", ..DispatcherMachine::default() };
    assert_eq!(tree.goes_to(&from_files(&[(ARCH_FILE, "x86_64\n")])), (linux.clone(), false));
    let arm: &[_] = &[(ARCH_FILE, "aarch64\n"), (INTEL_LOADER, "")];
    assert_eq!(tree.goes_to(&from_files(arm)), (linux_arm.clone(), false));
    // tcsh exports these; the kernel's data takes precedence.
    let with_tcsh =
        DispatcherMachine { ostype: "linux", hosttype: "x86_64-linux", ..from_files(arm) };
    assert_eq!(tree.goes_to(&with_tcsh), (linux_arm.clone(), false));
    assert_eq!(tree.goes_to(&from_files(&[(INTEL_LOADER, "")])), (linux.clone(), false));
    // Both exist where programs of the other kind are emulated; the files do not show which is
    // native.
    let both: &[_] = &[(INTEL_LOADER, ""), (ARM_LOADER, "")];
    let ambiguous = DispatcherMachine { uname: "Linux aarch64", ..from_files(both) };
    assert_eq!(tree.goes_to(&ambiguous), (linux_arm.clone(), true));

    let from_shell = |ostype, hosttype| DispatcherMachine {
        ostype,
        hosttype,
        uname: "lies",
        ..DispatcherMachine::default()
    };
    assert_eq!(tree.goes_to(&from_shell("darwin24", "arm64")), (mac_arm.clone(), false));
    assert_eq!(tree.goes_to(&from_shell("darwin24", "x86_64")), (mac.clone(), false));
    assert_eq!(tree.goes_to(&from_shell("linux-gnu", "aarch64")), (linux_arm.clone(), false));

    let from_uname = |uname| DispatcherMachine { uname, ..DispatcherMachine::default() };
    assert_eq!(tree.goes_to(&from_uname("Linux x86_64")), (linux, true));
    assert_eq!(tree.goes_to(&from_uname("Linux aarch64")), (linux_arm, true));
    assert_eq!(tree.goes_to(&from_uname("Darwin x86_64")), (mac, true));
    let with_tcsh =
        DispatcherMachine { ostype: "darwin", hosttype: "unknown", ..from_uname("Darwin arm64") };
    assert_eq!(tree.goes_to(&with_tcsh), (mac_arm, true));
    for nobody in
        ["FreeBSD amd64", "FreeBSD arm64", "Linux riscv64", "Linux armv7l", "SunOS i86pc", ""]
    {
        assert_eq!(tree.goes_to(&from_uname(nobody)).0, "", "{nobody}");
    }
}

#[test]
fn without_an_executable_hooks_are_silent_but_at_the_start_of_a_session() {
    let tree = Tree::new(&[]);
    let start =
        r#"{"session_id":"x","cwd":"/a","hook_event_name":"SessionStart","source":"startup"}"#;
    let other =
        r#"{"hook_event_name":"UserPromptSubmit","prompt":"\"hook_event_name\":\"SessionStart\""}"#;
    let long =
        format!(r#"{{"hook_event_name":"PostToolUse","tool_response":"{}"}}"#, "x".repeat(1 << 20));
    for (name, input) in [
        ("turnbridge-status", other),
        ("turnbridge-status", &long),
        ("turnbridge-stop-gate", start),
        ("turnbridge-notify", start),
    ] {
        let output = feed(tree.command(name), input);
        assert_eq!(stdout_of(&output), "", "{name}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{name}");
    }
    let output = feed(tree.command("turnbridge-status"), start);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let message: serde_json::Value = serde_json::from_str(&stdout_of(&output)).unwrap();
    let keys: Vec<_> = message.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["systemMessage"]);
    let text = message["systemMessage"].as_str().unwrap();
    assert!(text.ends_with("See https://github.com/turnbridge/turnbridge#install"), "{text}");
}

/// An MCP client never closes its server's input.
#[test]
fn without_an_executable_the_command_line_says_so_and_reads_nothing() {
    let tree = Tree::new(&[]);
    let mut command = tree.command("turnbridge");
    command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let stays_open = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(stays_open);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.starts_with("error: Turnbridge has no executable for "), "{errors}");
}
