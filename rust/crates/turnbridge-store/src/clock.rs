//! The clock. Tests set `TURNBRIDGE_NOW` (microseconds since 1970) to have one of their own.

use std::time::{SystemTime, UNIX_EPOCH};

use turnbridge_core::timestamp::Timestamp;

pub fn now() -> Timestamp {
    let fixed = std::env::var("TURNBRIDGE_NOW").ok().and_then(|micros| micros.parse().ok());
    fixed.map_or_else(system_time, Timestamp::from_micros)
}

fn system_time() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX))
}
