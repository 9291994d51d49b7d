//! Finds the programs of the agents and of Turnbridge on this machine, runs a program and returns
//! its output, and reads versions.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use turnbridge_config::Config;
use turnbridge_core::agents::hook_table::HookProgram;
use turnbridge_core::ids::Agent;

use crate::failure::hinted;

/// The first Claude Code that supports `args` in the definition of a hook.
pub const FIRST_WITH_ARGS: [u32; 3] = [2, 1, 139];

/// Turnbridge's programs that agents call; `turnbridge` is in the same folder.
pub const CALLED_BY_AGENTS: [&str; 3] =
    [HookProgram::Status.as_str(), HookProgram::StopGate.as_str(), HookProgram::Notify.as_str()];

/// The interval at which a running program is polled for its end.
const TICK: Duration = Duration::from_millis(5);

/// Returns the program that the user has named, else the first one on the PATH.
pub fn find(name: &str, chosen: Option<&Path>) -> Option<PathBuf> {
    match chosen {
        Some(path) => Some(path.to_owned()).filter(|path| is_program(path)),
        None => find_in(name, &std::env::var_os("PATH")?),
    }
}

/// Returns an agent's program from `config.toml`, else from the PATH.
pub fn agent(agent: Agent, config: &Config) -> Option<PathBuf> {
    find(agent.as_str(), config.resume.program(agent))
}

/// Returns the first program of this name in the folders of such a list.
pub fn find_in(name: &str, path: &OsStr) -> Option<PathBuf> {
    let endings: &[&str] = if cfg!(windows) { &[".exe", ".cmd"] } else { &[""] };
    // A relative folder would mean another program in every session's folder.
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let mut candidates = folders.flat_map(|folder| {
        endings.iter().map(move |ending| folder.join(format!("{name}{ending}")))
    });
    candidates.find(|candidate| is_program(candidate))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// Returns one of Turnbridge's programs, which are in one folder, by the path that stays when a new
/// version comes. That is the one on the PATH, if it leads to the file beside this one (package
/// managers put a link there), else the file itself.
pub fn own(name: &str) -> Result<PathBuf> {
    let running = std::env::current_exe().context("could not find this program's own path")?;
    let beside = running.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if !is_program(&beside) {
        let hint = "run `scripts/build`, or unpack a release over this folder";
        return Err(hinted(format!("`{}` is missing", beside.display()), hint));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    Ok(lasting_name(&beside, &path).unwrap_or(beside))
}

fn lasting_name(program: &Path, path: &OsStr) -> Option<PathBuf> {
    let real = program.canonicalize().ok()?;
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let mut candidates = folders.map(|folder| folder.join(program.file_name().unwrap_or_default()));
    candidates.find(|candidate| {
        is_program(candidate) && candidate.canonicalize().is_ok_and(|found| found == real)
    })
}

/// Returns the path of `own` as text, because registrations elsewhere are text.
pub fn own_text(name: &str) -> Result<String> {
    let path = own(name)?;
    path.to_str().map(str::to_owned).ok_or_else(|| {
        let hint = "install Turnbridge in a folder whose path is UTF-8";
        hinted(format!("`{}` is not UTF-8", path.display()), hint)
    })
}

/// The exit status and the output of a program.
#[derive(Debug)]
pub struct ProgramAnswer {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl ProgramAnswer {
    /// Returns its standard output, without blanks around.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim().to_owned()
    }
}

/// The limit of each output, longer than any program's answer.
const LONGEST_ANSWER: u64 = 4 << 20;

/// Runs a program that prints an answer and ends, without stdin. Ends it after a timeout, and
/// returns an error then (`TimedOut`).
pub fn ask(command: &mut Command, timeout: Duration) -> io::Result<ProgramAnswer> {
    ask_with(command, None, timeout)
}

/// Does the same as `ask` for a program that reads `input` first.
pub fn ask_with(
    command: &mut Command,
    input: Option<&str>,
    timeout: Duration,
) -> io::Result<ProgramAnswer> {
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(windows)]
    {
        // CREATE_NO_WINDOW: the daemon has no console, and each program would open one.
        std::os::windows::process::CommandExt::creation_flags(command, 0x0800_0000);
    }
    let mut child = command.spawn()?;
    if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input.map(str::to_owned)) {
        // A program may end without reading; its exit status counts.
        std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    }
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (sender, written) = channel();
    std::thread::spawn(move || {
        let errors = std::thread::spawn(move || beginning(stderr));
        let stdout = beginning(stdout);
        // After a timeout the receiver is gone.
        let _ = sender.send((stdout, errors.join().unwrap_or_default()));
    });
    let deadline = Instant::now() + timeout;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= deadline {
            let _ = child.kill();
            let _ = child.wait();
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(TICK);
    };
    // A process that it has started may hold its streams for longer than it lives itself.
    let rest = deadline.saturating_duration_since(Instant::now()).max(TICK);
    let (stdout, stderr) = written.recv_timeout(rest).map_err(|_| io::ErrorKind::TimedOut)?;
    Ok(ProgramAnswer { status, stdout, stderr })
}

