//! `turnbridge demo`: a daemon with its board, and agents that play, in a home of their own.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use turnbridge_store::files::atomic_file::write_atomically;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::inbox;
use turnbridge_system::{daemon_control, programs};

use super::board::sign_in::{Look, SignIn};
use crate::demo::home::DemoHome;
use crate::demo::scenes::SCENES;
use crate::failure::{hinted, tell};
use crate::output;

/// For a daemon to be up, and for what was started to end.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(50);

/// See what it is like, with agents that only play
///
/// Opens the board with some sessions of Claude Code and Codex at work; answer one of them there.
/// All of it lives in a folder of its own, which is removed at the end. Nothing of yours is read or
/// changed, and no account is needed.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Print the board's address only
    #[arg(long)]
    no_open: bool,
    /// End by itself after so many seconds, and print the sessions
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// Use this folder, which has to be empty or new, and leave it there at the end
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    for name in ["turnbridge-status", "turnbridge-stop-gate"] {
        programs::own(name)?;
    }
    let ended = listen()?;
    let home = match &arguments.state {
        Some(folder) => DemoHome::kept(folder)?,
        None => DemoHome::temporary()?,
    };
    let mut company = Company { paths: home.paths(), players: Vec::new(), daemon: None };
    perform(arguments, &home, &mut company, &ended)?;
    if arguments.seconds.is_some() {
        let listed = home.command(&["sessions"])?.output();
        let listed = listed.context("could not run `turnbridge sessions`")?;
        output::stdout().write_all(&listed.stdout)?;
    }
    Ok(())
    // The company ends before the home goes.
}

fn perform(
    arguments: &Arguments,
    home: &DemoHome,
    company: &mut Company,
    ended: &Receiver<()>,
) -> Result<()> {
    company.start_daemon(home)?;
    company.start_players(home)?;
    let deadline = Instant::now() + PATIENCE;
    let found = loop {
        match daemon_control::find_board(&company.paths) {
            Ok(found) => break found,
            Err(error) if Instant::now() >= deadline || company.has_lost_daemon() => {
                return Err(error.context("the demo's daemon did not start"));
            }
            Err(_) if has_ended(ended, LOOK) => return Ok(()),
            Err(_) => {}
        }
    };
    let end = if arguments.seconds.is_none() { "Ctrl-C ends the demo.\n" } else { "" };
    let text =
        format!("{}\nOpen it and answer one of the agents; they only play.\n{end}", found.url());
    let mut out = output::stdout();
    // At once: whoever wants the address only may be gone after the first line.
    out.write_all(text.as_bytes())?;
    out.flush()?;
    drop(out);
    // With the user's own environment: it is their browser.
    let mut sign_in = match arguments.no_open {
        true => None,
        false => Some(SignIn::open(&company.paths, &found)?),
    };
    let last = arguments.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let terminal = Terminal::of_stdin();
    while last.is_none_or(|last| Instant::now() < last) && !terminal.is_gone() {
        if has_ended(ended, LOOK) {
            break;
        }
        if company.has_lost_daemon() {
            return Err(hinted("the demo's daemon has ended", "start the demo again"));
        }
        match sign_in.as_mut().map(SignIn::look) {
            None | Some(Ok(Look::GoesOn)) => {}
            Some(Ok(Look::Ended)) => sign_in = None,
            // Its address is printed above.
            Some(Err(error)) => {
                tell(&error.to_string());
                sign_in = None;
            }
        }
    }
    Ok(())
}

/// Ctrl-C, SIGTERM and SIGHUP.
fn listen() -> Result<Receiver<()>> {
    let (sender, ended) = channel();
    let handler = move || {
        let _ = sender.send(());
    };
    ctrlc::set_handler(handler).context("could not listen for signals")?;
    Ok(ended)
}

fn has_ended(ended: &Receiver<()>, patience: Duration) -> bool {
    ended.recv_timeout(patience) != Err(RecvTimeoutError::Timeout)
}

/// All that was started. Ended when dropped, so that nothing writes into the home any more.
struct Company {
    paths: StatePaths,
    players: Vec<Child>,
    daemon: Option<Child>,
}

impl Company {
    fn start_daemon(&mut self, home: &DemoHome) -> Result<()> {
        let mut command = home.command(&["daemon", "--foreground"])?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.daemon = Some(command.spawn().context("could not start the demo's daemon")?);
        Ok(())
    }

    fn start_players(&mut self, home: &DemoHome) -> Result<()> {
        for scene in &SCENES {
            let folder = home.project(scene.project);
            std::fs::create_dir_all(&folder)
                .with_context(|| format!("could not make `{}`", folder.display()))?;
            let mut command = home.command(&["demo-agent", scene.project])?;
            command.current_dir(folder);
            // It ends with its standard input, however we end.
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            self.players.push(command.spawn().context("could not start a demo agent")?);
        }
        Ok(())
    }

    fn has_lost_daemon(&mut self) -> bool {
        let daemon = self.daemon.as_mut();
        daemon.is_none_or(|daemon| daemon.try_wait().is_ok_and(|status| status.is_some()))
    }

    /// Runners live in sessions of their own, so that they are asked by their files.
    fn end_replies(&self) {
        let all = || -> Vec<String> {
            let entries = inbox::entries(&self.paths).unwrap_or_default();
            entries.into_iter().map(|entry| entry.reply.id).collect()
        };
        let running = || -> Vec<String> {
            all().into_iter().filter(|id| inbox::is_running(&self.paths, id)).collect()
        };
        if !all().is_empty() {
            // One that the daemon started with its last breath has no lock yet.
            std::thread::sleep(4 * LOOK);
        }
        for id in running() {
            let _ = inbox::request_stop(&self.paths, &id);
        }
        let deadline = Instant::now() + PATIENCE;
        while !running().is_empty() && Instant::now() < deadline {
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for Company {
    fn drop(&mut self) {
        for player in &mut self.players {
            drop(player.stdin.take());
        }
        self.players.iter_mut().for_each(end);
        if let Some(daemon) = &mut self.daemon {
            let _ = write_atomically(&self.paths.daemon_stop(), b"");
            end(daemon);
        }
        self.end_replies();
    }
}

/// It has been asked to; the impatient one is not.
fn end(child: &mut Child) {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(LOOK);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// The one that we were started from, if any. Its end is no signal to those whom a shell has
/// disowned.
struct Terminal {
    is_stdin: bool,
}

impl Terminal {
    fn of_stdin() -> Terminal {
        Terminal { is_stdin: std::io::stdin().is_terminal() }
    }

    /// Asks without reading, which a process in the background may not.
    #[cfg(unix)]
    fn is_gone(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let stdin = std::io::stdin();
        let mut asked = [PollFd::new(&stdin, PollFlags::empty())];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        self.is_stdin
            && poll(&mut asked, Some(&at_once)).is_ok()
            && asked[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
    }

    /// There it ends what runs in it.
    #[cfg(not(unix))]
    fn is_gone(&self) -> bool {
        self.is_stdin && !std::io::stdin().is_terminal()
    }
}
