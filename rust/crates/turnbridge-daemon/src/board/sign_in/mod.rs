//! Exchanges a proof for the board's token: a ticket from a page in the state folder, or a code
//! that the user types. Each is valid for one exchange.
//!
//! The command line makes tickets and codes, and stores them in files that only the user can read.

mod code;
mod ticket;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use turnbridge_core::board::sign_in::{CODE_VALID, TICKET_VALID};
use turnbridge_store::paths::StatePaths;

use super::http::HttpResponse;

pub use code::Code;
pub use ticket::Ticket;

/// The lock that serialises exchanges, so that the limit of tries holds.
#[derive(Default)]
pub struct SignIn(Mutex<()>);

/// The proof in a request for the token.
enum Proof<'a> {
    Ticket(&'a str),
    Code(&'a str),
}

impl SignIn {
    /// Handles `POST /enter`.
    pub fn exchange(&self, paths: &StatePaths, order: &Value, token: &str) -> HttpResponse {
        let Some(proof) = proof(order) else {
            return HttpResponse::error(422, "there has to be a `ticket` or a `code`");
        };
        let _one_at_a_time = self.0.lock();
        let refusal = match proof {
            Proof::Ticket(given) => ticket::redeem(paths, given).err().map(|()| json!("no_ticket")),
            Proof::Code(given) => code::redeem(paths, given).err().map(|refusal| refusal.reason()),
        };
        match refusal {
            None => HttpResponse::json(200, &json!({ "token": token })),
            Some(reason) => {
                HttpResponse::json(403, &json!({ "error": "Forbidden", "reason": reason }))
            }
        }
    }
}

fn proof(order: &Value) -> Option<Proof<'_>> {
    let ticket = order["ticket"].as_str().map(Proof::Ticket);
    ticket.or_else(|| order["code"].as_str().map(Proof::Code))
}

/// Removes every ticket and code, because no board accepts them.
pub fn forget(paths: &StatePaths) {
    for file in [paths.board_page(), paths.board_ticket(), paths.board_code()] {
        let _ = fs::remove_file(file);
    }
}

/// Removes the expired files of a killed command.
pub fn forget_old(paths: &StatePaths) {
    let files = [
        (paths.board_page(), TICKET_VALID),
        (paths.board_ticket(), TICKET_VALID),
        (paths.board_code(), CODE_VALID),
    ];
    for (file, valid) in files {
        if is_fresh(&file, valid).is_ok_and(|is_fresh| !is_fresh) {
            let _ = fs::remove_file(file);
        }
    }
}

/// Returns whether the file was written less than `valid` ago. A time in the future does not count.
fn is_fresh(path: &Path, valid: Duration) -> io::Result<bool> {
    let modified = fs::metadata(path)?.modified()?;
    Ok(modified.elapsed().is_ok_and(|age| age <= valid))
}
