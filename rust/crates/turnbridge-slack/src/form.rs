//! Arguments as a form. Nested values go as JSON texts, as Slack's own libraries send them.

use serde_json::{Map, Value};

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
        push_encoded(&mut form, name);
        form.push('=');
        push_encoded(&mut form, &text);
    }
    form
}

fn push_encoded(form: &mut String, text: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            form.push(byte.into());
        } else {
            form.push('%');
            form.push(HEX[usize::from(byte >> 4)].into());
            form.push(HEX[usize::from(byte & 15)].into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_form_holds_texts_numbers_and_nested_values() {
        let arguments = json!({"a": "x y&=+é", "b": true, "c": 20, "d": {"e": [1]}, "f": null});
        assert_eq!(
            encode_form(arguments.as_object().unwrap()),
            "a=x%20y%26%3D%2B%C3%A9&b=true&c=20&d=%7B%22e%22%3A%5B1%5D%7D"
        );
    }
}
