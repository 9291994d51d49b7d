//! Interprets the answer to a call, without I/O: takes status, `Retry-After` and body, and returns
//! the value or an error. Only `ok` in the body shows a success, not the status. A body with a 5xx
//! status may be a gateway's, so its `ok` proves nothing.

use std::time::Duration;

use serde_json::Value;

use crate::call_error::CallError;
use crate::error_codes;

const WAIT_UNSAID: Duration = Duration::from_secs(30);
/// The longest wait. Slack asks for a minute at most. A larger value is a mistake or not Slack's,
/// and would look like a hang.
const WAIT_MOST: Duration = Duration::from_secs(600);

/// The parts of an HTTP answer.
pub(crate) struct ApiAnswer<'a> {
    pub status: u16,
    pub retry_after: Option<&'a str>,
    /// `Err` contains the reason why there is no whole body.
    pub body: Result<Vec<u8>, String>,
}

pub(crate) fn interpret(answer: ApiAnswer<'_>) -> Result<Value, CallError> {
    let ApiAnswer { status, retry_after, body } = answer;
    let rate_limited = || CallError::RateLimited { after: wait(retry_after) };
    if status == 429 {
        return Err(rate_limited());
    }
    let ambiguous = |what: &str| {
        let cause = if status == 200 { what.to_owned() } else { format!("HTTP {status}, {what}") };
        CallError::Ambiguous { cause }
    };
    let body = body.map_err(|what| ambiguous(&what))?;
    let value: Value = serde_json::from_slice(&body).map_err(|_| ambiguous("no JSON"))?;
    let error = value["error"].as_str().unwrap_or_default();
    match value["ok"].as_bool() {
        Some(false) if error_codes::is_rate_limit(error) => Err(rate_limited()),
        _ if status >= 500 => Err(ambiguous("not by Slack's own word")),
        Some(true) => Ok(value),
        Some(false) if error_codes::is_half_way(error) => Err(ambiguous(error)),
        Some(false) => Err(refused(&value)),
        None => Err(ambiguous("JSON without `ok`")),
    }
}

fn wait(retry_after: Option<&str>) -> Duration {
    let seconds = retry_after.and_then(|text| text.trim().parse::<u64>().ok());
    seconds.map_or(WAIT_UNSAID, |seconds| {
        Duration::from_secs(seconds).clamp(Duration::from_secs(1), WAIT_MOST)
    })
}

fn refused(value: &Value) -> CallError {
    let error = value["error"].as_str().and_then(plain_code);
    let scopes = |name: &str| value[name].as_str().and_then(plain_code);
    let messages = value["response_metadata"]["messages"].as_array().into_iter().flatten();
    CallError::Refused {
        error: error.unwrap_or_else(|| "unknown_error".to_owned()),
        needed: scopes("needed"),
        provided: scopes("provided"),
        messages: messages
            .filter_map(Value::as_str)
            .take(10)
            .map(|message| message.chars().take(300).collect())
            .collect(),
    }
}

/// Returns the code if it is plain. Codes and scopes get into logs and onto screens, so they
/// contain only the expected characters. A token has hyphens, so it does not pass.
pub(crate) fn plain_code(text: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_:.,".contains(&byte);
    (!text.is_empty() && text.len() <= 1000 && text.bytes().all(is_plain)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn say(status: u16, retry_after: Option<&str>, body: &str) -> String {
        let body = Ok(body.as_bytes().to_vec());
        match interpret(ApiAnswer { status, retry_after, body }) {
            Ok(value) => format!("ok: {value}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn ok_alone_is_success() {
        assert_eq!(say(200, None, r#"{"ok":true,"ts":"1.2"}"#), r#"ok: {"ok":true,"ts":"1.2"}"#);
        assert_eq!(say(403, None, r#"{"ok":true}"#), r#"ok: {"ok":true}"#);
    }

    #[test]
    fn slacks_wish_to_wait_is_read_and_bounded() {
        let limited = r#"{"ok":false,"error":"ratelimited"}"#;
        let seconds = [
            (429, Some("7"), limited, 7),
            (429, None, "", 30),
            (429, Some("soon"), "<html>", 30),
            (429, Some("0"), limited, 1),
            (429, Some("99999999999999999999"), limited, 30),
            (429, Some("86400"), limited, 600),
            (200, Some(" 3 "), limited, 3),
            (200, None, r#"{"ok":false,"error":"message_limit_exceeded"}"#, 30),
            (503, None, r#"{"ok":false,"error":"rate_limited"}"#, 30),
        ];
        for (status, header, body, wanted) in seconds {
            assert_eq!(say(status, header, body), format!("Slack asks to wait {wanted} s"));
        }
    }

    #[test]
    fn an_unclear_answer_is_ambiguous() {
        insta::assert_snapshot!(say(200, None, "<html>"), @"Slack gave no clear answer: no JSON");
        insta::assert_snapshot!(say(200, None, r#"{"ok":tr"#), @"Slack gave no clear answer: no JSON");
        insta::assert_snapshot!(say(200, None, "[]"), @"Slack gave no clear answer: JSON without `ok`");
        insta::assert_snapshot!(say(200, None, r#"{"ok":"true"}"#), @"Slack gave no clear answer: JSON without `ok`");
        insta::assert_snapshot!(say(302, None, ""), @"Slack gave no clear answer: HTTP 302, no JSON");
        insta::assert_snapshot!(say(502, None, "bad gateway"), @"Slack gave no clear answer: HTTP 502, no JSON");
        insta::assert_snapshot!(say(500, None, r#"{"ok":true}"#), @"Slack gave no clear answer: HTTP 500, not by Slack's own word");
        for error in ["internal_error", "fatal_error", "service_unavailable", "request_timeout"] {
            let body = format!(r#"{{"ok":false,"error":"{error}"}}"#);
            assert_eq!(say(200, None, &body), format!("Slack gave no clear answer: {error}"));
        }
    }

    #[test]
    fn a_refusal_has_its_code_and_nothing_else_of_the_answer() {
        let body = json!({"ok": false, "error": "missing_scope", "needed": "im:write", "provided": "chat:write,im:history"});
        insta::assert_snapshot!(say(200, None, &body.to_string()), @"Slack refused the call (`missing_scope`: needs `im:write`)");
        for error in ["xoxb-1-secret", "<b>", "", "a b"] {
            let body = json!({"ok": false, "error": error}).to_string();
            assert_eq!(say(200, None, &body), "Slack refused the call (`unknown_error`)");
        }
    }

    #[test]
    fn a_refusal_because_of_blocks_is_known() {
        let about_blocks = |body: Value| {
            let body = Ok(body.to_string().into_bytes());
            interpret(ApiAnswer { status: 200, retry_after: None, body })
                .unwrap_err()
                .is_about_blocks()
        };
        assert!(about_blocks(json!({"ok": false, "error": "invalid_blocks"})));
        assert!(about_blocks(json!({"ok": false, "error": "msg_blocks_too_long"})));
        let with = |message: &str| json!({"ok": false, "error": "invalid_arguments", "response_metadata": {"messages": [message]}});
        assert!(about_blocks(with(
            "[ERROR] unsupported type: markdown [json-pointer:/blocks/0/type]"
        )));
        assert!(!about_blocks(with("[ERROR] missing required field: channel")));
        assert!(!about_blocks(json!({"ok": false, "error": "msg_too_long"})));
    }
}