/// Reads the stored part of the output. The rest is read and dropped, because a full pipe would
/// block the program.
fn beginning(stream: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        // The bytes before an error are its output.
        let _ = stream.by_ref().take(LONGEST_ANSWER).read_to_end(&mut bytes);
        let _ = io::copy(&mut stream, &mut io::sink());
    }
    bytes
}

/// Returns the version that a program prints within five seconds.
pub fn version_of(program: &Path) -> Option<[u32; 3]> {
    let answer = ask(Command::new(program).arg("--version"), Duration::from_secs(5)).ok()?;
    answer.status.success().then(|| version_in(&answer.text())).flatten()
}

/// Returns the version that one of Turnbridge's programs prints, or `None` if it does not run.
pub fn version_of_ours(program: &Path) -> Option<String> {
    let answer = ask(Command::new(program).arg("--version"), Duration::from_secs(5)).ok()?;
    let version = answer.text().split_whitespace().next_back()?.to_owned();
    let is_version = version.starts_with(|first: char| first.is_ascii_digit());
    (answer.status.success() && is_version).then_some(version)
}

/// Finds the version in `2.1.197 (Claude Code)`, `codex-cli 0.166.0`: the first word that is three
/// numbers.
pub fn version_in(text: &str) -> Option<[u32; 3]> {
    text.split_whitespace().find_map(|word| {
        let mut numbers = word.splitn(3, '.').map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some([next()?, next()?, next()?])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(version_in("2.1.197 (Claude Code)\n"), Some([2, 1, 197]));
        assert_eq!(version_in("codex-cli 0.166.0"), Some([0, 166, 0]));
        assert!(version_in("2.1.9") < version_in("2.1.139"));
        for text in ["", "claude", "2.1", "2.1.x"] {
            assert_eq!(version_in(text), None, "{text}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_does_not_answer_is_ended() {
        let shell = |script: &str| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]);
            command
        };
        let late = ask(&mut shell("exec sleep 600"), Duration::from_millis(50));
        assert_eq!(late.unwrap_err().kind(), io::ErrorKind::TimedOut);
        // Its child keeps the streams open.
        let left = ask(&mut shell("sleep 3 & echo x"), Duration::from_millis(50));
        assert_eq!(left.unwrap_err().kind(), io::ErrorKind::TimedOut);
        let answer = ask(&mut shell("echo ' x '; echo y >&2; exit 3"), Duration::from_secs(60));
        let answer = answer.unwrap();
        assert_eq!((answer.text().as_str(), answer.status.code()), ("x", Some(3)));
        assert_eq!(answer.stderr, b"y\n");
    }

    #[cfg(unix)]
    #[test]
    fn the_link_of_a_package_manager_is_the_name_that_lasts() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let root = std::env::temp_dir().join(format!("turnbridge-names-{}", std::process::id()));
        let [versioned, linked, other] = ["1.0", "bin", "other"].map(|name| root.join(name));
        for folder in [&versioned, &linked, &other] {
            std::fs::create_dir_all(folder).unwrap();
        }
        for file in [versioned.join("x"), other.join("x")] {
            std::fs::write(&file, "").unwrap();
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        symlink("../1.0/x", linked.join("x")).unwrap();
        let path = std::env::join_paths([&other, &linked]).unwrap();
        assert_eq!(lasting_name(&versioned.join("x"), &path), Some(linked.join("x")));
        let path = std::env::join_paths([&other]).unwrap();
        assert_eq!(lasting_name(&versioned.join("x"), &path), None);
        std::fs::remove_dir_all(root).unwrap();
    }
}
