//! Converts the Markdown inside a block to speech: code, links, emphasis and HTML.

/// The limit in bytes of the search for the end of a link, a tag or a piece of code.
const REACH: usize = 2_000;

/// The limit of spoken code: a listener cannot follow longer code.
const LONGEST_CODE: usize = 40;

const SCHEMES: [&str; 6] = ["https://", "http://", "ftp://", "file://", "mailto:", "www."];

/// Returns the speech of a text without its marks, with single blanks.
pub(super) fn spoken(text: &str) -> String {
    let mut said = String::with_capacity(text.len());
    let mut rest = text;
    let mut previous = ' ';
    while let Some(c) = rest.chars().next() {
        let taken = match mark(rest, c, previous) {
            Some((length, words)) => {
                said.push_str(&words);
                length
            }
            None => {
                said.push(c);
                c.len_utf8()
            }
        };
        previous = rest[..taken].chars().next_back().unwrap_or(' ');
        rest = &rest[taken..];
    }
    tidied(&said)
}

/// Returns the length of a mark in bytes, and its speech. `previous` is the character before it.
fn mark(rest: &str, c: char, previous: char) -> Option<(usize, String)> {
    let silent = |length: usize| Some((length, String::new()));
    match c {
        '\\' => {
            let escaped = rest[1..].chars().next().filter(char::is_ascii_punctuation)?;
            Some((2, escaped.to_string()))
        }
        '`' => Some(code(rest)),
        '<' if rest.starts_with("<br") => Some((tag_length(rest)?, " ".to_owned())),
        '<' => silent(tag_length(rest)?),
        '&' => entity(rest),
        '!' if rest[1..].starts_with('[') => silent(1),
        '[' if rest.starts_with("[^") => footnote(rest),
        '[' if previous.is_alphanumeric() => Some((1, " ".to_owned())),
        '[' => silent(1),
        ']' => silent(1 + target_length(&rest[1..])),
        '~' if rest.starts_with("~~") => silent(2),
        '*' | '_' => emphasis(rest, c, previous),
        ':' if !previous.is_alphanumeric() => silent(shortcode_length(rest)?),
        _ if c.is_ascii_alphabetic() && !previous.is_ascii_alphanumeric() => {
            silent(url_length(rest)?)
        }
        _ => None,
    }
}

fn window(text: &str) -> &str {
    &text[..text.floor_char_boundary(REACH)]
}

fn code(rest: &str) -> (usize, String) {
    let after = rest.trim_start_matches('`');
    let ticks = rest.len() - after.len();
    let window = window(after);
    let mut from = 0;
    while let Some(found) = window[from..].find('`') {
        let start = from + found;
        let end = window.len() - window[start..].trim_start_matches('`').len();
        if end - start == ticks {
            return (ticks + end, words_of_code(&window[..start]));
        }
        from = end;
    }
    (ticks, String::new())
}

