//! Publishes a session's state for other programs: tvine's file and socket, Kawaii Terminal's
//! JSONL. `turnbridge-core` decides on the content; this module writes it. A sink never blocks: it
//! waits for no connection, no pipe and no full buffer.

mod kawaii;
mod socket;
mod tvine;

pub use kawaii::append_debug;

use turnbridge_core::session::event::Event;
use turnbridge_core::session::{RunEnvironment, Session, State};

/// Publishes to every sink that the run's environment names. Returns the problems, for the log.
pub fn publish(
    before: Option<State>,
    session: &Session,
    event: &Event,
    host: &RunEnvironment,
) -> Vec<String> {
    let results = [
        ("tvine", tvine::publish(session, event, host)),
        ("kawaii", kawaii::publish(before, session, event, host)),
    ];
    let problem = |(sink, result): (&str, std::io::Result<()>)| {
        result.err().map(|error| format!("{sink}: {error}"))
    };
    results.into_iter().filter_map(problem).collect()
}
