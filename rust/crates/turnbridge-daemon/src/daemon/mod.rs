//! Runs the daemon: one loop owns its state, and named threads send it events.
//!
//! The daemon delivers queued notices, receives replies and runs them, serves the board, and
//! observes what no hook reports. Everything lasting is in files, and hooks need no daemon: a
//! killed daemon causes delay, never loss.

mod board_side;
pub(crate) mod event;
pub(crate) mod log;
pub(crate) mod reply_log;
mod reply_runs;
mod watch;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant, SystemTime};

use turnbridge_config::{Config, Problem};
use turnbridge_core::ids::ChannelName;
use turnbridge_core::notices::notice_switches::wanted_channels;
use turnbridge_core::system::daemon_wire::{ConfigProblem, DaemonStatus};
use turnbridge_core::version_wire::NEWER;
use turnbridge_store::clock;
use turnbridge_store::files::atomic_file::write_atomically;
use turnbridge_store::files::file_lock::FileLock;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::process::detached_process;
use turnbridge_store::state::folder_trust::{Untrusted, check_state_and_above};
use turnbridge_store::state::{inbox, newer_files, outbox, prune, recovery};

use crate::channels;
use crate::channels::listener::Listener;
use crate::delivery::delivery_thread::DeliveryThread;
use crate::delivery::notifier::warn_if_exposed;
use crate::observe::observers::Observers;
use board_side::BoardSide;
use event::{ChangedPlace, DaemonEvent, StopReason};
use log::DaemonLog;
use reply_runs::ReplyRuns;
use watch::FolderWatch;

/// The timeout for the daemon's lock: a process that checks the lock holds it for a moment.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// The interval of full rescans, which find every change that no watcher has reported.
const RESCAN: Duration = Duration::from_secs(30);
/// The delay before a changed config is read: editors empty a file before they write it, and an
/// empty config is valid.
const SETTLED: Duration = Duration::from_millis(200);
/// The poll interval while there are unfinished replies: no event reports a killed runner or a
/// closed terminal.
const LOOK_AFTER: Duration = Duration::from_secs(1);

/// The reason why the daemon did not start.
#[derive(Debug)]
pub enum StartRefusal {
    /// Another daemon runs.
    Running,
    /// Other users can write to a folder whose files the daemon would act on.
    Untrusted(Untrusted),
    Files(io::Error),
    Threads(io::Error),
}

/// Runs the daemon until a signal or `turnbridge daemon stop`.
pub fn run(paths: StatePaths) -> Result<(), StartRefusal> {
    for folder in [paths.state_dir(), paths.outbox_dir(), paths.inbox_dir()] {
        make_private_folder(&folder).map_err(StartRefusal::Files)?;
    }
    check_state_and_above(&paths).map_err(StartRefusal::Untrusted)?;
    let (events, incoming) = mpsc::channel();
    // This precedes the lock: the watch reports later notices, and the first scan finds earlier
    // ones.
    let config_file = turnbridge_config::path().ok();
    let watch = FolderWatch::start(&paths, config_file, events.clone());
    let lock = match FileLock::acquire(&paths.daemon_lock(), LOCK_TIMEOUT) {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::TimedOut => return Err(StartRefusal::Running),
        Err(error) => return Err(StartRefusal::Files(error)),
    };
    // Removes the files of a killed daemon: they are stale.
    for file in [paths.daemon_stop(), paths.daemon_status(), paths.board_file()] {
        let _ = fs::remove_file(file);
    }
    stop_on_signals(&events);
    let daemon = Daemon::start(paths.clone(), watch, events).map_err(StartRefusal::Threads)?;
    daemon.run(&incoming);
    let _ = fs::remove_file(paths.daemon_status());
    drop(lock);
    // A process that queued a notice during the stop saw the lock and started no notifier.
    if outbox::ids(&paths).is_ok_and(|ids| !ids.is_empty()) {
        let _ = detached_process::wake(&paths);
    }
    Ok(())
}

fn make_private_folder(folder: &PathBuf) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Sends a stop event at the first signal. A second signal ends the process immediately.
fn stop_on_signals(events: &Sender<DaemonEvent>) {
    let events = events.clone();
    let mut is_asked = false;
    let _ = ctrlc::set_handler(move || {
        if std::mem::replace(&mut is_asked, true) {
            std::process::exit(130);
        }
        let _ = events.send(DaemonEvent::Stop(StopReason::Signal));
    });
}

struct Daemon {
    paths: StatePaths,
    log: DaemonLog,
    watch: FolderWatch,
    delivery_thread: DeliveryThread,
    listeners: Vec<Box<dyn Listener>>,
    replies: ReplyRuns,
    observers: Observers,
    board: BoardSide,
    /// The text of the config in force.
    config: Option<String>,
    status: DaemonStatus,
    /// The status file contains the current status.
    is_status_saved: bool,
    rescan_at: Instant,
    /// The time of the next read of the config.
    config_at: Option<Instant>,
    replies_at: Instant,
}

