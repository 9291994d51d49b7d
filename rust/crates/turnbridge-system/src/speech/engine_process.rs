//! Runs an engine. Threads write its stdin and read its errors, so that neither a long text nor a
//! verbose program blocks the caller. On Unix it is ended together with the processes that it has
//! started.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::Speaker;
use super::engine::{Engine, EngineCall};

/// The limit of stored errors; more of them would help no user.
const LONGEST_COMPLAINT: usize = 16 << 10;

pub struct EngineProcess {
    child: Child,
    complaints: Receiver<Vec<u8>>,
    /// The received errors.
    heard: Vec<u8>,
}

impl EngineProcess {
    pub fn start(speaker: &Speaker, call: EngineCall) -> io::Result<EngineProcess> {
        let mut command = Command::new(&speaker.path);
        command.args(call.arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        in_its_own_group(&mut command);
        let mut child = command.spawn()?;
        if let Some(stdin) = child.stdin.take() {
            feed(stdin, call.stdin);
        }
        let (sender, complaints) = channel();
        if let Some(stderr) = child.stderr.take() {
            std::thread::spawn(move || listen(stderr, &|bytes| sender.send(bytes).is_ok()));
        }
        Ok(EngineProcess { child, complaints, heard: Vec::new() })
    }

    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Ends it immediately, with the processes that it has started.
    pub fn kill(&mut self) {
        // A reaped process has no id any more; another process may have it by now.
        if matches!(self.child.try_wait(), Ok(None)) {
            kill_group(&mut self.child);
        }
        let _ = self.child.wait();
    }

    /// Returns whether the engine has written errors so far.
    pub fn has_complained(&mut self) -> bool {
        self.heard.extend(self.complaints.try_iter().flatten());
        !self.heard.is_empty()
    }

    /// Returns all of its errors. Call it only after its end: then there is nothing to wait for,
    /// unless another process has inherited the pipe.
    pub fn complaints(&mut self) -> String {
        while let Ok(bytes) = self.complaints.recv_timeout(Duration::from_millis(200)) {
            self.heard.extend(bytes);
        }
        String::from_utf8_lossy(&self.heard).into_owned()
    }
}

/// The meaning of an engine's end.
#[derive(Debug, PartialEq, Eq)]
pub enum EngineEnd {
    Well,
    NoSound(String),
    Failed(String),
}

impl EngineEnd {
    pub fn of(engine: Engine, status: ExitStatus, complaints: &str) -> EngineEnd {
        let cause = cause(complaints);
        if says_that_there_is_no_sound(engine, status.success(), complaints) {
            return EngineEnd::NoSound(cause);
        }
        match status.success() {
            true => EngineEnd::Well,
            false => EngineEnd::Failed(format!("`{}` failed ({status}): {cause}", engine.name())),
        }
    }
}

/// Returns whether the errors mean that there is no sound. Without a sound card `espeak-ng` prints
/// errors, plays nothing, and reports a success; `say` in a sandbox cannot start its audio queue.
fn says_that_there_is_no_sound(engine: Engine, succeeded: bool, complaints: &str) -> bool {
    match engine {
        Engine::EspeakNg => {
            succeeded && complaints.lines().any(|line| line.trim_start().starts_with("error:"))
        }
        Engine::Say => complaints.contains("AudioQueueStart"),
        Engine::SpdSay | Engine::PowerShell => false,
    }
}

/// Returns the line that begins with `error:`, among the noise of libraries; else the first.
fn cause(complaints: &str) -> String {
    let mut lines = complaints.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_error = |line: &&str| line.get(..6).is_some_and(|s| s.eq_ignore_ascii_case("error:"));
    let line = lines.clone().find(is_error).or_else(|| lines.next()).unwrap_or("no word why");
    line.chars().filter(|c| !c.is_control()).take(300).collect()
}

fn feed(mut stdin: ChildStdin, text: String) {
    // An engine may end without reading; its exit status counts.
    std::thread::spawn(move || stdin.write_all(text.as_bytes()));
}

/// Reads to the end, because the engine would block on a full pipe; passes on the beginning.
fn listen(mut stderr: ChildStderr, pass_on: &dyn Fn(Vec<u8>) -> bool) {
    let mut buffer = [0; 4096];
    let mut room = LONGEST_COMPLAINT;
    while let Ok(length @ 1..) = stderr.read(&mut buffer) {
        let wanted = length.min(room);
        if wanted > 0 && !pass_on(buffer[..wanted].to_vec()) {
            room = 0;
        }
        room = room.saturating_sub(wanted);
    }
}

/// Puts the program into a separate process group. Signals for this group (Ctrl-C, a closing
/// terminal) do not reach it, and it can be ended as a whole.
pub fn in_its_own_group(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    without_window(command);
}

#[cfg_attr(not(windows), allow(unused_variables, reason = "only Windows opens windows"))]
pub fn without_window(command: &mut Command) {
    #[cfg(windows)]
    {
        // CREATE_NO_WINDOW and CREATE_NEW_PROCESS_GROUP.
        std::os::windows::process::CommandExt::creation_flags(command, 0x0800_0200);
    }
}

#[cfg(unix)]
fn kill_group(child: &mut Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if group.is_none_or(|group| kill_process_group(group, Signal::KILL).is_err()) {
        let _ = child.kill();
    }
}

/// Ends the engine. The engines of Windows speak in their process, so there is no group to end.
#[cfg(not(unix))]
fn kill_group(child: &mut Child) {
    let _ = child.kill();
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn a_success_with_an_error_is_none() {
        let noise = "ALSA lib pcm.c:2666:(snd_pcm_open_noupdate) Unknown PCM default\n";
        let complaints = format!("{noise}error: No such file or directory\n{noise}");
        let (well, badly) = (ExitStatus::from_raw(0), ExitStatus::from_raw(1 << 8));
        let no_sound = EngineEnd::NoSound("error: No such file or directory".to_owned());
        assert_eq!(EngineEnd::of(Engine::EspeakNg, well, &complaints), no_sound);
        assert_eq!(EngineEnd::of(Engine::EspeakNg, well, noise), EngineEnd::Well);
        assert_eq!(EngineEnd::of(Engine::PowerShell, well, &complaints), EngineEnd::Well);
        let sandboxed = "AudioQueueStart failed (-66680)\n";
        assert!(matches!(EngineEnd::of(Engine::Say, badly, sandboxed), EngineEnd::NoSound(_)));
        let unknown = format!("{noise}Error: The specified espeak-ng voice does not exist.\n");
        let failed = "`espeak-ng` failed (exit status: 1): \
                      Error: The specified espeak-ng voice does not exist.";
        assert_eq!(
            EngineEnd::of(Engine::EspeakNg, badly, &unknown),
            EngineEnd::Failed(failed.to_owned())
        );
        assert_eq!(cause(""), "no word why");
        assert_eq!(cause("あいう\x1b[1mえ"), "あいう[1mえ");
    }
}
