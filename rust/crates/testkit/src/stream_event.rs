//! Helpers for the event streams of both model APIs: they mark the event with the first text, after
//! which a reply may pause, split a text into pieces, and create unique ids.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

/// One event of a stream, and whether it contains the first piece of text.
pub(crate) struct StreamEvent {
    pub(crate) data: Value,
    pub(crate) is_first_text: bool,
}

/// Marks the event at `first_text`, if there is one.
pub(crate) fn mark_first_text(events: Vec<Value>, first_text: Option<usize>) -> Vec<StreamEvent> {
    let with_mark = |(index, data)| StreamEvent { data, is_first_text: first_text == Some(index) };
    events.into_iter().enumerate().map(with_mark).collect()
}

/// Splits after the first paragraph, if there are several, else after the first word: Claude's
/// terminal shows only complete lines. Pieces are never empty.
pub(crate) fn split_into_pieces(text: &str) -> impl Iterator<Item = &str> {
    let end_of_paragraph = text.find("\n\n").map(|start| start + 2);
    let (first, rest) =
        text.split_at(end_of_paragraph.or_else(|| text.find(' ')).unwrap_or(text.len()));
    [first, rest].into_iter().filter(|piece| !piece.is_empty())
}

/// Returns an id that is unique in the process, not only in the server: a resumed session may have
/// a second server with the first one's ids in its history.
pub(crate) fn unique_id(kind: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("{kind}_test{:06}", NEXT.fetch_add(1, Ordering::Relaxed))
}
