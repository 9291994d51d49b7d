//! Tests the style of the Japanese texts of threads, setup, sign-in and board: one word for one
//! concept, the same colons, brackets and spaces. Texts that the requirements fix exactly are
//! exempt.

use turnbridge_core::board::sign_in_texts::SignInText;
use turnbridge_core::replies::thread_message::ThreadMessage;
use turnbridge_core::system::setup_texts::SetupText;
use turnbridge_core::text::texts::{Language, Text};

const BOARD: &str = include_str!("../../../turnbridge-daemon/src/board/page/texts.js");

/// Texts fixed exactly (SLV-12, 30, 59, 72).
const FIXED: [Text; 4] =
    [Text::TestPrompt, Text::PromptMissing, Text::LogLocation, Text::AnswerMissing];

/// Texts fixed exactly (SLV-84 to 86).
const FIXED_MESSAGES: [ThreadMessage; 3] =
    [ThreadMessage::Receipt, ThreadMessage::NoRoute, ThreadMessage::Failed];

/// Forbidden words and their replacements.
const WORDS: [(&str, &str); 4] = [
    ("端末", "ターミナル"),
    ("対話 CLI", "ターミナル"),
    ("お待ちしています", "受信を待っています"),
    ("途切れました", "終了しました"),
];

/// Returns the style errors of a text.
fn faults(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (word, better) in WORDS {
        if text.contains(word) {
            faults.push(format!("`{word}` instead of `{better}`"));
        }
    }
    // An indented line is a command.
    for line in text.lines().filter(|line| !line.starts_with("    ")) {
        let prose: Vec<char> = without_code(line).chars().collect();
        for letter in &prose {
            if ":;,!?()".contains(*letter) {
                faults.push(format!("the half-width `{letter}`"));
            }
        }
        for pair in prose.windows(2) {
            let shown = format!("{}{}", pair[0], pair[1]);
            let is_full = |letter: char| "：；、。！？（）「」".contains(letter);
            match (pair[0], pair[1]) {
                (one, ' ') | (' ', one) if is_full(one) => {
                    faults.push(format!("a blank at `{shown}`"));
                }
                (one, two) if is_latin(one) && is_kana_or_kanji(two) => {
                    faults.push(format!("no blank in `{shown}`"));
                }
                (one, two) if is_kana_or_kanji(one) && is_latin(two) => {
                    faults.push(format!("no blank in `{shown}`"));
                }
                _ => {}
            }
        }
    }
    faults
}

/// Returns the line with an `x` for each `` `code` `` and each placeholder.
fn without_code(line: &str) -> String {
    let mut prose = String::new();
    for (number, piece) in line.split('`').enumerate() {
        prose += if number % 2 == 0 { piece } else { "x" };
    }
    ["{0}", "{1}", "{2}", "{3}"].iter().fold(prose, |prose, place| prose.replace(place, "x"))
}

fn is_latin(letter: char) -> bool {
    letter.is_ascii_alphanumeric()
}

fn is_kana_or_kanji(letter: char) -> bool {
    matches!(letter, 'ぁ'..='ゖ' | 'ァ'..='ヺ' | 'ー' | '一'..='鿿' | '々')
}

#[track_caller]
fn check(texts: impl Iterator<Item = (String, String)>) {
    let wrong: Vec<_> = texts
        .flat_map(|(name, text)| {
            faults(&text).into_iter().map(move |fault| format!("{name}: {fault}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_texts_of_threads_set_up_and_sign_in_are_in_one_style() {
    let own = Text::ALL.iter().filter(|text| !FIXED.contains(text));
    check(own.map(|text| (format!("{text:?}"), text.text(Language::Japanese).to_owned())));
    let messages = ThreadMessage::ALL.iter().filter(|message| !FIXED_MESSAGES.contains(message));
    check(messages.filter_map(|message| {
        Some((format!("{message:?}"), message.sentence(Language::Japanese)?.to_owned()))
    }));
    let setup = SetupText::ALL.iter();
    check(setup.map(|text| (format!("{text:?}"), text.text(Language::Japanese).to_owned())));
    let sign_in = SignInText::ALL.iter();
    check(sign_in.map(|text| (format!("{text:?}"), text.text(Language::Japanese).to_owned())));
}

#[test]
fn the_texts_of_the_board_are_in_one_style() {
    let (_, japanese) = BOARD.split_once("\n  ja: {").unwrap();
    let (japanese, _) = japanese.split_once("\n  },").unwrap();
    let texts: Vec<_> = japanese
        .lines()
        .filter_map(|line| {
            let (name, text) = line.trim().split_once(": \"")?;
            Some((name.to_owned(), text.trim_end_matches("\",").to_owned()))
        })
        // Its value is Japanese: `5 分`.
        .filter(|(name, _)| name != "ago")
        .collect();
    assert!(texts.len() > 80, "{}", texts.len());
    check(texts.into_iter());
}

#[test]
fn what_is_not_in_that_style_is_found() {
    for wrong in [
        "エラー: {0}",
        "エラー： {0}",
        "{0}秒",
        "CLIで実行",
        "実行します(短い)",
        "よいですか?",
        "端末で",
        "対話 CLI で",
        "`turnbridge`を",
    ] {
        assert!(!faults(wrong).is_empty(), "{wrong}");
    }
    for right in
        ["エラー：`a: b`", "CLI で {0} 秒（短い）。", "次を実行：\n\n    ssh -L {1}:a HOST"]
    {
        assert_eq!(faults(right), Vec::<String>::new(), "{right}");
    }
}
