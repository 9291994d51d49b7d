//! Parses a request of the Web API into its method, arguments and token. Slack reads them from the
//! query, a form or JSON, and each of the three has its own rules. The modules of the methods
//! interpret the arguments.

use serde_json::{Map, Value};

use crate::http_wire::HttpRequest;

/// The part of a request that contains the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenPlace {
    Header,
    Form,
}

/// A parsed request of the Web API.
#[derive(Clone)]
pub(super) struct ApiCall {
    pub(super) method: String,
    pub(super) is_get: bool,
    pub(super) content_type: Option<String>,
    pub(super) token: Option<(String, TokenPlace)>,
    pub(super) arguments: CallArguments,
    pub(super) is_json: bool,
    /// Slack's warning about an accepted request.
    pub(super) warning: Option<&'static str>,
    /// The error for a body that Slack could not parse.
    pub(super) malformed: Option<&'static str>,
}

/// The arguments of a call, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct CallArguments(pub(super) Map<String, Value>);

impl ApiCall {
    /// Parses a request. Returns `None` if the path is not the Web API's.
    pub(super) fn read(request: &HttpRequest) -> Option<ApiCall> {
        let method = request.path.strip_prefix("/api/")?.to_owned();
        let mut call = ApiCall {
            method,
            is_get: request.method == "GET",
            content_type: request.header("content-type").map(str::to_owned),
            token: None,
            arguments: decode_form(&request.query).unwrap_or_default(),
            is_json: false,
            warning: None,
            malformed: None,
        };
        // Slack no longer accepts tokens in a query, where every proxy would log them.
        call.arguments.0.remove("token");
        if !call.is_get {
            call.read_body(&request.body);
        }
        let bearer = request.header("authorization").and_then(|value| value.split_once(' '));
        if let Some((_, token)) = bearer.filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer")) {
            call.token = Some((token.trim().to_owned(), TokenPlace::Header));
        }
        Some(call)
    }

    fn read_body(&mut self, body: &[u8]) {
        let content_type = self.content_type.clone().unwrap_or_default().to_ascii_lowercase();
        let has_charset = content_type.contains("charset=");
        match content_type.split(';').next().unwrap_or_default().trim() {
            // Slack's client for Python sends an empty body as JSON when there are no arguments.
            "application/json" if !body.is_empty() => {
                self.is_json = true;
                self.warning = (!has_charset).then_some("missing_charset");
                match serde_json::from_slice(body) {
                    // A token in the body is ignored: it must be in the header.
                    Ok(Value::Object(fields)) => self.arguments.0.extend(fields),
                    Ok(_) => self.malformed = Some("json_not_object"),
                    Err(_) => self.malformed = Some("invalid_json"),
                }
            }
            "application/x-www-form-urlencoded" => {
                self.warning = has_charset.then_some("superfluous_charset");
                match std::str::from_utf8(body).ok().and_then(decode_form) {
                    Some(form) => self.arguments.0.extend(form.0),
                    None => self.malformed = Some("invalid_form_data"),
                }
                if let Some(Value::String(token)) = self.arguments.0.remove("token") {
                    self.token = Some((token, TokenPlace::Form));
                }
            }
            _ if body.is_empty() => {}
            "" => self.malformed = Some("missing_post_type"),
            _ => self.malformed = Some("invalid_post_type"),
        }
    }
}

impl CallArguments {
    /// Returns an argument as text. JSON may contain numbers and booleans where a form contains
    /// their spelling. Empty counts as absent.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        match self.0.get(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            other => Some(other.to_string()),
        }
        .filter(|text| !text.is_empty())
    }

    /// Returns an argument as a boolean; `true` and `1` are true.
    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.text(name).map(|text| text == "true" || text == "1")
    }

    /// Returns a nested argument, which a form contains as JSON text. The inner `Err` means that
    /// the text is no JSON.
    pub(super) fn nested(&self, name: &str) -> Option<Result<Value, ()>> {
        match self.0.get(name)? {
            Value::Null => None,
            Value::String(text) if text.is_empty() => None,
            Value::String(text) => Some(serde_json::from_str(text).map_err(|_| ())),
            other => Some(Ok(other.clone())),
        }
    }
}

/// Decodes a form. Returns `None` if an escape is broken or the text is not UTF-8.
fn decode_form(form: &str) -> Option<CallArguments> {
    let mut fields = Map::new();
    for pair in form.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        fields.insert(decode_percent(name)?, decode_percent(value)?.into());
    }
    Some(CallArguments(fields))
}

fn decode_percent(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let high = char::from(rest.next()?).to_digit(16)?;
                let low = char::from(rest.next()?).to_digit(16)?;
                (high * 16 + low) as u8
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(content_type: &str, body: &str) -> ApiCall {
        let request = HttpRequest {
            method: "POST".to_owned(),
            path: "/api/apps.connections.open".to_owned(),
            query: String::new(),
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            body: body.as_bytes().to_vec(),
            keep_alive: false,
        };
        ApiCall::read(&request).unwrap()
    }

    #[test]
    fn an_empty_body_has_no_arguments_and_a_broken_one_is_seen() {
        let json = "application/json;charset=utf-8";
        assert_eq!(post(json, "").malformed, None);
        assert_eq!(post(json, "{").malformed, Some("invalid_json"));
        assert_eq!(post("", "x").malformed, Some("missing_post_type"));
    }

    #[test]
    fn a_form_is_decoded_and_a_broken_escape_is_seen() {
        let form = decode_form("a=1+2&b=%C3%A9%26&c=&d").unwrap();
        assert_eq!(form.text("a").as_deref(), Some("1 2"));
        assert_eq!(form.text("b").as_deref(), Some("é&"));
        assert_eq!((form.text("c"), form.text("d")), (None, None));
        for broken in ["a=%2", "a=%zz", "a=%ff"] {
            assert!(decode_form(broken).is_none(), "{broken}");
        }
    }
}
