//! Finds out whether the terminal of a demo has closed.

use std::io::IsTerminal;

/// The one that we were started from, if any. Its end is no signal to those whom a shell has
/// disowned.
pub struct ParentTerminal {
    is_stdin: bool,
}

impl ParentTerminal {
    pub fn of_stdin() -> ParentTerminal {
        ParentTerminal { is_stdin: std::io::stdin().is_terminal() }
    }

    /// Asks without reading, which a process in the background may not.
    #[cfg(unix)]
    pub fn is_gone(&self) -> bool {
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
    pub fn is_gone(&self) -> bool {
        self.is_stdin && !std::io::stdin().is_terminal()
    }
}
