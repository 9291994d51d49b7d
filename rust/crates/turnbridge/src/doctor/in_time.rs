//! Work that may never come to an end, and is not waited for longer than agreed. What is late is
//! left behind; it ends with the process.

use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use turnbridge_store::test_switch::{self, TestSwitch};

/// As long as agreed, or as a test says if that is shorter.
pub fn at_most(patience: Duration) -> Duration {
    let shorter = test_switch::parsed(TestSwitch::DoctorTimeout);
    shorter.map_or(patience, |millis| patience.min(Duration::from_millis(millis)))
}

pub struct Pending<T>(Option<Receiver<T>>);

impl<T: Send + 'static> Pending<T> {
    pub fn start(work: impl FnOnce() -> T + Send + 'static) -> Pending<T> {
        let (sender, receiver) = channel();
        let started = thread::Builder::new().spawn(move || {
            // Nobody listens any more when it was late.
            let _ = sender.send(work());
        });
        Pending(started.ok().map(|_| receiver))
    }

    /// `None`: not in time, or no thread could be had.
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
        assert_eq!(Pending::start(|| 7).until(generous), Some(7));
        let (sender, receiver) = channel::<()>();
        let stuck = Pending::start(move || receiver.recv());
        assert!(stuck.until(Instant::now()).is_none());
        drop(sender);
    }
}
