//! Defines a point in time in microseconds, and its text form (RFC 3339, UTC). Callers read the
//! clock and pass the value. The unit is microseconds because two hooks of one session can start
//! within one millisecond.

use std::fmt;
use std::time::Duration;

/// A point in time, in microseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

const MICROS_PER_SECOND: i64 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

impl Timestamp {
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Returns how much later `self` is than `earlier`; zero if it is not later.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0).max(0) as u64)
    }

    pub fn minus(self, span: Duration) -> Timestamp {
        Self(self.0.saturating_sub(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)))
    }

    pub fn plus(self, span: Duration) -> Timestamp {
        Self(self.0.saturating_add(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)))
    }

    /// Parses `YYYY-MM-DDTHH:MM:SS[.fraction]Z`, the form that `Display` writes.
    pub fn parse(text: &str) -> Option<Timestamp> {
        let text = text.strip_suffix('Z')?;
        let (date, time) = text.split_once('T')?;
        let mut date = date.splitn(3, '-');
        let year = number(date.next()?, 4)?;
        let month = number(date.next()?, 2)?;
        let day = number(date.next()?, 2)?;
        let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
        let mut clock = clock.splitn(3, ':');
        let hour = number(clock.next()?, 2)?;
        let minute = number(clock.next()?, 2)?;
        let second = number(clock.next()?, 2)?;
        let in_range = (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && hour < 24
            && minute < 60
            && second < 61;
        if !in_range || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let mut micros = 0;
        for position in 0..6 {
            let digit = fraction.as_bytes().get(position).map_or(0, |byte| byte - b'0');
            micros = micros * 10 + i64::from(digit);
        }
        let seconds = days_from_civil(year, month, day) * SECONDS_PER_DAY
            + hour * 3_600
            + minute * 60
            + second;
        Some(Self(seconds * MICROS_PER_SECOND + micros))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.div_euclid(MICROS_PER_SECOND);
        let micros = self.0.rem_euclid(MICROS_PER_SECOND);
        let (year, month, day) = civil_from_days(seconds.div_euclid(SECONDS_PER_DAY));
        let of_day = seconds.rem_euclid(SECONDS_PER_DAY);
        let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
    }
}

/// Returns the text of a time in a file: empty if the time is not known.
pub fn time_text(at: Option<Timestamp>) -> String {
    at.map(|at| at.to_string()).unwrap_or_default()
}

fn number(text: &str, digits: usize) -> Option<i64> {
    let plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

// Both conversions count years from March, so that the leap day is the last day of a year.
// Eras are the 400-year cycles after which the calendar repeats, 146,097 days each; day 0 of
// era 0 is 0000-03-01, 719,468 days before 1970-01-01.
const DAYS_PER_ERA: i64 = 146_097;
const MARCH_0000_TO_1970: i64 = 719_468;

fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_PER_ERA + day_of_era - MARCH_0000_TO_1970
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + MARCH_0000_TO_1970;
    let era = days.div_euclid(DAYS_PER_ERA);
    let day_of_era = days.rem_euclid(DAYS_PER_ERA);
    let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_is_rfc_3339_in_utc_with_microseconds() {
        let check = |micros: i64, expected: &str| {
            assert_eq!(Timestamp::from_micros(micros).to_string(), expected);
            assert_eq!(Timestamp::parse(expected), Some(Timestamp(micros)));
        };
        check(0, "1970-01-01T00:00:00.000000Z");
        check(1_709_210_096_123_456, "2024-02-29T12:34:56.123456Z");
        check(4_102_444_799_999_999, "2099-12-31T23:59:59.999999Z");
        check(-1, "1969-12-31T23:59:59.999999Z");
    }

    #[test]
    fn every_day_of_eight_centuries_survives_the_round_trip() {
        for day in days_from_civil(1800, 1, 1)..days_from_civil(2600, 1, 1) {
            let (year, month, date) = civil_from_days(day);
            assert_eq!(days_from_civil(year, month, date), day);
        }
    }

    #[test]
    fn shorter_fractions_are_read_and_nonsense_is_not() {
        assert_eq!(Timestamp::parse("1970-01-01T00:00:01.5Z"), Some(Timestamp(1_500_000)));
        assert_eq!(Timestamp::parse("1970-01-01T00:00:01Z"), Some(Timestamp(1_000_000)));
        for text in [
            "",
            "Z",
            "1970-01-01",
            "1970-13-01T00:00:00Z",
            "1970-01-01T00:00:00.x1Z",
            "1970-01-01T00:00:00+01:00",
            "-970-01-01T00:00:00Z",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text:?}");
        }
    }
}
