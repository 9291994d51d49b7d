//! How long to wait before a speech counts as begun.

use std::time::Duration;

use turnbridge_store::test_switch::{self, TestSwitch};

/// An engine that lives for so long has begun to speak. Tests, which run on machines that are busy, give it longer.
pub fn a_moment() -> Duration {
    let chosen: Option<u64> = test_switch::parsed(TestSwitch::SpeechMoment);
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
