//! Decodes Slack's `text` into the text that the user typed. Slack escapes `& < >` and writes
//! mentions, channels and links between angle brackets, in code too; all other text stays
//! unchanged. White space is not trimmed: a prompt may begin and end with it.
//!
//! The `blocks` of a message contain the same text in another form and are ignored (SLV-43).

/// Returns the typed text. It decodes once: `&amp;lt;` was typed as `&lt;` and must not become `<`.
pub fn decode(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        push_unescaped(&mut decoded, &rest[..at]);
        rest = &rest[at..];
        // A form contains no other `<`. Searching only to the next bracket keeps this linear.
        let next = memchr::memchr2(b'<', b'>', &rest.as_bytes()[1..]).map(|at| at + 1);
        let end = next.filter(|end| rest.as_bytes()[*end] == b'>');
        let form = end.map(|end| (&rest[1..end], end + 1));
        match form.and_then(|(inside, length)| Some((read_form(inside)?, length))) {
            Some((typed, length)) => {
                decoded.push_str(&typed);
                rest = &rest[length..];
            }
            // Slack escapes typed text, so this is no form of Slack's.
            None => {
                decoded.push('<');
                rest = &rest[1..];
            }
        }
    }
    push_unescaped(&mut decoded, rest);
    decoded
}

/// Returns the typed text of a form, or `None` if Slack writes no such form.
fn read_form(inside: &str) -> Option<String> {
    let (target, label) = match inside.split_once('|') {
        Some((target, label)) => (unescaped(target), Some(unescaped(label))),
        None => (unescaped(inside), None),
    };
    let label = label.filter(|label| !label.is_empty());
    let mut characters = target.chars();
    match characters.next()? {
        '@' => Some(with_sign('@', label.as_deref().unwrap_or(characters.as_str()))),
        '#' => Some(with_sign('#', label.as_deref().unwrap_or(characters.as_str()))),
        '!' => Some(read_special(characters.as_str(), label)),
        _ if is_link(&target) => Some(read_link(&target, label)),
        _ => None,
    }
}

/// Adds the sign to a name that may have it.
fn with_sign(sign: char, name: &str) -> String {
    if name.starts_with(sign) { name.to_owned() } else { format!("{sign}{name}") }
}

/// Returns the text that a client shows for `!here`, `!subteam^ID`, `!date^…`.
fn read_special(name: &str, label: Option<String>) -> String {
    match name.split_once('^') {
        None if ["here", "channel", "everyone"].contains(&name) => format!("@{name}"),
        Some(("subteam", id)) => with_sign('@', label.as_deref().unwrap_or(id)),
        _ => label.unwrap_or_else(|| name.to_owned()),
    }
}

