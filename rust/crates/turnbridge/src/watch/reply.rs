//! Sends replies like the board: into the inbox with a unique id. The daemon passes each to the
//! agent, and the result is read from the inbox.

use turnbridge_core::replies::reply::{Reply, ReplyTo};
use turnbridge_core::replies::run_result::Outcome;
use turnbridge_core::session::Session;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::inbox;
use turnbridge_system::daemon_control;
use turnbridge_system::random;

/// The unfinished replies, each with its project.
#[derive(Debug, Default)]
pub struct Replies(Vec<(String, String)>);

impl Replies {
    /// Sends a reply. Returns a message for the user.
    pub fn send(
        &mut self,
        paths: &StatePaths,
        session: &Session,
        text: String,
        now: Timestamp,
    ) -> String {
        let project = session.project().unwrap_or("-").to_owned();
        let to = ReplyTo {
            key: session.key.clone(),
            // An agent finds a session only in the folder where it was started.
            cwd: session.project_dir().map(str::to_owned),
        };
        let sent = random::uuid().and_then(|id| {
            inbox::accept(paths, &Reply::from_board(id.clone(), text, to, now), now)?;
            Ok(id)
        });
        match sent {
            Err(error) => format!("could not write the reply down: {error}"),
            Ok(id) => {
                self.0.push((id, project.clone()));
                match daemon_control::is_running(paths) {
                    true => format!("sent to {project}"),
                    false => format!(
                        "the reply to {project} waits for the daemon; start it: turnbridge daemon"
                    ),
                }
            }
        }
    }

    /// Returns the result of a reply that has ended. The loop calls it once a second.
    pub fn look(&mut self, paths: &StatePaths) -> Option<String> {
        let ended = self.0.iter().enumerate().find_map(|(index, (id, _))| {
            inbox::read_result(paths, id).map(|result| (index, result))
        });
        let (index, result) = ended?;
        let (_, project) = self.0.remove(index);
        Some(match (result.outcome, result.reason) {
            (Outcome::Done, _) => format!("the reply to {project} was run"),
            (Outcome::HandedOver, _) => format!("{project} has the reply where it is open"),
            (Outcome::NotBegun, _) => {
                format!("{project} has the reply in its queue, and has not begun it yet")
            }
            (outcome, Some(reason)) => {
                format!("the reply to {project}: {} ({})", outcome.as_str(), reason.as_str())
            }
            (outcome, None) => format!("the reply to {project}: {}", outcome.as_str()),
        })
    }
}
