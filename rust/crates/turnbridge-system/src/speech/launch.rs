//! Starts the process that plays (`player`), and reads from it whether the speech has begun.
//!
//! The player is this same program. It gets the text over stdin and writes one line to stdout. It
//! inherits none of this process's streams, because the caller (Claude) waits until those are
//! closed.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;

use turnbridge_core::text::visible_text::visible_line;

use super::engine_process::in_its_own_group;
use super::{Engine, Manner, speech_timeouts};

/// The report of the player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlayerReport {
    /// The speech began, with this engine if the player has named it.
    Began(Option<Engine>),
    NoSound(String),
    Failed(String),
}

impl PlayerReport {
    pub fn to_line(&self) -> String {
        match self {
            PlayerReport::Began(engine) => format!("began: {}\n", engine.map_or("", Engine::name)),
            PlayerReport::NoSound(cause) => format!("no sound: {}\n", visible_line(cause)),
            PlayerReport::Failed(cause) => format!("failed: {}\n", visible_line(cause)),
        }
    }

    fn parse(line: &str) -> PlayerReport {
        match line.trim_end_matches('\n').split_once(": ") {
            Some(("began", engine)) => PlayerReport::Began(Engine::by_name(engine)),
            Some(("no sound", cause)) => PlayerReport::NoSound(cause.to_owned()),
            Some(("failed", cause)) => PlayerReport::Failed(cause.to_owned()),
            _ => PlayerReport::Failed("the player ended without a word".to_owned()),
        }
    }
}

/// Writes the player's report to the caller, and closes stdout, because nothing follows.
pub fn tell_the_caller(report: PlayerReport) {
    let mut stdout = io::stdout().lock();
    // A caller that has ended needs no report.
    let _ = stdout.write_all(report.to_line().as_bytes()).and_then(|()| stdout.flush());
    #[cfg(unix)]
    if let Ok(nothing) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(nothing);
    }
}

/// Starts the player. Returns as soon as the player reports the result; without a report before the
/// timeout the speech counts as begun.
pub fn start_player(markdown: &str, manner: &Manner) -> PlayerReport {
    let mut player = match spawn_player(manner) {
        Ok(player) => player,
        Err(error) => return PlayerReport::Failed(format!("could not start the player: {error}")),
    };
    if let Some(mut stdin) = player.stdin.take() {
        // A player that has ended already has reported why, or reports nothing; the code below
        // handles both.
        let _ = stdin.write_all(markdown.as_bytes());
    }
    let (sender, report) = channel();
    std::thread::spawn(move || {
        let _ = sender.send(first_line(&mut player));
        // A server that speaks again and again must not leave zombies.
        let _ = player.wait();
    });
    match report.recv_timeout(speech_timeouts::player_timeout()) {
        Ok(line) => PlayerReport::parse(&line),
        Err(_) => PlayerReport::Began(None),
    }
}

fn spawn_player(manner: &Manner) -> io::Result<Child> {
    let mut command = Command::new(this_program()?);
    command.args(["speak", "--play-now"]);
    for (option, voice) in [("voice-ja", &manner.japanese), ("voice-en", &manner.english)] {
        command.args(voice.iter().map(|voice| format!("--{option}={voice}")));
    }
    command.args(manner.words_per_minute.iter().map(|rate| format!("--rate={rate}")));
    command.arg("-").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    in_its_own_group(&mut command);
    keep_our_streams_to_ourselves();
    command.spawn()
}

/// Returns the path of this program. A newer version may have replaced the file of a running
/// server; Linux then still finds the old one under this name.
fn this_program() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    match cfg!(target_os = "linux") && !path.exists() {
        true => Ok(PathBuf::from("/proc/self/exe")),
        false => Ok(path),
    }
}

fn first_line(player: &mut Child) -> String {
    let Some(stdout) = player.stdout.take() else { return String::new() };
    let mut line = String::new();
    // A line that is not UTF-8 is not the player's.
    let _ = BufReader::new(stdout.take(4096)).read_line(&mut line);
    line
}

/// Stops children from inheriting this process's streams. Windows passes every inheritable handle
/// to a child, whatever the child's streams are. These streams were inherited, so they are
/// inheritable.
#[cfg(windows)]
fn keep_our_streams_to_ourselves() {
    use std::os::windows::io::AsRawHandle;
    use windows_sys::Win32::Foundation::{HANDLE_FLAG_INHERIT, SetHandleInformation};
    let streams =
        [io::stdin().as_raw_handle(), io::stdout().as_raw_handle(), io::stderr().as_raw_handle()];
    for stream in streams {
        // SAFETY: plain call; it fails for a missing stream.
        unsafe { SetHandleInformation(stream, HANDLE_FLAG_INHERIT, 0) };
    }
}

#[cfg(not(windows))]
fn keep_our_streams_to_ourselves() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_player_says_is_understood() {
        let reports = [
            PlayerReport::Began(Engine::of_this_system().first().copied()),
            PlayerReport::NoSound("error: no card".to_owned()),
            PlayerReport::Failed("x: y".to_owned()),
        ];
        for report in reports {
            assert_eq!(PlayerReport::parse(&report.to_line()), report);
        }
        assert_eq!(PlayerReport::Failed("a\nb".to_owned()).to_line(), "failed: a b\n");
        for line in ["", "\n", "bega", "panicked at"] {
            assert!(matches!(PlayerReport::parse(line), PlayerReport::Failed(_)), "{line}");
        }
    }
}