impl Daemon {
    fn start(
        paths: StatePaths,
        watch: FolderWatch,
        events: Sender<DaemonEvent>,
    ) -> io::Result<Daemon> {
        let log = DaemonLog::new(&paths);
        let tell = events.clone();
        let delivery_thread = DeliveryThread::start(paths.clone(), Config::default(), move || {
            let _ = tell.send(DaemonEvent::Delivered);
        })?;
        let listeners = channels::listeners(&paths, &events);
        let board = BoardSide::new(paths.clone(), events.clone());
        let observers = Observers::new(paths.clone(), events);
        let replies = ReplyRuns::new(paths.clone());
        let status = DaemonStatus {
            version: 1,
            pid: std::process::id(),
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: clock::now().to_string(),
            channels: BTreeMap::new(),
            config_problem: None,
            board: None,
        };
        let rescan_at = Instant::now() + RESCAN;
        Ok(Daemon {
            paths,
            log,
            watch,
            delivery_thread,
            listeners,
            replies,
            observers,
            board,
            config: None,
            status,
            is_status_saved: true,
            rescan_at,
            config_at: None,
            replies_at: rescan_at,
        })
    }

    fn run(mut self, incoming: &Receiver<DaemonEvent>) {
        let fields = [("pid", self.status.pid.into())];
        self.log.info("the daemon has started", &fields);
        self.note_newer_files();
        self.recover();
        self.start_pruning();
        self.load_config();
        self.go_on();
        self.replies.find_begun();
        let reason = loop {
            match incoming.recv_timeout(self.pause()) {
                Ok(DaemonEvent::Stop(reason)) => break reason,
                Ok(event) => {
                    if let Some(reason) = self.handle(event) {
                        break reason;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break StopReason::Asked,
            }
            self.do_what_is_due();
        };
        self.board.stop();
        self.listeners.iter_mut().for_each(|listener| listener.stop("the daemon stops"));
        self.delivery_thread.stop();
        self.observers.stop();
        let fields = [("reason", reason.as_str().into())];
        self.log.info("the daemon has stopped", &fields);
    }

    /// Logs files of a newer version, which wait for its daemon.
    fn note_newer_files(&self) {
        for path in newer_files::find(&self.paths) {
            let fields = [("file", path.display().to_string().into())];
            self.log.warn(&format!("a file was {NEWER}"), &fields);
        }
    }

    /// Completes what hooks left that were killed or did not get their session's lock.
    fn recover(&self) {
        let recovered = recovery::recover(&self.paths);
        for problem in recovered.problems {
            self.log
                .warn("could not complete a turn that a hook left", &[("problem", problem.into())]);
        }
        if recovered.turns + recovered.notices > 0 {
            let fields = [("turns", recovered.turns.into()), ("notices", recovered.notices.into())];
            self.log.info("completed turns that hooks left", &fields);
        }
        self.look_if(recovered.has_notice);
    }

    /// Returns how long the loop may sleep if no event comes.
    fn pause(&self) -> Duration {
        let soonest = self.rescan_at.min(self.replies_at).min(self.observers.next());
        let soonest = self.config_at.map_or(soonest, |at| at.min(soonest));
        soonest.saturating_duration_since(Instant::now())
    }

    fn do_what_is_due(&mut self) {
        let now = Instant::now();
        if now >= self.rescan_at {
            return self.rescan();
        }
        if self.config_at.is_some_and(|at| now >= at) {
            self.load_config();
        }
        if now >= self.replies_at {
            self.go_on();
        }
        let has_queued = self.observers.check();
        self.look_if(has_queued);
    }

    fn handle(&mut self, event: DaemonEvent) -> Option<StopReason> {
        match event {
            DaemonEvent::Changed(ChangedPlace::Outbox) => self.delivery_thread.check_outbox(),
            DaemonEvent::Changed(ChangedPlace::Config) => {
                self.config_at = Some(Instant::now() + SETTLED)
            }
            DaemonEvent::Changed(ChangedPlace::State) => {
                if fs::remove_file(self.paths.daemon_stop()).is_ok() {
                    return Some(StopReason::Asked);
                }
            }
            DaemonEvent::Lost { reason } => {
                self.log.warn("watcher failed", &[("reason", reason.into())]);
                self.rescan();
            }
            DaemonEvent::Rollouts(change) => {
                let has_queued = self.observers.see(change);
                self.look_if(has_queued);
            }
            DaemonEvent::Channel(channel) => self.take_reports(&channel),
            DaemonEvent::Changed(ChangedPlace::Inbox)
            | DaemonEvent::ReplyKept
            | DaemonEvent::Delivered => self.go_on(),
            DaemonEvent::Stop(reason) => return Some(reason),
        }
        None
    }

    /// Advances all replies as far as possible now.
    fn go_on(&mut self) {
        let has_queued = self.replies.go_on();
        self.look_if(has_queued);
        let pause = if self.replies.are_under_way() { LOOK_AFTER } else { RESCAN };
        self.replies_at = Instant::now() + pause;
    }

    /// Starts a delivery if a notice was queued: not every file system reports changes to the
    /// watcher.
    fn look_if(&self, has_queued: bool) {
        if has_queued {
            self.delivery_thread.check_outbox();
        }
    }

    fn rescan(&mut self) {
        self.rescan_at = Instant::now() + RESCAN;
        self.watch.look_for_missing();
        self.recover();
        self.load_config();
        self.retry_listeners();
        self.board.open_if_closed();
        if !self.is_status_saved || self.status.board != self.board.status() {
            self.save_status();
        }
        self.delivery_thread.check_outbox();
        self.go_on();
        self.replies.find_begun();
        if let Err(error) = inbox::prune(&self.paths, SystemTime::now()) {
            let fields = [("error", error.to_string().into())];
            self.log.warn("could not remove old replies", &fields);
        }
        self.start_pruning();
    }

    /// Retries the listeners: a full disk, a damaged file or a refusal may be fixed by now.
    fn retry_listeners(&mut self) {
        self.listeners.iter_mut().for_each(|listener| listener.retry(&self.log));
        self.note_channels();
    }

    fn take_reports(&mut self, channel: &ChannelName) {
        let of_channel = self.listeners.iter_mut().filter(|listener| listener.name() == *channel);
        of_channel.for_each(|listener| listener.take_reports(&self.log));
        self.note_channels();
    }

    /// Saves the listeners' status if it has changed.
    fn note_channels(&mut self) {
        if self.set_channels() {
            self.save_status();
        }
    }

    fn set_channels(&mut self) -> bool {
        let statuses = self.listeners.iter().map(|listener| (listener.name(), listener.status()));
        let statuses = statuses.collect();
        let is_changed = self.status.channels != statuses;
        self.status.channels = statuses;
        is_changed
    }

    /// Deletes old files in a separate thread, because there may be very many. No thread waits for
    /// it.
    fn start_pruning(&self) {
        if !prune::is_due(&self.paths) {
            return;
        }
        let (paths, log) = (self.paths.clone(), DaemonLog::new(&self.paths));
        let work = move || match prune::prune_daily(&paths) {
            Ok(pruned) if pruned.removed > 0 => {
                let fields = [("files", pruned.removed.into())];
                log.info("old files removed", &fields);
            }
            Ok(_) => {}
            Err(error) => {
                let fields = [("error", error.to_string().into())];
                log.warn("could not remove old files", &fields);
            }
        };
        let _ = std::thread::Builder::new().name("pruner".to_owned()).spawn(work);
    }

    /// Loads a changed config. A wrong one is reported once, and the old one stays in force.
    fn load_config(&mut self) {
        self.config_at = None;
        let text = turnbridge_config::path().ok().and_then(|path| fs::read_to_string(path).ok());
        let text = text.unwrap_or_default();
        match Config::read() {
            Ok(_) if self.config.as_ref() == Some(&text) => {
                if self.status.config_problem.take().is_some() {
                    self.log.info("config valid again", &[]);
                    self.save_status();
                }
            }
            Ok(config) => self.take_config(config, text),
            Err(problem) => self.refuse_config(&problem),
        }
    }

    fn take_config(&mut self, config: Config, text: String) {
        warn_if_exposed(&config, &self.paths.daemon_log());
        for unknown in &config.unknown {
            let fields = [("key", unknown.to_string().into())];
            self.log.warn("a key of config.toml is not known", &fields);
        }
        let wanted = wanted_channels(text.as_bytes());
        let is_first = self.config.replace(text).is_none();
        self.status.config_problem = None;
        self.listeners.iter_mut().for_each(|listener| listener.set_config(&config, &self.log));
        self.set_channels();
        self.replies.set_config(config.spoken_language(), config.resume.live);
        self.board.set_config(&config);
        let has_queued = self.observers.set_config(&config, wanted);
        self.delivery_thread.set_config(config);
        self.look_if(has_queued);
        if !is_first {
            self.log.info("config changed", &[]);
        }
        self.save_status();
    }

    /// Reports a wrong config. States and the board work without any config.
    fn refuse_config(&mut self, problem: &Problem) {
        let refused = ConfigProblem {
            error: problem.to_string(),
            hint: problem.hint.clone(),
            is_older_in_force: self.config.is_some(),
        };
        if self.status.config_problem.as_ref() == Some(&refused) {
            return;
        }
        let fields =
            [("error", refused.error.clone().into()), ("hint", refused.hint.clone().into())];
        self.log.error(&format!("the config is wrong; {}", refused.effect()), &fields);
        if !refused.is_older_in_force {
            self.listeners.iter_mut().for_each(|listener| listener.stop(refused.effect()));
            self.set_channels();
            self.observers.set_config(&Config::default(), Vec::new());
            self.board.open_if_closed();
        }
        self.status.config_problem = Some(refused);
        self.save_status();
    }

    fn save_status(&mut self) {
        self.status.board = self.board.status();
        let Ok(bytes) = serde_json::to_vec(&self.status) else { return };
        let saved = write_atomically(&self.paths.daemon_status(), &bytes);
        // The next rescan tries it again.
        if let (Err(error), true) = (&saved, self.is_status_saved) {
            let fields = [("error", error.to_string().into())];
            self.log.warn("daemon.json could not be written", &fields);
        }
        self.is_status_saved = saved.is_ok();
    }
}
