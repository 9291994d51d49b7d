//! Finds out whether the terminal of a demo has closed.

use std::io::IsTerminal;

/// The terminal on standard input, if there is one. A process that its shell has disowned gets no
/// signal when the terminal closes.
pub struct ParentTerminal {
    is_stdin: bool,
}

impl ParentTerminal {
    pub fn of_stdin() -> ParentTerminal {
        ParentTerminal { is_stdin: std::io::stdin().is_terminal() }
    }

    /// Returns whether it has closed. It polls without reading, which a background process may not
    /// do.
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

    /// Returns whether it has closed. On this system a closed terminal also ends the processes in
    /// it.
    #[cfg(not(unix))]
    pub fn is_gone(&self) -> bool {
        self.is_stdin && !std::io::stdin().is_terminal()
    }
}
