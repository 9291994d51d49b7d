//! Signs in a browser that Turnbridge starts. Every user of the machine can see the browser's
//! arguments. They therefore contain only the address of a page in the state folder, and that page
//! contains the ticket.

use std::fs;
use std::io;
use std::path::PathBuf;

use turnbridge_core::board::sign_in::{self, TICKET_VALID, TicketStatus};
use turnbridge_store::files::atomic_file::write_atomically;
use turnbridge_store::paths::StatePaths;

use super::is_fresh;
use crate::board::token;

/// A ticket that this process has made. Its files are removed when it is dropped.
pub struct Ticket {
    paths: StatePaths,
    secret: String,
}

impl Ticket {
    /// Makes a ticket and its page. The previous ticket becomes invalid.
    pub fn make(paths: &StatePaths, port: u16) -> io::Result<Ticket> {
        let secret = token::make()?;
        let ticket = Ticket { paths: paths.clone(), secret };
        write_atomically(&paths.board_ticket(), ticket.secret.as_bytes())?;
        let page = sign_in::page(port, &ticket.secret);
        write_atomically(&paths.board_page(), page.as_bytes())?;
        Ok(ticket)
    }

    /// Returns the path of its page.
    pub fn page(&self) -> PathBuf {
        self.paths.board_page()
    }

    /// Returns whether the ticket is still valid, and if not, why.
    pub fn standing(&self) -> TicketStatus {
        match fs::read_to_string(self.paths.board_ticket()) {
            Ok(secret) if secret == self.secret => TicketStatus::Open,
            Err(error) if error.kind() == io::ErrorKind::NotFound => TicketStatus::Used,
            _ => TicketStatus::Replaced,
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.standing() == TicketStatus::Open {
            let _ = fs::remove_file(self.paths.board_ticket());
        }
        let page = fs::read_to_string(self.paths.board_page());
        if page.is_ok_and(|page| page.contains(&self.secret)) {
            let _ = fs::remove_file(self.paths.board_page());
        }
    }
}

/// Redeems a ticket, once.
pub fn redeem(paths: &StatePaths, given: &str) -> Result<(), ()> {
    let path = paths.board_ticket();
    let ticket = fs::read_to_string(&path).map_err(drop)?;
    let is_fresh = is_fresh(&path, TICKET_VALID).unwrap_or(false);
    // In a race for the same ticket only one process can remove the file.
    let is_good = !ticket.is_empty()
        && token::is_same(&ticket, given)
        && fs::remove_file(&path).is_ok()
        && is_fresh;
    if !is_good {
        return Err(());
    }
    // The page's ticket is invalid now.
    let _ = fs::remove_file(paths.board_page());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    #[test]
    fn a_ticket_is_good_once_for_a_minute_and_the_last_one_alone() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        let redeem = |given: &str| super::redeem(&paths, given).is_ok();
        assert!(!redeem(""));
        let first = Ticket::make(&paths, 4_000).unwrap();
        let second = Ticket::make(&paths, 4_000).unwrap();
        assert_eq!(first.standing(), TicketStatus::Replaced);
        assert!(!redeem(&first.secret) && !redeem(""));
        drop(first);
        assert_eq!(second.standing(), TicketStatus::Open);
        assert!(fs::read_to_string(second.page()).unwrap().contains(&second.secret));
        assert!(redeem(&second.secret));
        assert_eq!(second.standing(), TicketStatus::Used);
        assert!(!redeem(&second.secret));
        drop(second);
        assert!(!paths.board_page().exists());
        let old = Ticket::make(&paths, 4_000).unwrap();
        let file = fs::OpenOptions::new().write(true).open(paths.board_ticket()).unwrap();
        file.set_modified(SystemTime::now() - TICKET_VALID - Duration::from_secs(1)).unwrap();
        assert!(!redeem(&old.secret));
        assert!(!paths.board_ticket().exists());
        fs::write(paths.board_ticket(), "").unwrap();
        assert!(!redeem(""));
    }
}
