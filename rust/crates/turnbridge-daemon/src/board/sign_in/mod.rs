//! How a browser gets the board's token: for a ticket, which a page in the state folder carries, or
//! for a code, which a person types. Each is exchanged once. Another way to sign in is another
//! `Proof`; whoever asks for anything else shows the token.
//!
//! Both are made by the command line and lie in files that the user alone can read.

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

use super::http::Response;

pub use code::Code;
pub use ticket::Ticket;

/// One exchange at a time, so that a code is tried only so many times.
#[derive(Default)]
pub struct SignIn(Mutex<()>);

/// What somebody shows who wants the token.
enum Proof<'a> {
    Ticket(&'a str),
    Code(&'a str),
}

impl SignIn {
    /// Answers `POST /enter`.
    pub fn exchange(&self, paths: &StatePaths, order: &Value, token: &str) -> Response {
        let Some(proof) = proof(order) else {
            return Response::error(422, "there has to be a `ticket` or a `code`");
        };
        let _one_at_a_time = self.0.lock();
        let refusal = match proof {
            Proof::Ticket(given) => ticket::redeem(paths, given).err().map(|()| json!("no_ticket")),
            Proof::Code(given) => code::redeem(paths, given).err().map(|refusal| refusal.reason()),
        };
        match refusal {
            None => Response::json(200, &json!({ "token": token })),
            Some(reason) => Response::json(403, &json!({ "error": "Forbidden", "reason": reason })),
        }
    }
}

fn proof(order: &Value) -> Option<Proof<'_>> {
    let ticket = order["ticket"].as_str().map(Proof::Ticket);
    ticket.or_else(|| order["code"].as_str().map(Proof::Code))
}

/// Removes every ticket and code: there is no board that they lead to.
pub fn forget(paths: &StatePaths) {
    for file in [paths.board_page(), paths.board_ticket(), paths.board_code()] {
        let _ = fs::remove_file(file);
    }
}

/// Removes what a command has left behind that was killed.
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

/// Whether the file was written less than `valid` ago. One from the future was not.
fn is_fresh(path: &Path, valid: Duration) -> io::Result<bool> {
    let modified = fs::metadata(path)?.modified()?;
    Ok(modified.elapsed().is_ok_and(|age| age <= valid))
}
