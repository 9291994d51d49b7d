//! Returns the current time. Test switches stop the clock or set it ahead.

use std::time::{SystemTime, UNIX_EPOCH};

use turnbridge_core::timestamp::Timestamp;

use crate::test_switch::{self, TestSwitch};

pub fn now() -> Timestamp {
    test_switch::parsed(TestSwitch::Now).map_or_else(system_time, Timestamp::from_micros)
}

fn system_time() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let micros = i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(micros.saturating_add(seconds_ahead().saturating_mul(1_000_000)))
}

/// Returns zero, except in tests of clocks that are set while everything runs.
fn seconds_ahead() -> i64 {
    let file = test_switch::value(TestSwitch::ClockAheadFile);
    let text = file.and_then(|file| std::fs::read_to_string(file).ok());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}
