//! Executes `conversations.history` and `conversations.replies`. It selects the messages, their
//! order and their page.
//!
//! History is newest first within a page. The pages go back in time, except when `oldest` is given
//! without `latest`: then they start at the oldest message and go forward. Replies are oldest
//! first, and the first page begins with the parent, even if it is outside of the requested time.

use serde_json::{Value, json};

use super::arguments::{ApiCall, CallArguments};
use super::methods::{MethodError, MethodResult, Success};
use super::workspace::{Metadata, SlackMessage, SlackWorkspace, parse_ts};

const HISTORY_PAGE: usize = 100;
const HISTORY_MOST: usize = 999;
const REPLIES_PAGE: usize = 1_000;

pub(super) fn list_history(workspace: &mut SlackWorkspace, call: &ApiCall) -> MethodResult {
    let arguments = &call.arguments;
    let channel = find_channel(workspace, arguments)?;
    let span = Span::read(arguments)?;
    let cursor = read_cursor(arguments)?;
    let limit = read_limit(arguments, HISTORY_PAGE, HISTORY_MOST)?;
    let mut messages = workspace.messages(&channel);
    messages.retain(|message| message.thread_ts.is_none() && span.contains(message));
    let pages = match (span.oldest, span.latest) {
        (Some(_), None) => Pages::Forward,
        _ => Pages::Back,
    };
    let (mut page, next) = cut_page(&messages, cursor, limit, pages);
    page.reverse();
    let mut answer = show(workspace, &page, next, arguments);
    answer.fields.insert("pin_count".to_owned(), 0.into());
    Ok(answer)
}

pub(super) fn list_replies(workspace: &mut SlackWorkspace, call: &ApiCall) -> MethodResult {
    let arguments = &call.arguments;
    let channel = find_channel(workspace, arguments)?;
    let ts = arguments.text("ts").ok_or_else(|| MethodError::missing("ts"))?;
    let not_found = || MethodError::new("thread_not_found");
    let named = workspace.find(&channel, &ts).ok_or_else(not_found)?;
    // Any message of a thread identifies it.
    let parent = match &named.thread_ts {
        Some(thread_ts) => workspace.find(&channel, thread_ts).ok_or_else(not_found)?,
        None => named,
    };
    let span = Span::read(arguments)?;
    let cursor = read_cursor(arguments)?;
    let limit = read_limit(arguments, REPLIES_PAGE, REPLIES_PAGE)?;
    let replies = workspace.replies(parent);
    let in_span = replies.into_iter().filter(|reply| span.contains(reply));
    let messages: Vec<&SlackMessage> = std::iter::once(parent).chain(in_span).collect();
    let (page, next) = cut_page(&messages, cursor, limit, Pages::Forward);
    Ok(show(workspace, &page, next, arguments))
}

/// `oldest` and `latest` in microseconds; both ends are included only if `inclusive`.
struct Span {
    oldest: Option<u64>,
    latest: Option<u64>,
    inclusive: bool,
}

impl Span {
    fn read(arguments: &CallArguments) -> Result<Span, MethodError> {
        let end = |name: &str| match arguments.text(name) {
            None => Ok(None),
            Some(text) => match parse_ts(&text) {
                Some(micros) => Ok(Some(micros)),
                None => Err(MethodError::new(&format!("invalid_ts_{name}"))),
            },
        };
        let inclusive = arguments.flag("inclusive") == Some(true);
        Ok(Span { oldest: end("oldest")?, latest: end("latest")?, inclusive })
    }

    fn contains(&self, message: &SlackMessage) -> bool {
        let at = micros(message);
        let after = self.oldest.is_none_or(|end| at > end || (self.inclusive && at == end));
        let before = self.latest.is_none_or(|end| at < end || (self.inclusive && at == end));
        after && before
    }
}

fn find_channel(
    workspace: &SlackWorkspace,
    arguments: &CallArguments,
) -> Result<String, MethodError> {
    let channel = arguments.text("channel").ok_or_else(|| MethodError::missing("channel"))?;
    if !workspace.has_channel(&channel) {
        return Err(MethodError::new("channel_not_found"));
    }
    Ok(channel)
}

fn read_limit(
    arguments: &CallArguments,
    default: usize,
    most: usize,
) -> Result<usize, MethodError> {
    match arguments.text("limit") {
        None => Ok(default),
        Some(text) => match text.parse() {
            Ok(0) => Ok(default),
            Ok(limit) => Ok(most.min(limit)),
            Err(_) => Err(MethodError::new("invalid_limit")),
        },
    }
}

/// The direction of the next page.
#[derive(Clone, Copy)]
enum Pages {
    Forward,
    Back,
}

/// Returns the page that starts at the cursor, and the start of the next one. Messages and page are
/// oldest first.
fn cut_page<'a>(
    messages: &[&'a SlackMessage],
    cursor: Option<u64>,
    limit: usize,
    pages: Pages,
) -> (Vec<&'a SlackMessage>, Option<u64>) {
    let count = messages.len();
    match pages {
        Pages::Forward => {
            let is_past = |message: &&SlackMessage| cursor.is_some_and(|at| micros(message) < at);
            let start = messages.partition_point(is_past);
            let end = (start + limit).min(count);
            (messages[start..end].to_vec(), messages.get(end).map(|message| micros(message)))
        }
        Pages::Back => {
            let is_left = |message: &&SlackMessage| cursor.is_none_or(|at| micros(message) <= at);
            let end = messages.partition_point(is_left);
            let start = end.saturating_sub(limit);
            let next = start.checked_sub(1).map(|index| micros(messages[index]));
            (messages[start..end].to_vec(), next)
        }
    }
}

fn show(
    workspace: &SlackWorkspace,
    page: &[&SlackMessage],
    next: Option<u64>,
    arguments: &CallArguments,
) -> Success {
    let metadata = match arguments.flag("include_all_metadata") {
        Some(true) => Metadata::Shown,
        _ => Metadata::Hidden,
    };
    let messages: Vec<Value> =
        page.iter().map(|message| workspace.as_json(message, metadata)).collect();
    let mut answer = json!({"messages": messages, "has_more": next.is_some()});
    if let Some(next) = next {
        answer["response_metadata"] = json!({"next_cursor": write_cursor(next)});
    }
    answer.into()
}

fn micros(message: &SlackMessage) -> u64 {
    parse_ts(&message.ts).unwrap_or_default()
}

/// Writes a cursor: opaque, and like Slack's with an end that a client must escape in a form.
fn write_cursor(next: u64) -> String {
    format!("bmV4dA{next:x}==")
}

fn read_cursor(arguments: &CallArguments) -> Result<Option<u64>, MethodError> {
    let Some(cursor) = arguments.text("cursor") else { return Ok(None) };
    let digits = cursor.strip_prefix("bmV4dA").and_then(|rest| rest.strip_suffix("=="));
    match digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
        Some(next) => Ok(Some(next)),
        None => Err(MethodError::new("invalid_cursor")),
    }
}
