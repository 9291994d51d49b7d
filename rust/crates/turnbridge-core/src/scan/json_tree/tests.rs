//! Tests that JSON is parsed with the position of every value, and that texts that are no strict
//! JSON are refused with their place.

use super::*;

#[track_caller]
fn refused(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn every_range_is_the_text_of_its_value() {
    let text = "\u{feff} { \"a\" : [1, -0.5e+9 ,\"é\\n\"],\r\n\t\"b\":{\"\":null} }\n";
    let root = parse(text).unwrap();
    let of = |range: Range<usize>| &text[range];
    assert_eq!(of(root.range.clone()), text.trim_start_matches('\u{feff}').trim());
    let shown: Vec<_> = root.members().iter().map(|member| of(member.range())).collect();
    assert_eq!(shown, ["\"a\" : [1, -0.5e+9 ,\"é\\n\"]", "\"b\":{\"\":null}"]);
    assert_eq!(of(root.members()[1].key_range.clone()), "\"b\"");
    let elements: Vec<_> = root.members()[0].value.child_ranges().into_iter().map(of).collect();
    assert_eq!(elements, ["1", "-0.5e+9", "\"é\\n\""]);
    assert_eq!(root.get("a").unwrap().elements()[2].as_str(), Some("é\n"));
}

#[test]
fn of_duplicate_keys_the_last_counts_however_it_is_spelt() {
    let root = parse(r#"{"hooks":1,"x":2,"h\u006foks":"last"}"#).unwrap();
    assert_eq!(root.get("hooks").unwrap().as_str(), Some("last"));
    assert_eq!(root.members().len(), 3);
    assert_eq!(root.get("y"), None);
    assert_eq!(root.members()[0].value.get("x"), None);
}

#[test]
fn strings_lose_their_escapes() {
    for (text, expected) in [
        (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r#""\u00e9\ud83d\ude00""#, "é😀"),
        (r#""\ud83d""#, "\u{fffd}"),
        (r#""\ud83dx\ude00""#, "\u{fffd}x\u{fffd}"),
        (r#""\ud83d\u0041""#, "\u{fffd}A"),
    ] {
        assert_eq!(parse(text).unwrap().as_str(), Some(expected), "{text}");
    }
}

#[test]
fn comments_and_trailing_commas_are_refused_with_their_place_and_what_claude_makes_of_them() {
    insta::assert_snapshot!(refused("{\n  // mine\n  \"a\": 1\n}"), @"a comment, which JSON does not have (Claude Code ignores a settings file with comments silently) at line 2, column 3");
    insta::assert_snapshot!(refused("{\r\n  \"é\": 1 /* x */\r\n}"), @"a comment, which JSON does not have (Claude Code ignores a settings file with comments silently) at line 2, column 10");
    insta::assert_snapshot!(refused("# x\n{}"), @"a comment, which JSON does not have (Claude Code ignores a settings file with comments silently) at line 1, column 1");
    insta::assert_snapshot!(refused("{\n  \"a\": [1,\n  ]\n}"), @"a comma with nothing behind it, which JSON does not have (Claude Code ignores such a settings file silently) at line 2, column 10");
    insta::assert_snapshot!(refused("\u{feff}{\"a\":1,}"), @"a comma with nothing behind it, which JSON does not have (Claude Code ignores such a settings file silently) at line 1, column 7");
}

#[test]
fn a_second_byte_order_mark_is_refused() {
    for text in ["{}", "", " {", "{\"a\":1}"] {
        for marks in [2, 20] {
            let text = "\u{feff}".repeat(marks) + text;
            assert_eq!(refused(&text), format!("{SECOND_MARK} at line 1, column 1"));
        }
    }
    assert!(parse("\u{feff}{}").is_ok());
}

#[test]
fn what_is_no_json_is_refused_where_it_goes_wrong() {
    for (text, expected) in [
        ("", "expected a value, but the file ends at line 1, column 1"),
        ("{\"a\":1", "expected `,` or `}`, but the file ends at line 1, column 7"),
        ("{a:1}", "expected a key in double quotes, found 'a' at line 1, column 2"),
        ("{'a':1}", "expected a key in double quotes, found '\\'' at line 1, column 2"),
        ("{\"a\" 1}", "expected `:`, found '1' at line 1, column 6"),
        ("[1 2]", "expected `,` or `]`, found '2' at line 1, column 4"),
        ("[01]", "a number that begins with 0 at line 1, column 3"),
        ("[1.]", "expected a digit, found ']' at line 1, column 4"),
        ("[-]", "expected a digit, found ']' at line 1, column 3"),
        ("[1e]", "expected a digit, found ']' at line 1, column 4"),
        ("[NaN]", "expected a value, found 'N' at line 1, column 2"),
        ("[+1]", "expected a value, found '+' at line 1, column 2"),
        ("[\"a\nb\"]", "a control character in a string at line 1, column 4"),
        ("[\"\\q\"]", "an escape that JSON does not have at line 1, column 3"),
        ("[\"\\u12g4\"]", "expected four hexadecimal digits, found '1' at line 1, column 5"),
        ("[\"\\u12", "expected four hexadecimal digits, found '1' at line 1, column 5"),
        ("[\"a", "a string that does not end at line 1, column 4"),
        ("[\"a\\", "an escape that JSON does not have at line 1, column 4"),
        ("{}\n{}", "expected the end of the file, found '{' at line 2, column 1"),
        ("{}\u{0}", "expected the end of the file, found '\\0' at line 1, column 3"),
        ("{\u{a0}}", "expected a key in double quotes, found '\\u{a0}' at line 1, column 2"),
        ("truex", "expected the end of the file, found 'x' at line 1, column 5"),
    ] {
        assert_eq!(refused(text), expected, "{text}");
    }
}

#[test]
fn it_does_not_go_deeper_than_it_can() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(parse(&nested(DEEPEST)).is_ok());
    assert_eq!(refused(&nested(100_000)), "more than 128 levels at line 1, column 130");
}

/// serde_json is as strict; only half surrogates, which JSON allows, are an error there.
#[test]
fn it_takes_what_another_strict_parser_takes() {
    let pieces = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"a\"",
        "\"\\u00e9\"",
        "1",
        "-0",
        "0.5",
        "1e9",
        "01",
        "-",
        "true",
        "null",
        "nul",
        " ",
        "\n",
        "\t",
        "\\",
        "\"",
        "é",
        "\u{1}",
    ];
    let mut seed = 7_u64;
    let mut accepted = 0;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..=(seed >> 60) {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            text += pieces[(seed >> 33) as usize % pieces.len()];
        }
        let expected = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        assert_eq!(parse(&text).is_ok(), expected, "{text}");
        accepted += usize::from(expected);
    }
    assert!(accepted > 100, "{accepted}");
}
