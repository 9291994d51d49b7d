//! Runs the thread that delivers notices during the daemon's life. The daemon reports changes of
//! the outbox, and the thread computes the time of the next retry itself.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use turnbridge_config::Config;
use turnbridge_core::notices::retry_plan::time_until_due;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::outbox;
use turnbridge_store::{clock, log};

use crate::channels::obstacle::DeliveryObstacle;
use crate::delivery::deliverer::Deliverer;

/// The interval of full rescans, which find every file that no watcher has reported.
const RESCAN: Duration = Duration::from_secs(30);
/// The pause after a local write error or while another process holds the outbox.
const SHORTEST: Duration = Duration::from_secs(1);

enum DeliveryCommand {
    Check,
    Use(Box<Config>),
    Stop,
}

/// The handle of the delivery thread.
pub struct DeliveryThread {
    orders: Sender<DeliveryCommand>,
    thread: Option<JoinHandle<()>>,
}

impl DeliveryThread {
    /// Starts the thread, which calls `tell` after each pass.
    pub fn start(
        paths: StatePaths,
        config: Config,
        tell: impl Fn() + Send + 'static,
    ) -> io::Result<DeliveryThread> {
        let (orders, incoming) = mpsc::channel();
        let mut delivery_loop =
            DeliveryLoop { paths, deliverer: Deliverer::new(config), told: None };
        let work = move || delivery_loop.run(&incoming, tell);
        // The stack suffices for a TLS handshake of an unoptimised build.
        let builder = thread::Builder::new().name("delivery".to_owned()).stack_size(512 << 10);
        Ok(DeliveryThread { orders, thread: Some(builder.spawn(work)?) })
    }

    pub fn check_outbox(&self) {
        let _ = self.orders.send(DeliveryCommand::Check);
    }

    pub fn set_config(&self, config: Config) {
        let _ = self.orders.send(DeliveryCommand::Use(Box::new(config)));
    }

    /// Waits for the end of a pass that runs now, and starts no other.
    pub fn stop(mut self) {
        let _ = self.orders.send(DeliveryCommand::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct DeliveryLoop {
    paths: StatePaths,
    deliverer: Deliverer,
    /// The last logged obstacle, which is not logged again while it stays the same.
    told: Option<String>,
}

impl DeliveryLoop {
    fn run(&mut self, incoming: &Receiver<DeliveryCommand>, tell: impl Fn()) {
        loop {
            let pause = self.deliver();
            tell();
            match incoming.recv_timeout(pause) {
                Ok(DeliveryCommand::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(DeliveryCommand::Use(config)) => self.deliverer = Deliverer::new(*config),
                Ok(DeliveryCommand::Check) | Err(RecvTimeoutError::Timeout) => {}
            }
            // Merges a burst of changes into one pass.
            while let Ok(order) = incoming.try_recv() {
                match order {
                    DeliveryCommand::Stop => return,
                    DeliveryCommand::Use(config) => self.deliverer = Deliverer::new(*config),
                    DeliveryCommand::Check => {}
                }
            }
        }
    }

    /// Delivers the notices that are due. Returns how long none will be due.
    fn deliver(&mut self) -> Duration {
        if outbox::ids(&self.paths).unwrap_or_default().is_empty() {
            return RESCAN;
        }
        match self.deliverer.deliver(&self.paths) {
            Ok(drained) if drained.is_busy => return SHORTEST,
            Ok(_) => self.told = None,
            Err(obstacle) => self.report(&obstacle),
        }
        let now = clock::now();
        let waiting = outbox::schedules(&self.paths).unwrap_or_default();
        // Closed channels have no timer: a new config or the next rescan opens them.
        let waiting = waiting.iter().filter(|waiting| self.deliverer.is_open(&waiting.channel));
        let due = waiting.filter_map(|waiting| {
            // A notice that was never tried does not wait for a time.
            waiting.progress.next_attempt_at?;
            time_until_due(&waiting.progress, now)
        });
        due.min().unwrap_or(RESCAN).clamp(SHORTEST, RESCAN)
    }

    fn report(&mut self, obstacle: &DeliveryObstacle) {
        if self.told.as_ref() == Some(&obstacle.text) {
            return;
        }
        self.told = Some(obstacle.text.clone());
        let fields =
            [("error", obstacle.text.clone().into()), ("hint", obstacle.hint.clone().into())];
        log::write_log(
            &self.paths.notify_log(),
            clock::now(),
            "error",
            "could not deliver notices",
            &fields,
        );
    }
}

#[cfg(test)]
mod tests {
    use turnbridge_core::ids::{ChannelName, SessionKey};
    use turnbridge_core::notices::notice::Notice;
    use turnbridge_core::notices::progress::NoticeProgress;

    use super::*;

    #[test]
    fn what_waits_for_a_channel_that_cannot_be_used_is_not_looked_at_every_second() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(&folder.path().join("state"));
        let now = clock::now();
        let notice = Notice::turn("a".to_owned(), SessionKey::of("claude", "s").unwrap(), now);
        outbox::queue(&paths, &notice).unwrap();
        // A try has failed and its pause is over. Meanwhile the user removed Slack from the config.
        let tried = NoticeProgress {
            next_attempt_at: Some(now.minus(RESCAN)),
            ..NoticeProgress::default()
        };
        outbox::save_progress(&paths, "a", &ChannelName::SLACK, &tried).unwrap();
        let deliverer = Deliverer::new(Config::default());
        let mut delivery_loop = DeliveryLoop { paths, deliverer, told: None };
        assert_eq!(delivery_loop.deliver(), RESCAN);
    }
}
