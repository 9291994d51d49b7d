//! A way in for a browser that we start ourselves. Its command line is there for every user of the
//! machine to see, for as long as it runs; so that it names a ticket, which is good once and for a
//! minute, and the page gets the token for it.

use std::fs;
use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use turnbridge_store::atomic_file::write_atomically;
use turnbridge_store::paths::StatePaths;

use super::http::Response;
use super::token;

/// A browser that is not running yet takes some seconds.
const VALID: Duration = Duration::from_secs(60);

/// The one before is good no more.
pub fn make(paths: &StatePaths) -> io::Result<String> {
    let ticket = token::make()?;
    write_atomically(&paths.board_ticket(), ticket.as_bytes())?;
    Ok(ticket)
}

pub fn exchange(paths: &StatePaths, order: &Value, token: &str) -> Response {
    let given = order["ticket"].as_str().unwrap_or_default();
    match is_good(paths, given) {
        true => Response::json(200, &json!({ "token": token })),
        false => Response::of_status(403),
    }
}

fn is_good(paths: &StatePaths, given: &str) -> bool {
    let path = paths.board_ticket();
    let Ok(ticket) = fs::read_to_string(&path) else { return false };
    let age = fs::metadata(&path).and_then(|metadata| metadata.modified()).map(|at| at.elapsed());
    let is_fresh = matches!(age, Ok(Ok(age)) if age <= VALID);
    // Of two who have the same one, only one can remove it.
    !ticket.is_empty()
        && token::is_same(&ticket, given)
        && fs::remove_file(&path).is_ok()
        && is_fresh
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn a_ticket_is_good_once_for_a_minute_and_the_last_one_alone() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        assert!(!is_good(&paths, ""));
        let (first, second) = (make(&paths).unwrap(), make(&paths).unwrap());
        assert!(!is_good(&paths, &first) && !is_good(&paths, ""));
        assert!(is_good(&paths, &second));
        assert!(!is_good(&paths, &second));
        let old = make(&paths).unwrap();
        let file = fs::OpenOptions::new().write(true).open(paths.board_ticket()).unwrap();
        file.set_modified(SystemTime::now() - VALID - Duration::from_secs(1)).unwrap();
        assert!(!is_good(&paths, &old));
        assert!(!paths.board_ticket().exists());
        fs::write(paths.board_ticket(), "").unwrap();
        assert!(!is_good(&paths, ""));
    }
}
