//! Collects the arguments of all processes of the machine, as any user can read them.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A thread that polls the arguments of all processes.
pub struct Watcher {
    is_over: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Vec<Vec<u8>>>,
}

impl Watcher {
    pub fn start() -> Watcher {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            let mut seen = std::collections::BTreeSet::new();
            while !over.load(Ordering::SeqCst) {
                for process in fs::read_dir("/proc").unwrap().flatten() {
                    seen.extend(fs::read(process.path().join("cmdline")));
                }
            }
            seen.into_iter().collect()
        });
        Watcher { is_over, thread }
    }

    /// Ends the thread and returns all arguments that it has seen.
    pub fn seen(self) -> Vec<Vec<u8>> {
        self.is_over.store(true, Ordering::SeqCst);
        self.thread.join().unwrap()
    }
}
