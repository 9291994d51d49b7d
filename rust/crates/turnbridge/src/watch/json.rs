//! Runs `turnbridge watch --json`: prints a line for each session, then one for each change. The
//! schema is docs/schemas/watch.schema.json.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use turnbridge_core::ids::SessionKey;

use anyhow::Result;
use serde::Serialize;
use turnbridge_core::session::State;
use turnbridge_store::clock;
use turnbridge_store::paths::{StatePaths, claude_config_dir};
use turnbridge_system::observe::session_follower::{Schedule, SessionChange, SessionFollower};

use super::bell::Bell;
use super::model::SessionFilter;
use crate::output;
use crate::session_views::json::{SessionJson, session_json};

/// The poll interval for changes without an event.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum WatchLine<'a> {
    /// A session's state when the watch began.
    Present {
        version: u32,
        session: SessionJson<'a>,
    },
    /// All present sessions have been written.
    Ready {
        version: u32,
    },
    Changed {
        version: u32,
        session: SessionJson<'a>,
    },
    /// The session's file was removed: the session had stopped long before.
    Removed {
        version: u32,
        #[serde(rename = "tool")]
        agent: &'a str,
        session_id: &'a str,
    },
}

const VERSION: u32 = 1;

pub fn run(paths: StatePaths, shown: SessionFilter) -> Result<()> {
    let (ring, rung) = channel();
    let mut bell = Bell::new(paths.sessions_dir(), move |key| drop(ring.send(key)));
    let mut follower = SessionFollower::new(paths, claude_config_dir(), Schedule::WATCH);
    let mut out = output::stdout();
    let mut said = PrintedSessions::default();
    said.begin(&mut out, &follower.changes(clock::now()), shown)?;
    let mut next_look = Instant::now() + PAUSE;
    while is_read() {
        let rest = next_look.saturating_duration_since(Instant::now());
        let mut changes = Vec::new();
        match rung.recv_timeout(rest) {
            Ok(key) => {
                for key in std::iter::once(key).chain(rung.try_iter()) {
                    changes.extend(follower.read(&key, clock::now()));
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            // There is no watcher on this machine.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(rest),
        }
        if Instant::now() >= next_look {
            next_look = Instant::now() + PAUSE;
            bell.arm();
            changes.extend(follower.changes(clock::now()));
        }
        said.changes(&mut out, &changes)?;
    }
    Ok(())
}

/// The last written state of each session, to skip duplicates.
#[derive(Default)]
struct PrintedSessions(BTreeMap<SessionKey, String>);

impl PrintedSessions {
    fn begin(
        &mut self,
        out: &mut impl Write,
        changes: &[SessionChange],
        shown: SessionFilter,
    ) -> Result<()> {
        for change in changes {
            let SessionChange::Session(session) = change else { continue };
            let known = session_json(session);
            self.0.insert(session.key.clone(), serde_json::to_string(&known)?);
            if shown == SessionFilter::All || session.state() != State::Stopped {
                let line = WatchLine::Present { version: VERSION, session: known };
                writeln!(out, "{}", serde_json::to_string(&line)?)?;
            }
        }
        writeln!(out, "{}", serde_json::to_string(&WatchLine::Ready { version: VERSION })?)?;
        out.flush()?;
        Ok(())
    }

    fn changes(&mut self, out: &mut impl Write, changes: &[SessionChange]) -> Result<()> {
        for change in changes {
            let line = match change {
                SessionChange::Session(session) => {
                    let known = session_json(session);
                    let text = serde_json::to_string(&known)?;
                    // The file contains more than the output.
                    if self.0.get(&session.key) == Some(&text) {
                        continue;
                    }
                    self.0.insert(session.key.clone(), text);
                    WatchLine::Changed { version: VERSION, session: known }
                }
                SessionChange::Removed(key) => {
                    self.0.remove(key);
                    WatchLine::Removed {
                        version: VERSION,
                        agent: key.agent.as_str(),
                        session_id: key.id.as_str(),
                    }
                }
            };
            writeln!(out, "{}", serde_json::to_string(&line)?)?;
        }
        out.flush()?;
        Ok(())
    }
}

/// Returns whether the reader still exists. Otherwise its end would show only at the next change.
#[cfg(unix)]
fn is_read() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = output::raw_stdout();
    let mut asked = [PollFd::new(&stdout, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let is_closed = poll(&mut asked, Some(&at_once)).is_ok()
        && asked[0].revents().intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL);
    !is_closed
}

#[cfg(not(unix))]
fn is_read() -> bool {
    true
}
