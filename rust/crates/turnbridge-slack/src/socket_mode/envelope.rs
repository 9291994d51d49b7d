//! Parses the messages of a socket, and formats acks. A message with an `envelope_id` is an
//! envelope, of whichever type. Other unknown messages, and texts that are no JSON, are ignored.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::value::RawValue;

/// A message that Slack wants acked.
#[derive(Clone, PartialEq, Eq)]
pub struct Envelope<'a> {
    pub id: String,
    /// `events_api`, `interactive`, `slash_commands`, or a later type.
    pub kind: String,
    /// `payload.event_id`: the same in every delivery of an event.
    pub event_id: Option<String>,
    /// 0 the first time. More does not mean that it was received before: an event that was sent
    /// while no socket was open comes as a retry only.
    pub retry_attempt: u32,
    pub retry_reason: Option<String>,
    /// The JSON of the payload, byte for byte.
    pub payload: &'a str,
}

/// Leaves out the texts of users.
impl fmt::Debug for Envelope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Envelope")
            .field("id", &self.id)
            .field("kind", &self.kind)
            .field("event_id", &self.event_id)
            .field("retry_attempt", &self.retry_attempt)
            .field("payload_bytes", &self.payload.len())
            .finish_non_exhaustive()
    }
}

/// One text message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Incoming<'a> {
    Hello { num_connections: u32, app_id: Option<String> },
    Disconnect { reason: String },
    Envelope(Envelope<'a>),
    Ignored,
}

type EnvelopeFields<'a> = BTreeMap<String, &'a RawValue>;

pub(crate) fn parse_incoming(text: &str) -> Incoming<'_> {
    let Some(fields) = parse_fields(text) else { return Incoming::Ignored };
    let kind = string(&fields, "type").unwrap_or_default();
    if let Some(id) = string(&fields, "envelope_id").filter(|id| !id.is_empty()) {
        let payload = fields.get("payload").map_or("null", |payload| payload.get());
        return Incoming::Envelope(Envelope {
            id,
            kind,
            event_id: parse_fields(payload).and_then(|payload| string(&payload, "event_id")),
            retry_attempt: number(&fields, "retry_attempt").unwrap_or(0),
            retry_reason: string(&fields, "retry_reason").filter(|reason| !reason.is_empty()),
            payload,
        });
    }
    match kind.as_str() {
        "hello" => {
            let connection =
                fields.get("connection_info").and_then(|info| parse_fields(info.get()));
            Incoming::Hello {
                num_connections: number(&fields, "num_connections").unwrap_or(1),
                app_id: connection.and_then(|info| string(&info, "app_id")),
            }
        }
        "disconnect" => {
            Incoming::Disconnect { reason: string(&fields, "reason").unwrap_or_default() }
        }
        _ => Incoming::Ignored,
    }
}

pub(crate) fn format_ack(envelope_id: &str) -> String {
    serde_json::json!({"envelope_id": envelope_id}).to_string()
}

/// Returns `None` if the text is no object.
fn parse_fields(json: &str) -> Option<EnvelopeFields<'_>> {
    serde_json::from_str(json).ok()
}

fn string(fields: &EnvelopeFields<'_>, name: &str) -> Option<String> {
    serde_json::from_str(fields.get(name)?.get()).ok()
}

fn number(fields: &EnvelopeFields<'_>, name: &str) -> Option<u32> {
    serde_json::from_str(fields.get(name)?.get()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_says_how_many_are_connected() {
        let text = r#"{"type":"hello","num_connections":2,"debug_info":{"host":"x"},"connection_info":{"app_id":"A1"}}"#;
        let app_id = Some("A1".to_owned());
        assert_eq!(parse_incoming(text), Incoming::Hello { num_connections: 2, app_id });
        let bare = Incoming::Hello { num_connections: 1, app_id: None };
        assert_eq!(parse_incoming(r#"{"type":"hello"}"#), bare);
        assert_eq!(parse_incoming(r#"{"type":"hello","num_connections":"2"}"#), bare);
    }

    #[test]
    fn an_envelope_keeps_its_payload_byte_for_byte() {
        let payload = r#"{ "event_id":"Ev1", "event":{"text":"\u00e9 é","ts":"1.000100"} }"#;
        let text = format!(
            r#"{{"envelope_id":"e\"1","payload":{payload},"type":"events_api","accepts_response_payload":false,"retry_attempt":1,"retry_reason":"timeout"}}"#
        );
        let wanted = Envelope {
            id: "e\"1".to_owned(),
            kind: "events_api".to_owned(),
            event_id: Some("Ev1".to_owned()),
            retry_attempt: 1,
            retry_reason: Some("timeout".to_owned()),
            payload,
        };
        assert_eq!(parse_incoming(&text), Incoming::Envelope(wanted));
        assert_eq!(format_ack("e\"1"), r#"{"envelope_id":"e\"1"}"#);
    }

    #[test]
    fn what_has_an_envelope_id_is_an_envelope_whatever_its_type() {
        for (text, kind, payload) in [
            (
                r#"{"envelope_id":"1","type":"from_the_future","payload":[1]}"#,
                "from_the_future",
                "[1]",
            ),
            (r#"{"envelope_id":"1","type":7,"retry_attempt":-1}"#, "", "null"),
            (r#"{"envelope_id":"1","type":"hello"}"#, "hello", "null"),
        ] {
            let Incoming::Envelope(envelope) = parse_incoming(text) else { panic!("{text}") };
            assert_eq!((envelope.kind.as_str(), envelope.payload), (kind, payload), "{text}");
            assert_eq!((envelope.event_id, envelope.retry_attempt), (None, 0), "{text}");
        }
    }

    #[test]
    fn junk_is_ignored() {
        for text in [
            "",
            "hello",
            "[]",
            "{}",
            "null",
            r#"{"type":"hello""#,
            r#"{"type":"goodbye"}"#,
            r#"{"envelope_id":"","type":"events_api"}"#,
            r#"{"envelope_id":5,"type":"events_api"}"#,
            "{\"type\":\"hello\"}\u{0}",
        ] {
            assert_eq!(parse_incoming(text), Incoming::Ignored, "{text:?}");
        }
        let reason = "warning".to_owned();
        let text = r#"{"type":"disconnect","reason":"warning","debug_info":null}"#;
        assert_eq!(parse_incoming(text), Incoming::Disconnect { reason });
    }

    #[test]
    fn a_log_of_an_envelope_says_nothing_of_what_was_said() {
        let text =
            r#"{"envelope_id":"1","type":"events_api","payload":{"event":{"text":"secret"}}}"#;
        let Incoming::Envelope(envelope) = parse_incoming(text) else { panic!() };
        assert!(!format!("{envelope:?}").contains("secret"));
    }
}
