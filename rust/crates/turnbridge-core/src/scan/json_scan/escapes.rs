//! Parses the escapes in a JSON string, even if it was cut at a limit.

/// Returns whether the last of the backslashes at the end escapes the next byte.
pub fn ends_in_escape(text: &[u8]) -> bool {
    text.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// Returns the text of a JSON string without its quotes. Invalid escapes stay unchanged, and
/// invalid UTF-8 is replaced: a broken prompt is still worth showing.
pub fn unescape(raw: &[u8], whole: bool) -> String {
    let raw = if whole { raw } else { without_cut_end(raw) };
    let text = String::from_utf8_lossy(raw);
    if !raw.contains(&b'\\') {
        return text.into_owned();
    }
    serde_json::from_str(&format!("\"{text}\"")).unwrap_or_else(|_| text.into_owned())
}

/// Removes the part that the limit has split: an escape (up to `\ud83d\ude0`, eleven bytes of a
/// surrogate pair) or a character. A cut at the start of a run of backslashes is always clean.
fn without_cut_end(raw: &[u8]) -> &[u8] {
    let tail = raw.len().saturating_sub(12);
    let mut end = raw.len();
    if let Some(backslash) = memchr::memchr(b'\\', &raw[tail..]) {
        end = tail + backslash;
        while end > 0 && raw[end - 1] == b'\\' {
            end -= 1;
        }
    }
    match std::str::from_utf8(&raw[..end]) {
        Err(error) if error.error_len().is_none() => &raw[..error.valid_up_to()],
        _ => &raw[..end],
    }
}
