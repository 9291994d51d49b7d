//! Encodes arguments as a form. Nested values are sent as JSON texts, as Slack's libraries do it.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use serde_json::{Map, Value};

/// All characters except those that need no escape in an address (RFC 3986).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

pub(crate) fn encode_form(arguments: &Map<String, Value>) -> String {
    let mut form = String::new();
    for (name, value) in arguments {
        let text = match value {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        if !form.is_empty() {
            form.push('&');
        }
        form.extend(percent_encoded(name));
        form.push('=');
        form.extend(percent_encoded(&text));
    }
    form
}

/// Encodes all characters except letters, digits and `-._~`: right in a form and in a query.
pub fn percent_encoded(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, RESERVED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn letters_digits_and_four_marks_stand_for_themselves_and_every_other_byte_is_encoded() {
        let ascii: String = (0..=127_u8).map(char::from).collect();
        insta::assert_snapshot!(percent_encoded(&ascii), @"%00%01%02%03%04%05%06%07%08%09%0A%0B%0C%0D%0E%0F%10%11%12%13%14%15%16%17%18%19%1A%1B%1C%1D%1E%1F%20%21%22%23%24%25%26%27%28%29%2A%2B%2C-.%2F0123456789%3A%3B%3C%3D%3E%3F%40ABCDEFGHIJKLMNOPQRSTUVWXYZ%5B%5C%5D%5E_%60abcdefghijklmnopqrstuvwxyz%7B%7C%7D~%7F");
        assert_eq!(percent_encoded("é日").to_string(), "%C3%A9%E6%97%A5");
    }

    #[test]
    fn a_form_holds_texts_numbers_and_nested_values() {
        let arguments = json!({"a": "x y&=+é", "b": true, "c": 20, "d": {"e": [1]}, "f": null});
        assert_eq!(
            encode_form(arguments.as_object().unwrap()),
            "a=x%20y%26%3D%2B%C3%A9&b=true&c=20&d=%7B%22e%22%3A%5B1%5D%7D"
        );
    }
}
