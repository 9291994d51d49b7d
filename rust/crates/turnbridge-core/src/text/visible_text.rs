//! Makes text of users, models, projects and other programs safe to show in a terminal.
//!
//! Terminals interpret control characters, and some invisible characters reverse the direction of
//! text or hide it. Each of them is shown as an escape such as `\u202e`. JSON has the same escapes,
//! so a JSON text keeps its meaning. Characters that scripts and emoji need stay: a joiner between
//! letters of Arabic or Indic scripts, or between two emoji, and a variation selector after a
//! character that has variants.

use std::borrow::Cow;

/// Returns the text with unsafe characters as escapes; line ends and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    replaced(text, |c| matches!(c, '\n' | '\t').then_some(c))
}

/// Returns one safe line: line ends, tabs and other white-space controls become blanks.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    replaced(text, |c| c.is_whitespace().then_some(' '))
}

/// Replaces every unsafe character by the result of `replace`, else by an escape.
fn replaced(text: &str, replace: impl Fn(char) -> Option<char>) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let flag = FLAGS.iter().find(|flag| c == '\u{1f3f4}' && rest.starts_with(**flag));
        let length = flag.map_or(c.len_utf8(), |flag| flag.len());
        let after = &rest[length..];
        if flag.is_some() || is_plain(before, c, after.chars().next()) {
            shown.push_str(&rest[..length]);
        } else if let Some(replaced) = replace(c) {
            shown.push(replaced);
        } else if !(c == '\r' && after.starts_with('\n')) {
            push_escape(&mut shown, c);
        }
        before = Some(c);
        rest = after;
    }
    Cow::Owned(shown)
}

fn push_escape(shown: &mut String, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        shown.push_str(&format!("\\u{unit:04x}"));
    }
}

/// England, Scotland and Wales. Other sequences of tag characters are hidden texts.
const FLAGS: [&str; 3] = [
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

/// Returns whether a terminal shows it, or it belongs to its neighbours in an ordinary text.
fn is_plain(before: Option<char>, c: char, after: Option<char>) -> bool {
    match c {
        ' '..='~' => true,
        _ if c.is_control() => false,
        '\u{200c}' => before.is_some_and(joins),
        '\u{200d}' => {
            before.is_some_and(joins)
                || (before.is_some_and(is_emoji_part) && after.is_some_and(is_emoji))
        }
        '\u{fe0e}' | '\u{fe0f}' => before.is_some_and(|before| is_emoji(before) || is_han(before)),
        '\u{fe00}'..='\u{fe0d}' | '\u{e0100}'..='\u{e01ef}' => before.is_some_and(is_han),
        '\u{180b}'..='\u{180d}' | '\u{180f}' => {
            matches!(before, Some('\u{1820}'..='\u{18aa}'))
        }
        _ => !is_unseen(c),
    }
}

/// Matches controls of direction and format, line separators, and characters without width and ink.
fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{13430}'..='\u{13455}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Matches letters of scripts with joiners: Arabic and related, Indic ones, Mongolian.
fn joins(c: char) -> bool {
    c != '\u{61c}'
        && matches!(c,
            '\u{600}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{1000}'..='\u{109f}'
            | '\u{1780}'..='\u{17b3}' | '\u{17b6}'..='\u{17ff}' | '\u{1820}'..='\u{18aa}'
            | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

/// Matches characters that may have the form of a picture.
fn is_emoji(c: char) -> bool {
    matches!(c,
        '#' | '*' | '0'..='9' | '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2100}'..='\u{2bff}'
        | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

fn is_emoji_part(c: char) -> bool {
    c == '\u{fe0f}' || (is_emoji(c) && !c.is_ascii())
}

fn is_han(c: char) -> bool {
    matches!(c,
        '\u{3005}'..='\u{3007}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_terminals_act_on_is_shown() {
        insta::assert_snapshot!(visible("a\u{1b}[31m\u{7}\rb\u{9b}1m\u{7f}\u{85}\0"), @r"a\u001b[31m\u0007\u000db\u009b1m\u007f\u0085\u0000");
        assert_eq!(visible("a\r\nb\tc\n"), "a\nb\tc\n");
        assert_eq!(visible_line("a\nb\tc\u{2028}d\u{85}\u{1b}"), "a b c d \\u001b");
    }

    #[test]
    fn what_nobody_sees_is_shown() {
        for (text, shown) in [
            ("\u{202e}cod.exe\u{2066}\u{200f}\u{61c}", r"\u202ecod.exe\u2066\u200f\u061c"),
            ("a\u{200b}\u{feff}\u{2060}c\u{ad}\u{3164}", r"a\u200b\ufeff\u2060c\u00ad\u3164"),
            ("\u{2028}\u{2029}\u{e0041}", r"\u2028\u2029\udb40\udc41"),
            // A blank of Braille, a note head without ink, and the ends of Egyptian format
            // controls.
            ("\u{2800}\u{1d159}", r"\u2800\ud834\udd59"),
            ("\u{13430}\u{13455}", r"\ud80d\udc30\ud80d\udc55"),
            // Joiners and selectors without a function.
            ("a\u{200d}b\u{200c}\u{fe0f}\u{e0101}", r"a\u200db\u200c\ufe0f\udb40\udd01"),
            ("葛\u{e0100}\u{e0100}", "葛\u{e0100}\\udb40\\udd00"),
            ("क\u{200d}\u{200d}", "क\u{200d}\\u200d"),
            ("\u{1f3f4}\u{e0067}", "\u{1f3f4}\\udb40\\udc67"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }

    #[test]
    fn ordinary_texts_of_any_script_stay() {
        for text in [
            "",
            "plain ~ text",
            "日本語、全角　と半角 ｶﾅ",
            "葛\u{e0100}城 神\u{fe00}",
            "한국어",
            "می\u{200c}خواهم",
            "क्\u{200d}ष",
            "עברית و العربية",
            "e\u{301} ü",
            "👩\u{200d}👩\u{200d}👧 👍🏽 ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3} 🏳\u{fe0f}\u{200d}🌈 🇯🇵",
            FLAGS[0],
            "\u{a0}\u{3000}",
        ] {
            assert_eq!(visible(text), text);
        }
    }

    #[test]
    fn json_means_what_it_meant() {
        let text = "\u{9b}\u{7f}\u{e0041}\u{2028}\u{1b}\r\n👩\u{200d}👧";
        let value = serde_json::json!({"a\u{202e}": text});
        for json in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let shown = visible(&json);
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
            assert!(!shown.contains(is_unseen) && !shown.contains('\u{9b}'));
        }
    }
}
