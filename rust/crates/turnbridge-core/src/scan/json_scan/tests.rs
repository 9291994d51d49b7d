//! Tests that the scanner finds the same fields as serde_json, however the text is cut into chunks,
//! and refuses incomplete and broken texts.

use super::*;
use serde_json::Value;

const FIELDS: &[WantedField] = &[
    WantedField { path: &[PathStep::Key("name")], keep: CaptureMode::Scalar(1_000) },
    WantedField { path: &[PathStep::Key("flag")], keep: CaptureMode::Scalar(1_000) },
    WantedField {
        path: &[PathStep::Key("input"), PathStep::Key("skill")],
        keep: CaptureMode::Scalar(1_000),
    },
    WantedField {
        path: &[PathStep::Key("calls"), PathStep::Each, PathStep::Key("name")],
        keep: CaptureMode::Scalar(1_000),
    },
    WantedField {
        path: &[
            PathStep::Key("calls"),
            PathStep::Each,
            PathStep::Key("input"),
            PathStep::Key("skill"),
        ],
        keep: CaptureMode::Scalar(1_000),
    },
    WantedField { path: &[PathStep::Key("short")], keep: CaptureMode::Scalar(8) },
];

fn scan(text: &[u8], chunk: usize) -> Result<Vec<Capture>, MalformedJson> {
    let mut scanner = JsonScanner::new(FIELDS);
    for piece in text.chunks(chunk) {
        scanner.feed(piece)?;
    }
    scanner.finish()
}

/// The same fields by a tree parser.
fn expected(value: &Value) -> Vec<Capture> {
    fn walk(value: &Value, path: &[PathStep], element: u32, field: usize, out: &mut Vec<Capture>) {
        let Some((step, rest)) = path.split_first() else {
            let found = match value {
                Value::String(text) => FoundValue::Text { text: text.clone(), whole: true },
                Value::Bool(flag) => FoundValue::Bool(*flag),
                Value::Null => FoundValue::Null,
                Value::Number(number) => FoundValue::Number(number.to_string()),
                Value::Array(_) | Value::Object(_) => FoundValue::Container,
            };
            out.push(Capture { field, element, found });
            return;
        };
        match (step, value) {
            (PathStep::Key(key), Value::Object(members)) => {
                if let Some(value) = members.get(*key) {
                    walk(value, rest, element, field, out);
                }
            }
            (PathStep::Each, Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    walk(item, rest, index as u32, field, out);
                }
            }
            _ => {}
        }
    }
    let mut out = Vec::new();
    for (index, field) in FIELDS.iter().enumerate() {
        walk(value, field.path, 0, index, &mut out);
    }
    out
}

fn sorted(mut captures: Vec<Capture>) -> Vec<Capture> {
    captures.sort_by_key(|capture| (capture.field, capture.element));
    captures
}

#[track_caller]
fn agrees_with_serde_json(text: &str) {
    let value: Value = serde_json::from_str(text).unwrap();
    for chunk in [1, 2, 3, 7, 64, text.len().max(1)] {
        let captures =
            scan(text.as_bytes(), chunk).unwrap_or_else(|error| panic!("{text}: {error}"));
        let whole: Vec<_> = captures.into_iter().filter(|capture| capture.field != 5).collect();
        let wanted: Vec<_> =
            expected(&value).into_iter().filter(|capture| capture.field != 5).collect();
        assert_eq!(sorted(whole), wanted, "chunks of {chunk}: {text}");
    }
}

