//! Checks ids and names of methods before they are sent, so that a mixed-up value is an error here
//! and does not reach the wrong channel.

use crate::call_error::CallError;

pub(crate) fn check_channel(id: &str) -> Result<(), CallError> {
    check(is_id(id, &['D']), "`channel` must be the id of a direct message (`D…`)")
}

pub(crate) fn check_user(id: &str) -> Result<(), CallError> {
    check(is_id(id, &['U', 'W']), "`user` must be the id of a person (`U…` or `W…`)")
}

pub(crate) fn check_ts(ts: &str) -> Result<(), CallError> {
    check(is_ts(ts), "a message is named by its time (`1700000000.000100`)")
}

/// Checks a method's name. Slack's names are dotted words; any other text would be another path.
pub(crate) fn check_method(method: &str) -> Result<(), CallError> {
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric());
    check(method.split('.').all(is_word), "a method is named like `chat.postMessage`")
}

pub(crate) fn is_direct_message(id: &str) -> bool {
    is_id(id, &['D'])
}

pub(crate) fn is_ts(ts: &str) -> bool {
    let is_number = |part: &str| {
        (1..=16).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    ts.split_once('.').is_some_and(|(seconds, rest)| is_number(seconds) && is_number(rest))
}

/// Parses a ts for comparisons: as text `9.5` would come after `10.5`.
pub(crate) fn parse_ts(ts: &str) -> Option<(u64, u64)> {
    let (seconds, rest) = ts.split_once('.').filter(|_| is_ts(ts))?;
    Some((seconds.parse().ok()?, format!("{rest:0<16}").parse().ok()?))
}

fn is_id(id: &str, first: &[char]) -> bool {
    id.strip_prefix(first).is_some_and(|rest| {
        (1..=32).contains(&rest.len())
            && rest.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
    })
}

fn check(is_valid: bool, what: &'static str) -> Result<(), CallError> {
    if is_valid { Ok(()) } else { Err(CallError::Invalid { what }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_their_letter_and_nothing_odd() {
        assert!(check_channel("D024BE91L").is_ok());
        assert!(check_user("U024BE7LH").is_ok() && check_user("W012A3CDE").is_ok());
        for id in ["", "D", "C024BE91L", "D024be91l", "D1/..", "D1 ", "D1\r\n", " D1"] {
            assert!(check_channel(id).is_err(), "{id:?}");
        }
        assert!(check_user("D024BE91L").is_err());
    }

    #[test]
    fn a_ts_is_two_numbers() {
        assert!(check_ts("1700000000.000100").is_ok());
        for ts in ["", "1700000000", "1.", ".1", "1.2.3", "1,2", "1.2e3", "-1.0", "٣.١"] {
            assert!(check_ts(ts).is_err(), "{ts:?}");
        }
    }

    #[test]
    fn a_method_is_no_path() {
        assert!(check_method("chat.postMessage").is_ok());
        for method in ["", ".", "chat..x", "../x", "chat.postMessage?x", "a/b"] {
            assert!(check_method(method).is_err(), "{method:?}");
        }
    }
}
