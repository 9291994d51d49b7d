//! Runs work in a thread, and waits for it until a deadline. Late work is abandoned, and ends with
//! the process.

use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use turnbridge_store::test_switch::{self, TestSwitch};

/// Returns the timeout, or a test's if that is shorter.
pub fn at_most(timeout: Duration) -> Duration {
    let shorter = test_switch::parsed(TestSwitch::DoctorTimeout);
    shorter.map_or(timeout, |millis| timeout.min(Duration::from_millis(millis)))
}

/// Work that runs in a thread.
pub struct BackgroundWork<T>(Option<Receiver<T>>);

impl<T: Send + 'static> BackgroundWork<T> {
    pub fn start(work: impl FnOnce() -> T + Send + 'static) -> BackgroundWork<T> {
        let (sender, receiver) = channel();
        let started = thread::Builder::new().spawn(move || {
            // The receiver is gone after the timeout.
            let _ = sender.send(work());
        });
        BackgroundWork(started.ok().map(|_| receiver))
    }

    /// Returns the result, or `None` after the deadline or without a thread.
    pub fn until(self, deadline: Instant) -> Option<T> {
        let rest = deadline.saturating_duration_since(Instant::now());
        self.0?.recv_timeout(rest).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_is_given_and_what_does_not_is_left() {
        let generous = Instant::now() + Duration::from_secs(60);
        assert_eq!(BackgroundWork::start(|| 7).until(generous), Some(7));
        let (sender, receiver) = channel::<()>();
        let stuck = BackgroundWork::start(move || receiver.recv());
        assert!(stuck.until(Instant::now()).is_none());
        drop(sender);
    }
}
