//! Where others want to read a session's state: tvine's file and socket, Kawaii Terminal's
//! JSONL. What is written is decided in `turnbridge-core`; here it is brought to its place.
//! A sink never blocks: no connection is waited for, no pipe, no full buffer.

mod kawaii;
mod socket;
mod tvine;

pub use kawaii::append_debug;

use turnbridge_core::session::event::Event;
use turnbridge_core::session::{Host, Session, State};

/// Tells every sink that the run's environment asks for. Gives what went wrong, for the log.
pub fn publish(
    before: Option<State>,
    session: &Session,
    event: &Event,
    host: &Host,
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