/// Returns whether the target begins with a scheme and a colon.
fn is_link(target: &str) -> bool {
    let Some((scheme, _)) = target.split_once(':') else { return false };
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// Returns a link's text. Slack makes links of addresses typed without a scheme; those become the
/// typed address again. A link with another label keeps both, because the agent needs the address.
fn read_link(target: &str, label: Option<String>) -> String {
    let Some(label) = label else { return target.to_owned() };
    let bare = |text: &str| {
        let text = text.strip_prefix("mailto:").or(text.strip_prefix("tel:")).unwrap_or(text);
        let text = text.split_once("://").map_or(text, |(_, address)| address);
        text.strip_suffix('/').unwrap_or(text).to_lowercase()
    };
    if bare(target) == bare(&label) { label } else { format!("{label} ({target})") }
}

fn unescaped(text: &str) -> String {
    let mut unescaped = String::with_capacity(text.len());
    push_unescaped(&mut unescaped, text);
    unescaped
}

/// Decodes in one pass from left to right, which equals "`&amp;` last, once".
fn push_unescaped(decoded: &mut String, mut text: &str) {
    const ENTITIES: [(&str, char); 3] = [("&lt;", '<'), ("&gt;", '>'), ("&amp;", '&')];
    while let Some(at) = text.find('&') {
        decoded.push_str(&text[..at]);
        text = &text[at..];
        let entity = ENTITIES.iter().find(|(entity, _)| text.starts_with(entity));
        let (length, typed) = entity.map_or((1, '&'), |(entity, typed)| (entity.len(), *typed));
        decoded.push(typed);
        text = &text[length..];
    }
    decoded.push_str(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slack::slack_text::escape;

    #[track_caller]
    fn check(text: &str, typed: &str) {
        assert_eq!(decode(text), typed, "{text}");
    }

    #[test]
    fn mentions_channels_and_special_words_are_what_a_client_shows() {
        check("<@U1> and <@U1|ann>, <@U1|@bob>", "@U1 and @ann, @bob");
        check("<#C1|general> <#C1> <#C1|>", "#general #C1 #C1");
        check("<!here> <!channel|channel> <!everyone>", "@here @channel @everyone");
        check("<!subteam^S1|@team> <!subteam^S1>", "@team @S1");
        check("<!date^1392734382^{date}|Feb 18, 2014>", "Feb 18, 2014");
        check("<!new^thing|label>", "label");
    }

    #[test]
    fn links_that_slack_made_come_back_as_they_were_typed() {
        check("<https://example.com/a?b=1&amp;c=2>", "https://example.com/a?b=1&c=2");
        check("<http://example.com|example.com>", "example.com");
        check("<http://Example.com/|example.com>", "example.com");
        check("<https://a.b/?x=1&amp;y=2|a.b/?x=1&amp;y=2>", "a.b/?x=1&y=2");
        check("<mailto:a@b.c|a@b.c>", "a@b.c");
        check("<tel:+4912|+4912>", "+4912");
        check("<https://example.com|the docs>", "the docs (https://example.com)");
        // The label differs from the address.
        check("<https://evil.example|bank.example>", "bank.example (https://evil.example)");
    }

    #[test]
    fn entities_are_decoded_once() {
        check("a &lt; b &amp;&amp; c &gt; d", "a < b && c > d");
        check("&amp;lt; &amp;amp;amp; &amp;", "&lt; &amp;amp; &");
        check("&nbsp; &#39; &quot; R&D", "&nbsp; &#39; &quot; R&D");
        check("`if a &lt; b` and ```x &amp;= &lt;T&gt;```", "`if a < b` and ```x &= <T>```");
    }

    #[test]
    fn what_is_no_form_of_slacks_stays() {
        check("a < b", "a < b");
        check("<", "<");
        check("<>", "<>");
        check("1 < 2 <@U1> 3 > 2", "1 < 2 @U1 3 > 2");
        check("<unknown thing>", "<unknown thing>");
        check("<https://example.com", "<https://example.com");
    }

    /// Time quadratic in the length would be minutes for each of them.
    #[test]
    fn many_brackets_that_are_never_closed_take_time_in_proportion() {
        for text in ["<".repeat(2_000_000), format!("{}>", "<a".repeat(2_000_000))] {
            assert!(decode(&text) == text);
        }
    }

    #[test]
    fn what_looks_dangerous_to_a_shell_or_an_option_parser_is_left_alone() {
        for text in [
            "--dangerously-skip-permissions",
            "-x",
            "  two spaces\n\n\tand a tab\n",
            "$(touch /tmp/x) `id` \"double\" 'single' \\ ; | * ? ~ !",
            "日本語 🎉\u{a0}\r\n",
        ] {
            check(text, text);
        }
    }

    /// Slack's own encoding of plain text is undone, for any text.
    #[test]
    fn decoding_undoes_slacks_encoding() {
        let pieces = [
            "&", "<", ">", "&lt;", "&amp;", "amp;", "@U1", "|", "!here", "#", "`", "```", "\n",
            " ", "https://", "a", "日", "🎉", "\\", "$(", ")", "-", "\"", "'", "^",
        ];
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = |below: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed % below as u64) as usize
        };
        for _ in 0..20_000 {
            let typed: String = (0..next(12)).map(|_| pieces[next(pieces.len())]).collect();
            assert_eq!(decode(&escape(&typed)), typed);
        }
    }
}
