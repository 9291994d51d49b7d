//! Records that a signal has asked the runner to end (SIGTERM, SIGINT). The runner then ends its
//! agent and stores that as the result, instead of leaving the agent behind.

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
        // SAFETY: the handler only stores to an atomic, which a handler may do.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
}

/// Does nothing: on such systems only `<id>.stop` asks for the end.
#[cfg(not(unix))]
pub fn listen() {}