#[test]
fn finds_what_a_tree_parser_finds_however_the_text_is_cut() {
    agrees_with_serde_json(
        r#"{"name":"a","flag":true,"input":{"x":[1,{"skill":"no"}],"skill":"s"}}"#,
    );
    agrees_with_serde_json(
        r#"{"input":{"name":"deeper, so not wanted"},"name":"日本\n\"\\\u00e9\ud83d\ude00"}"#,
    );
    agrees_with_serde_json(
        r#"{"calls":[{"name":"a","input":{"skill":"x"}},{},{"input":7,"name":null}]}"#,
    );
    agrees_with_serde_json(
        r#"{"name":{"name":"x"},"flag":[],"input":[{"skill":"x"}],"calls":{"name":"x"}}"#,
    );
    agrees_with_serde_json("{\"name\" :\t-12.5 ,\r\n \"flag\": false }\n");
    agrees_with_serde_json(r#"{"\u006eame":"an escaped key is the same key"}"#);
    for text in ["[]", "{}", "null", "\"x\"", "0", "[[[]],{}]", " {} "] {
        agrees_with_serde_json(text);
    }
}

/// A small deterministic generator, with no clock and no random seed.
struct JsonScanRng(u64);

impl JsonScanRng {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn value(&mut self, depth: u64) -> Value {
        let texts = [
            "",
            "plain",
            "quo\"te",
            "back\\slash\\",
            "new\nline",
            "日本語😀",
            "\u{1}\u{7f}",
            "{\"name\":1}",
        ];
        let keys = ["name", "flag", "input", "skill", "calls", "short", "other", "na"];
        match self.roll(if depth > 4 { 5 } else { 8 }) {
            0 => Value::Null,
            1 => Value::Bool(self.roll(2) == 0),
            2 => Value::from(self.roll(100_000) as i64 - 50_000),
            3 | 4 => Value::from(texts[self.roll(8) as usize]),
            5 => Value::Array((0..self.roll(4)).map(|_| self.value(depth + 1)).collect()),
            _ => {
                let members = (0..self.roll(6)).map(|_| {
                    let key = keys[self.roll(8) as usize].to_owned();
                    (key, self.value(depth + 1))
                });
                Value::Object(members.collect())
            }
        }
    }
}

#[test]
fn two_thousand_generated_texts_agree_with_serde_json() {
    let mut rng = JsonScanRng(7);
    for round in 0..2_000 {
        let value = rng.value(0);
        let text = if round % 2 == 0 {
            value.to_string()
        } else {
            serde_json::to_string_pretty(&value).unwrap()
        };
        agrees_with_serde_json(&text);
    }
}

#[test]
fn every_cut_of_a_text_is_noticed() {
    let text = r#"{"name":"a\"b","flag":true,"calls":[{"name":"x"},{"n":[1,2,{"y":null}]}]}"#;
    for length in 0..text.len() {
        assert!(scan(&text.as_bytes()[..length], 5).is_err(), "{}", &text[..length]);
    }
}

#[test]
fn broken_structure_is_refused_with_its_place() {
    let check = |text: &str, expected: &str| {
        assert_eq!(scan(text.as_bytes(), 3).unwrap_err().to_string(), expected, "{text}");
        assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
    };
    check("", "empty input at byte 0");
    check("  \n", "empty input at byte 3");
    check("{", "input ends too early at byte 1");
    check("{]", "unexpected character at byte 1");
    check("[}", "unexpected character at byte 1");
    check("[1,]", "unexpected character at byte 3");
    check("{\"a\" 1}", "unexpected character at byte 5");
    check("{\"a\":1,}", "unexpected character at byte 7");
    check("{\"a\":1}{", "unexpected character at byte 7");
    check("{a:1}", "unexpected character at byte 1");
    check("[truth]", "unknown word at byte 6");
    check("[nul", "unknown word at byte 4");
    check("hello", "unexpected character at byte 0");
    let deep = "[".repeat(5_000);
    assert_eq!(scan(deep.as_bytes(), 64).unwrap_err().what, "nested too deeply");
}

#[test]
fn a_field_is_cut_at_its_limit_between_characters() {
    let short = |json_text: &str| {
        let text = format!("{{\"short\":\"{json_text}\",\"name\":\"after\"}}");
        let captures = scan(text.as_bytes(), 4).unwrap();
        assert_eq!(captures[1].found, FoundValue::Text { text: "after".into(), whole: true });
        captures[0].found.clone()
    };
    let cut = |text: &str| FoundValue::Text { text: text.into(), whole: false };
    assert_eq!(short("12345678"), FoundValue::Text { text: "12345678".into(), whole: true });
    assert_eq!(short("123456789"), cut("12345678"));
    assert_eq!(short("日本語"), cut("日本"));
    assert_eq!(short(r"123\u00e9x"), cut("123"));
    assert_eq!(short(r"\ud83d\ude00"), cut(""));
    assert_eq!(short(r"\\\\\\\\\\"), cut(""));
}

#[test]
fn bytes_that_are_not_utf_8_are_replaced_not_refused() {
    let captures = scan(b"{\"other\":\"\xff\",\"name\":\"a\xffb\\n\"}", 2).unwrap();
    assert_eq!(captures[0].found, FoundValue::Text { text: "a\u{fffd}b\n".into(), whole: true });
}

const INPUT: &[WantedField] = &[
    WantedField { path: &[PathStep::Key("input")], keep: CaptureMode::Fingerprint },
    WantedField {
        path: &[PathStep::Key("input"), PathStep::Key("skill")],
        keep: CaptureMode::Scalar(100),
    },
];

#[test]
fn a_fingerprint_is_of_the_container_alone_however_the_text_is_cut() {
    let fingerprints = |text: &str| {
        let scan = |chunk: usize| {
            let mut scanner = JsonScanner::new(INPUT);
            text.as_bytes().chunks(chunk).for_each(|piece| scanner.feed(piece).unwrap());
            let captures = scanner.finish().unwrap();
            captures.into_iter().map(|capture| capture.found).collect::<Vec<_>>()
        };
        let whole = scan(text.len());
        assert_eq!(scan(1), whole);
        assert_eq!(scan(3), whole);
        whole
    };
    let one = fingerprints(r#"{"a":1,"input":{"x":[{}],"skill":"s"},"b":2}"#);
    assert_eq!(one, fingerprints(r#"{"input":{"x":[{}],"skill":"s"},"c":[3]}"#));
    assert!(one.contains(&FoundValue::Text { text: "s".into(), whole: true }));
    assert_ne!(one[1], fingerprints(r#"{"input":{"x":[[]],"skill":"s"}}"#)[1]);
    assert_eq!(fingerprints(r#"{"other":{"input":{}}}"#), []);
}
