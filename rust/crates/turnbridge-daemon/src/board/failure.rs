//! Renders an error as JSON for the page: the cause and a hint, with tokens masked and invisible
//! characters shown.

use serde_json::{Value, json};
use turnbridge_core::text::token_mask::without_tokens;
use turnbridge_core::text::visible_text::visible;
use turnbridge_system::failure::Hinted;

pub fn failure_json(error: &anyhow::Error) -> Value {
    let hint = error.downcast_ref::<Hinted>().map(|hinted| safe(&hinted.hint));
    json!({ "ok": false, "error": safe(&format!("{error:#}")), "hint": hint })
}

/// Masks tokens and shows invisible characters, because the text may contain foreign file names and
/// content.
pub fn safe(text: &str) -> String {
    visible(&without_tokens(text)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnbridge_system::failure::hinted;

    #[test]
    fn an_error_shows_no_token_and_nothing_that_cannot_be_seen() {
        let error = hinted("`gone\u{202e}xoxb-1234-abcd` is gone", "look at `xoxb-1234-abcd`");
        let shown = failure_json(&error);
        assert_eq!(shown["error"], "`gone\\u202exoxb-***` is gone");
        assert_eq!(shown["hint"], "look at `xoxb-***`");
    }
}
