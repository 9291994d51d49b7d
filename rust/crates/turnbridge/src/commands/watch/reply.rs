//! A reply from here takes the road of a reply from the board: into the inbox, with an id that no
//! other has; the daemon gives it to the agent. What became of it is read from the same place.

use std::io;

use turnbridge_core::reply_wire::{Outcome, Reply, ReplyTo};
use turnbridge_core::session::Session;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::inbox;
use turnbridge_store::paths::StatePaths;

use crate::commands::daemon;

/// Replies whose end has not been seen yet, and the project that each was for.
#[derive(Debug, Default)]
pub struct Replies(Vec<(String, String)>);

impl Replies {
    /// Gives what to tell the user.
    pub fn send(
        &mut self,
        paths: &StatePaths,
        session: &Session,
        text: String,
        now: Timestamp,
    ) -> String {
        let project = session.project().unwrap_or("-").to_owned();
        let to = ReplyTo {
            tool: session.tool,
            id: session.id.clone(),
            // An agent knows a session only in the folder where it was started.
            cwd: session.project_dir().map(str::to_owned),
        };
        let sent = new_uuid().and_then(|id| {
            inbox::accept(paths, &Reply::from_board(id.clone(), text, to, now), now)?;
            Ok(id)
        });
        match sent {
            Err(error) => format!("could not write the reply down: {error}"),
            Ok(id) => {
                self.0.push((id, project.clone()));
                match daemon::is_running(paths) {
                    true => format!("sent to {project}"),
                    false => format!(
                        "the reply to {project} waits for the daemon; start it: turnbridge daemon"
                    ),
                }
            }
        }
    }

    /// What has become of one that has ended. For once a second.
    pub fn look(&mut self, paths: &StatePaths) -> Option<String> {
        let ended = self.0.iter().enumerate().find_map(|(index, (id, _))| {
            inbox::read_result(paths, id).map(|result| (index, result))
        });
        let (index, result) = ended?;
        let (_, project) = self.0.remove(index);
        Some(match (result.outcome, result.reason) {
            (Outcome::Done, _) => format!("the reply to {project} was run"),
            (Outcome::HandedOver, _) => format!("the reply to {project} is in its Codex"),
            (outcome, Some(reason)) => {
                format!("the reply to {project}: {} ({})", outcome.as_str(), reason.as_str())
            }
            (outcome, None) => format!("the reply to {project}: {}", outcome.as_str()),
        })
    }
}

/// A random one (version 4).
fn new_uuid() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
}

#[cfg(test)]
mod tests {
    use turnbridge_core::ids::is_uuid;

    use super::*;

    #[test]
    fn ids_are_uuids_of_version_4_and_never_the_same() {
        let [one, other] = [new_uuid().unwrap(), new_uuid().unwrap()];
        assert!(is_uuid(&one), "{one}");
        assert_eq!(&one[14..15], "4");
        assert!("89ab".contains(&one[19..20]), "{one}");
        assert_ne!(one, other);
    }
}
