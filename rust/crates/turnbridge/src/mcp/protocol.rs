//! Responds to lines: JSON-RPC 2.0, and the part of MCP that one tool needs.
//!
//! It has no side effects except the speech, which is a callback.
//! https://modelcontextprotocol.io/specification

use serde_json::{Value, json};

/// The supported versions, the newest first. They do not differ in the used parts.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const UNKNOWN_METHOD: i32 = -32601;
const INVALID_PARAMETERS: i32 = -32602;

const DESCRIPTION: &str = "Say a short summary aloud to the user, who may not be looking at the \
    screen. One to three sentences of plain prose in the user's language: what was done, what \
    came of it, and what you need from them, if anything. No Markdown, no code, no paths, no \
    lists. Returns as soon as the speech has begun; call it once, at the end of a turn.";

/// The result of a tool call: a text, and whether it is an error.
pub struct ToolResult {
    text: String,
    is_error: bool,
}

impl ToolResult {
    pub fn well(text: &str) -> ToolResult {
        ToolResult { text: text.to_owned(), is_error: false }
    }

    pub fn badly(text: &str) -> ToolResult {
        ToolResult { text: text.to_owned(), is_error: true }
    }

    fn to_json(&self) -> Value {
        json!({"content": [{"type": "text", "text": self.text}], "isError": self.is_error})
    }
}

struct RpcError {
    code: i32,
    message: String,
}

fn refuse<T>(code: i32, message: impl Into<String>) -> Result<T, RpcError> {
    Err(RpcError { code, message: message.into() })
}

/// Returns the response to a line, or `None` if the line needs none.
pub fn answer(line: &[u8], mut speak: impl FnMut(&str) -> ToolResult) -> Option<Value> {
    if line.trim_ascii().is_empty() {
        return None;
    }
    match serde_json::from_slice(line) {
        Ok(Value::Array(batch)) => answer_batch(&batch, &mut speak),
        Ok(message) => answer_one(&message, &mut speak),
        Err(error) => Some(failure(&Value::Null, PARSE_ERROR, &format!("no JSON: {error}"))),
    }
}

/// Returns the response to a line above the length limit.
pub fn too_long() -> Value {
    failure(&Value::Null, INVALID_REQUEST, "the line is longer than 16 MiB")
}

/// Handles a batch. Only 2025-03-26 has batches; the support is cheap.
fn answer_batch(batch: &[Value], speak: &mut dyn FnMut(&str) -> ToolResult) -> Option<Value> {
    if batch.is_empty() {
        return Some(failure(&Value::Null, INVALID_REQUEST, "the batch is empty"));
    }
    let answers: Vec<_> = batch.iter().filter_map(|message| answer_one(message, speak)).collect();
    (!answers.is_empty()).then_some(Value::Array(answers))
}

fn answer_one(message: &Value, speak: &mut dyn FnMut(&str) -> ToolResult) -> Option<Value> {
    // A response to a request of this server, which sends none.
    let is_answer = message.get("result").or(message.get("error")).is_some();
    if is_answer && message.get("method").is_none() {
        return None;
    }
    let Some(method) = message["method"].as_str().filter(|_| message["jsonrpc"] == "2.0") else {
        let why = "neither a request nor a notification of JSON-RPC 2.0";
        return Some(failure(valid_id(message).unwrap_or(&Value::Null), INVALID_REQUEST, why));
    };
    // A notification gets no response.
    message.get("id")?;
    let Some(id) = valid_id(message) else {
        let why = "an id is a string or a number";
        return Some(failure(&Value::Null, INVALID_REQUEST, why));
    };
    let answer = match result(method, &message["params"], speak) {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(RpcError { code, message }) => failure(id, code, &message),
    };
    Some(answer)
}

fn valid_id(message: &Value) -> Option<&Value> {
    message.get("id").filter(|id| id.is_string() || id.is_number())
}

fn failure(id: &Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

fn result(
    method: &str,
    parameters: &Value,
    speak: &mut dyn FnMut(&str) -> ToolResult,
) -> Result<Value, RpcError> {
    match method {
        "initialize" => Ok(initialize(parameters)),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({"tools": [tool()]})),
        "tools/call" => Ok(speak(text_to_speak(parameters)?).to_json()),
        _ => refuse(UNKNOWN_METHOD, format!("there is no method `{method}`")),
    }
}

fn initialize(parameters: &Value) -> Value {
    let wanted = parameters["protocolVersion"].as_str().unwrap_or_default();
    let version = VERSIONS.into_iter().find(|known| *known == wanted).unwrap_or(VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "turnbridge", "version": env!("CARGO_PKG_VERSION")},
    })
}

fn tool() -> Value {
    json!({
        "name": "speak",
        "title": "Speak aloud",
        "description": DESCRIPTION,
        "inputSchema": {
            "type": "object",
            "properties": {
                "text": {
                    "type": "string",
                    "minLength": 1,
                    "description": "What to say, in plain prose.",
                },
            },
            "required": ["text"],
        },
        "annotations": {
            "title": "Speak aloud",
            "readOnlyHint": true,
            "destructiveHint": false,
            "openWorldHint": false,
        },
    })
}

