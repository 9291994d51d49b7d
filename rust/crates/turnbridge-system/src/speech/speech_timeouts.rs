//! Defines the times after which a speech counts as begun: for an engine without errors, for one
//! with errors, and for a player that reports nothing.

use std::time::Duration;

use turnbridge_store::test_switch::{self, TestSwitch};

/// Returns the time after which a running engine counts as speaking. Tests set a longer one for
/// busy machines.
pub fn start_time() -> Duration {
    let chosen: Option<u64> = test_switch::parsed(TestSwitch::SpeechMoment);
    Duration::from_millis(chosen.unwrap_or(150).min(60_000))
}

/// Returns the time that an engine with errors gets to end.
pub fn failure_time() -> Duration {
    start_time().max(Duration::from_secs(1))
}

/// Returns the timeout of the process that started the player, because an agent's turn waits with
/// it.
pub fn player_timeout() -> Duration {
    failure_time() + Duration::from_secs(1)
}
