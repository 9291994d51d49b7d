//! Whether this process was asked to end (SIGTERM, SIGINT). It then ends the agent and writes down
//! that it did, instead of leaving it behind.

use std::sync::atomic::{AtomicBool, Ordering};

static IS_ASKED: AtomicBool = AtomicBool::new(false);

pub fn is_asked() -> bool {
    IS_ASKED.load(Ordering::Relaxed)
}

#[cfg(unix)]
pub fn listen() {
    extern "C" fn note(_signal: libc::c_int) {
        IS_ASKED.store(true, Ordering::Relaxed);
    }
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let handler: extern "C" fn(libc::c_int) = note;
        // SAFETY: the handler does nothing but store to an atomic, which a handler may.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
}

/// There `<id>.stop` is what asks.
#[cfg(not(unix))]
pub fn listen() {}
