//! Parses and compares the times of Slack's messages, such as `1700000000.000100`. Such a time is
//! also the message's name in its channel. It is a decimal number and never stored as a float.

use std::fmt;
use std::time::Duration;

/// The time of a message, ordered by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlackTs {
    seconds: u64,
    nanos: u32,
}

impl SlackTs {
    pub fn parse(text: &str) -> Option<SlackTs> {
        let (seconds, fraction) = text.split_once('.')?;
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_ts = is_number(seconds) && is_number(fraction) && fraction.len() <= 9;
        is_ts.then_some(())?;
        let nanos = format!("{fraction:0<9}").parse().ok()?;
        Some(SlackTs { seconds: seconds.parse().ok()?, nanos })
    }

    /// Returns the time of a clock that counts microseconds since 1970.
    pub fn from_micros(micros: i64) -> SlackTs {
        let micros = u64::try_from(micros).unwrap_or_default();
        SlackTs { seconds: micros / 1_000_000, nanos: (micros % 1_000_000) as u32 * 1_000 }
    }

    /// Returns the time earlier by `span`, but not before 1970.
    pub fn minus(self, span: Duration) -> SlackTs {
        let own = Duration::new(self.seconds, self.nanos);
        let earlier = own.saturating_sub(span);
        SlackTs { seconds: earlier.as_secs(), nanos: earlier.subsec_nanos() }
    }
}

/// Writes six decimals, as Slack does, or nine if six are too few.
impl fmt::Display for SlackTs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nanos % 1_000 {
            0 => write!(f, "{}.{:06}", self.seconds, self.nanos / 1_000),
            _ => write!(f, "{}.{:09}", self.seconds, self.nanos),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_compared_as_numbers_and_come_back_as_slack_writes_them() {
        let ts = |text: &str| SlackTs::parse(text).unwrap();
        assert!(ts("999999999.5") < ts("1700000002.000100"));
        assert!(ts("1700000002.000100") < ts("1700000002.9"));
        assert_eq!(ts("1700000002.000100").to_string(), "1700000002.000100");
        assert_eq!(ts("1.5").to_string(), "1.500000");
        assert_eq!(ts("1.123456789").to_string(), "1.123456789");
        assert_eq!(ts("100.5").minus(Duration::from_secs(60)).to_string(), "40.500000");
        assert_eq!(ts("1.5").minus(Duration::from_secs(60)).to_string(), "0.000000");
        assert_eq!(SlackTs::from_micros(1_700_000_000_000_100), ts("1700000000.000100"));
        for bad in ["", "1", ".1", "1.", "-1.0", "1.0.0", "../x.1", "1.0000000001", "1e3.0"] {
            assert_eq!(SlackTs::parse(bad), None, "{bad}");
        }
    }
}
