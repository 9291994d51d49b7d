//! Masks Slack's tokens in shown or logged texts. Turnbridge's own tokens have a type that never
//! prints them; this is for other texts that may contain one, such as a key of a config or an error
//! of a program.

use std::borrow::Cow;

/// Returns the text with everything that looks like a Slack token replaced by its kind and `***`:
/// `xoxb-***`.
pub fn without_tokens(text: &str) -> Cow<'_, str> {
    let mut clean = String::new();
    let mut copied = 0;
    for (at, _) in text.match_indices('x') {
        let Some(kind) = kind_length(&text[at..]).filter(|_| at >= copied) else { continue };
        let secret = at + kind;
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_%".contains(byte);
        let length = text.as_bytes()[secret..].iter().take_while(|byte| is_part(byte)).count();
        if length > 0 {
            clean.push_str(&text[copied..secret]);
            clean.push_str("***");
            copied = secret + length;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    clean.push_str(&text[copied..]);
    Cow::Owned(clean)
}

/// Returns the length of `xoxb-`, `xoxp-`, `xapp-` or similar at the beginning of the text.
fn kind_length(text: &str) -> Option<usize> {
    match text.as_bytes() {
        [b'x', b'o', b'x', kind, b'-', ..] if kind.is_ascii_alphanumeric() => Some(5),
        [b'x', b'a', b'p', b'p', b'-', ..] | [b'x', b'w', b'f', b'p', b'-', ..] => Some(5),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_token_is_masked_wherever_it_stands() {
        for (text, clean) in [
            ("xoxb-12-ab", "xoxb-***"),
            ("no `slack.xoxb-12-ab`, 日xapp-1-A0-x.", "no `slack.xoxb-***`, 日xapp-***."),
            ("xoxe.xoxp-1-a and xoxd-a%2Bb_c", "xoxe.xoxp-*** and xoxd-***"),
            ("xoxb-xoxb-1 xoxxoxb-2", "xoxb-*** xoxxoxb-***"),
            ("a token `xoxb-…`, box-1, xox-1", "a token `xoxb-…`, box-1, xox-1"),
            ("", ""),
        ] {
            assert_eq!(without_tokens(text), clean);
        }
    }
}