/// Returns the spoken words: three for `parse_hook_event()`; `main.rs` is unchanged.
fn words_of_code(code: &str) -> String {
    if code.chars().count() > LONGEST_CODE || code.contains("://") {
        return String::new();
    }
    let characters: Vec<_> = code.chars().collect();
    let is_word = |index: Option<usize>| {
        index.and_then(|index| characters.get(index)).is_some_and(|c| c.is_alphanumeric())
    };
    let said = |(index, c): (usize, &char)| {
        let inside_word = is_word(index.checked_sub(1)) && is_word(Some(index + 1));
        let is_said = match c {
            '.' | '-' | '\'' | ',' | ':' => inside_word,
            '+' | '%' | '#' => {
                is_word(index.checked_sub(1)) || is_word(Some(index + 1)) || *c == '+'
            }
            _ => c.is_alphanumeric() || !c.is_ascii(),
        };
        if is_said { *c } else { ' ' }
    };
    let said: String = characters.iter().enumerate().map(said).collect();
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the length of a tag, a comment or an address in angle brackets.
fn tag_length(rest: &str) -> Option<usize> {
    if rest.starts_with("<!--") {
        return Some(window(rest).find("-->")? + 3);
    }
    let name = rest[1..].strip_prefix('/').unwrap_or(&rest[1..]);
    name.starts_with(|c: char| c.is_ascii_alphabetic()).then_some(())?;
    Some(window(rest).find('>')? + 1)
}

fn entity(rest: &str) -> Option<(usize, String)> {
    const ENTITIES: [(&str, &str); 6] = [
        ("&amp;", "&"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&nbsp;", " "),
    ];
    let (entity, said) = ENTITIES.iter().find(|(entity, _)| rest.starts_with(entity))?;
    Some((entity.len(), (*said).to_owned()))
}

/// Skips `[^1]` in the text, or `[^1]:` before the footnote itself.
fn footnote(rest: &str) -> Option<(usize, String)> {
    let end = window(rest).find(']')? + 1;
    Some((end + usize::from(rest[end..].starts_with(':')), String::new()))
}

/// Returns the length of `(address "title")` or `[reference]` after a link's text, else 0.
fn target_length(rest: &str) -> usize {
    let length = match rest.chars().next() {
        Some('[') => window(rest).find(']').map(|end| end + 1),
        Some('(') => closing_bracket(window(rest)).filter(|end| is_target(&rest[1..*end])),
        _ => return 0,
    };
    match length {
        Some(end) if rest.starts_with('(') => end + 1,
        Some(length) => length,
        None => 0,
    }
}

fn closing_bracket(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 1 => return Some(index),
            b')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Returns whether it is a target: no blanks except before a title. Other brackets are prose.
fn is_target(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('<')
        || text
            .split_once(char::is_whitespace)
            .is_none_or(|(_, title)| title.trim_start().starts_with(['"', '\'', '(']))
}

/// Reads a mark of emphasis: `3 * 4` has none, and `snake_case` is two words.
fn emphasis(rest: &str, mark: char, previous: char) -> Option<(usize, String)> {
    let after = rest.trim_start_matches(mark);
    let length = rest.len() - after.len();
    let next = after.chars().next().unwrap_or(' ');
    if previous.is_whitespace() && next.is_whitespace() {
        return None;
    }
    let inside_word = previous.is_alphanumeric() && next.is_alphanumeric();
    let said = if mark == '_' && inside_word { " " } else { "" };
    Some((length, said.to_owned()))
}

fn shortcode_length(rest: &str) -> Option<usize> {
    let name = &rest[1..];
    let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || "_+-".contains(c)))?;
    let is_name =
        name[..end].contains(|c: char| c.is_ascii_alphabetic()) || name.starts_with("+1:");
    let after = name[end..].strip_prefix(':')?;
    (is_name && !after.starts_with(|c: char| c.is_ascii_alphanumeric())).then_some(end + 2)
}

/// Returns the length of an address, without the punctuation of the sentence around it.
fn url_length(rest: &str) -> Option<usize> {
    SCHEMES.iter().find(|scheme| rest.starts_with(**scheme))?;
    let end = rest.find(|c: char| !c.is_ascii_graphic() || "<>\"`|".contains(c));
    let url = &rest[..end.unwrap_or(rest.len())];
    let mut url = url.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '_', ']']);
    // Counted once: each cut removes one `)` and no `(`.
    let mut surplus = url.matches(')').count().saturating_sub(url.matches('(').count());
    while surplus > 0 && url.ends_with(')') {
        url = url[..url.len() - 1].trim_end_matches(['.', ',', ';', ':', '!', '?']);
        surplus -= 1;
    }
    Some(url.len())
}

/// Returns the text with single blanks, none before punctuation, and without empty brackets.
fn tidied(said: &str) -> String {
    let mut text = String::with_capacity(said.len());
    let mut blank = false;
    for c in said.chars() {
        if c.is_whitespace() {
            blank = true;
            continue;
        }
        if blank && !text.is_empty() && !",.;:!?)、。）".contains(c) && !text.ends_with(['(', '（'])
        {
            text.push(' ');
        }
        blank = false;
        let opened = match c {
            ')' => Some('('),
            '）' => Some('（'),
            _ => None,
        };
        if opened.is_some_and(|opened| text.ends_with(opened)) {
            text.pop();
            blank = text.ends_with(' ');
            text.truncate(text.trim_end().len());
            continue;
        }
        // Between the two commas was an address.
        if !(c == ',' && text.ends_with(',')) {
            text.push(c);
        }
    }
    text
}