fn text_to_speak(parameters: &Value) -> Result<&str, RpcError> {
    match parameters["name"].as_str() {
        Some("speak") => {}
        Some(other) => return refuse(INVALID_PARAMETERS, format!("there is no tool `{other}`")),
        None => return refuse(INVALID_PARAMETERS, "`name` must be the name of a tool"),
    }
    match parameters["arguments"]["text"].as_str() {
        Some(text) if !text.trim().is_empty() => Ok(text),
        _ => refuse(INVALID_PARAMETERS, "`text` must be a string that is not empty"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the response to a line, and the spoken text.
    fn shown(line: &str) -> String {
        let mut spoken = String::new();
        let answer = answer(line.as_bytes(), |text| {
            spoken.push_str(&format!(" ♪ {text}"));
            ToolResult::well("Speaking.")
        });
        answer.map_or("nothing".to_owned(), |answer| answer.to_string()) + &spoken
    }

    #[test]
    fn the_version_is_the_clients_if_it_is_known() {
        let version = |wanted: &str| {
            initialize(&json!({"protocolVersion": wanted}))["protocolVersion"].clone()
        };
        for known in VERSIONS {
            assert_eq!(version(known), known);
        }
        for unknown in ["2024-10-07", "2099-01-01", ""] {
            assert_eq!(version(unknown), "2025-11-25");
        }
        assert_eq!(initialize(&Value::Null)["protocolVersion"], "2025-11-25");
    }

    #[test]
    fn requests_are_answered_and_notifications_are_not() {
        insta::assert_snapshot!(shown(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#), @r#"{"id":"a","jsonrpc":"2.0","result":{}}"#);
        insta::assert_snapshot!(shown(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"speak","arguments":{"text":"Done."}}}"#), @r#"{"id":1,"jsonrpc":"2.0","result":{"content":[{"text":"Speaking.","type":"text"}],"isError":false}} ♪ Done."#);
        for line in [
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"speak"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}"#,
            "",
            " \r",
        ] {
            assert_eq!(shown(line), "nothing", "{line}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_by_its_code() {
        insta::assert_snapshot!(shown("{"), @r#"{"error":{"code":-32700,"message":"no JSON: EOF while parsing an object at line 1 column 1"},"id":null,"jsonrpc":"2.0"}"#);
        insta::assert_snapshot!(shown("1"), @r#"{"error":{"code":-32600,"message":"neither a request nor a notification of JSON-RPC 2.0"},"id":null,"jsonrpc":"2.0"}"#);
        insta::assert_snapshot!(shown("[]"), @r#"{"error":{"code":-32600,"message":"the batch is empty"},"id":null,"jsonrpc":"2.0"}"#);
        insta::assert_snapshot!(shown(r#"{"id":1,"method":"ping"}"#), @r#"{"error":{"code":-32600,"message":"neither a request nor a notification of JSON-RPC 2.0"},"id":1,"jsonrpc":"2.0"}"#);
        insta::assert_snapshot!(shown(r#"{"jsonrpc":"2.0","id":1}"#), @r#"{"error":{"code":-32600,"message":"neither a request nor a notification of JSON-RPC 2.0"},"id":1,"jsonrpc":"2.0"}"#);
        insta::assert_snapshot!(shown(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#), @r#"{"error":{"code":-32600,"message":"an id is a string or a number"},"id":null,"jsonrpc":"2.0"}"#);
        insta::assert_snapshot!(shown(r#"{"jsonrpc":"2.0","id":1,"method":"prompts/list"}"#), @r#"{"error":{"code":-32601,"message":"there is no method `prompts/list`"},"id":1,"jsonrpc":"2.0"}"#);
        insta::assert_snapshot!(shown(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"shout"}}"#), @r#"{"error":{"code":-32602,"message":"there is no tool `shout`"},"id":1,"jsonrpc":"2.0"}"#);
        insta::assert_snapshot!(shown(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#), @r#"{"error":{"code":-32602,"message":"`name` must be the name of a tool"},"id":1,"jsonrpc":"2.0"}"#);
        for arguments in ["{}", "null", r#"{"text":1}"#, r#"{"text":" "}"#] {
            let line = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"speak","arguments":{arguments}}}}}"#
            );
            assert!(shown(&line).contains("-32602"), "{line}");
        }
    }

    #[test]
    fn a_batch_is_answered_as_one() {
        let batch =
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},3]"#;
        insta::assert_snapshot!(shown(batch), @r#"[{"id":1,"jsonrpc":"2.0","result":{}},{"error":{"code":-32600,"message":"neither a request nor a notification of JSON-RPC 2.0"},"id":null,"jsonrpc":"2.0"}]"#);
        assert_eq!(shown(r#"[{"jsonrpc":"2.0","method":"x"}]"#), "nothing");
    }
}
