//! Checks the blocks of a message by Slack's rules, as far as a chat app needs them. An error names
//! the place by JSON pointer. Types of blocks in `UNCHECKED_TYPES` are accepted with any content.

use serde_json::Value;

use super::methods::MethodError;

const BLOCKS: usize = 50;
/// The limit of all `markdown` blocks of a message together.
const MARKDOWN: usize = 12_000;
/// The limit of all texts of a message together: observed, not documented (slackapi/bolt-js#2509).
const ALL_TEXT: usize = 13_200;

const UNCHECKED_TYPES: [&str; 9] = [
    "context_actions",
    "divider",
    "file",
    "image",
    "input",
    "rich_text",
    "table",
    "task_card",
    "video",
];

/// Returns an error if Slack would refuse these blocks.
pub(super) fn check_blocks(blocks: &[Value]) -> Result<(), MethodError> {
    if blocks.len() > BLOCKS {
        return Err(invalid(&format!("no more than {BLOCKS} items allowed"), "/blocks"));
    }
    for (index, block) in blocks.iter().enumerate() {
        check_block(block, &format!("/blocks/{index}"))?;
    }
    let markdown = blocks.iter().filter(|block| block["type"] == "markdown");
    let markdown: usize = markdown.map(count_text).sum();
    let all: usize = blocks.iter().map(count_text).sum();
    if markdown > MARKDOWN || all > ALL_TEXT {
        return Err(MethodError::new("msg_blocks_too_long"));
    }
    Ok(())
}

fn check_block(block: &Value, at: &str) -> Result<(), MethodError> {
    let Some(kind) = block["type"].as_str() else {
        return Err(invalid("missing required field: type", at));
    };
    check_length(&block["block_id"], 255, &format!("{at}/block_id"))?;
    match kind {
        "markdown" => match block["text"].as_str() {
            // The length limit applies to all of them together.
            Some(text) if !text.is_empty() => Ok(()),
            _ => Err(invalid("missing required field: text", at)),
        },
        "section" => check_section(block, at),
        "header" => check_text_object(&block["text"], &["plain_text"], 150, &format!("{at}/text")),
        "context" => {
            check_elements(block, 10, at)?;
            Ok(())
        }
        "actions" => {
            for (index, element) in check_elements(block, 25, at)?.iter().enumerate() {
                check_button(element, &format!("{at}/elements/{index}"))?;
            }
            Ok(())
        }
        known if UNCHECKED_TYPES.contains(&known) => Ok(()),
        _ => Err(invalid(&format!("unsupported type: {kind}"), &format!("{at}/type"))),
    }
}

fn check_section(block: &Value, at: &str) -> Result<(), MethodError> {
    let anything = ["mrkdwn", "plain_text"];
    match (&block["text"], block["fields"].as_array()) {
        (Value::Null, None) => Err(invalid("missing required field: text", at)),
        (Value::Null, Some(_)) => Ok(()),
        (text, _) => check_text_object(text, &anything, 3_000, &format!("{at}/text")),
    }
}

fn check_elements<'a>(block: &'a Value, most: usize, at: &str) -> Result<&'a [Value], MethodError> {
    let place = format!("{at}/elements");
    match block["elements"].as_array() {
        None => Err(invalid("missing required field: elements", at)),
        Some(elements) if elements.is_empty() => {
            Err(invalid("must provide at least 1 item", &place))
        }
        Some(elements) if elements.len() > most => {
            Err(invalid(&format!("no more than {most} items allowed"), &place))
        }
        Some(elements) => Ok(elements),
    }
}

fn check_button(element: &Value, at: &str) -> Result<(), MethodError> {
    check_length(&element["action_id"], 255, &format!("{at}/action_id"))?;
    if element["type"] != "button" {
        return Ok(());
    }
    check_length(&element["value"], 2_000, &format!("{at}/value"))?;
    check_text_object(&element["text"], &["plain_text"], 75, &format!("{at}/text"))
}

fn check_text_object(
    text: &Value,
    types: &[&str],
    most: usize,
    at: &str,
) -> Result<(), MethodError> {
    if !text["type"].as_str().is_some_and(|kind| types.contains(&kind)) {
        return Err(invalid("must be a valid text object", at));
    }
    if text["text"].as_str().is_none_or(str::is_empty) {
        return Err(invalid("must be more than 0 characters", &format!("{at}/text")));
    }
    check_length(&text["text"], most, &format!("{at}/text"))
}

fn check_length(text: &Value, most: usize, at: &str) -> Result<(), MethodError> {
    match text.as_str() {
        Some(text) if text.chars().count() > most => {
            Err(invalid(&format!("must be less than {} characters", most + 1), at))
        }
        _ => Ok(()),
    }
}

/// Counts the characters of every `text` in a block, at any depth.
fn count_text(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(count_text).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| match value.as_str() {
                Some(text) if name == "text" => text.chars().count(),
                _ => count_text(value),
            })
            .sum(),
        _ => 0,
    }
}

fn invalid(what: &str, at: &str) -> MethodError {
    MethodError::explained("invalid_blocks", &format!("{what} [json-pointer:{at}]"))
}
