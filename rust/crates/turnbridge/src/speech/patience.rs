//! How long to wait before a speech counts as begun.

use std::time::Duration;

/// Milliseconds instead of the usual ones: for machines on which engines fail slowly, and for
/// tests, which run on machines that are busy.
const VARIABLE: &str = "TURNBRIDGE_SPEECH_MOMENT_MS";

/// An engine that lives for so long has begun to speak.
pub fn a_moment() -> Duration {
    let chosen = std::env::var(VARIABLE).ok().and_then(|text| text.parse().ok());
    Duration::from_millis(chosen.unwrap_or(150).min(60_000))
}

/// But one that has complained gets this long to give up.
pub fn a_longer_moment() -> Duration {
    a_moment().max(Duration::from_secs(1))
}

/// Whoever started the player waits for no more than this: an agent's turn waits with it.
pub fn for_the_player() -> Duration {
    a_longer_moment() + Duration::from_secs(1)
}
