//! Tests which words of Markdown are spoken, and in which language.

use super::*;

/// One line per utterance's line, with its language before it.
fn read(markdown: &str) -> String {
    let mut shown = String::new();
    for utterance in spoken_text(markdown) {
        let language = match utterance.language {
            Language::Japanese => "ja",
            Language::English => "en",
        };
        for (index, line) in utterance.text.lines().enumerate() {
            let label = if index == 0 { language } else { "  " };
            shown.push_str(&format!("{label} {line}\n"));
        }
    }
    shown
}

fn read_each(texts: &[&str]) -> String {
    texts.iter().map(|text| read(text)).collect::<Vec<_>>().join("--\n")
}

#[test]
fn code_blocks_are_not_read() {
    insta::assert_snapshot!(read_each(&[
        "Before.\n\n```rust\nfn main() {}\n```\n\nAfter.",
        "~~~~\n```\nstill code\n~~~~\nAfter",
        "Before:\n\n    indented code\n\nAfter",
        "- item\n\n  ```sh\n  ls\n  ```\n- next\n\n      code in the item\n\n  more of next",
        "```\nnever closed\n\nall code",
        "> quoted\n> ```\n> code\n> ```",
    ]), @"
    en Before.
       After.
    --
    en After.
    --
    en Before:
       After.
    --
    en item.
       next.
       more of next.
    --
    --
    en quoted.
    ");
}

#[test]
fn short_code_in_a_line_is_read_as_words() {
    insta::assert_snapshot!(read_each(&[
        "Run `cargo test` in `src/main.rs`.",
        "`parse_hook_event()` takes ``a ` tick`` and `--out`.",
        "Now `let x = a_very_long_expression(with, many, arguments, inside)` works.",
        "`設定` を変更しました",
        "a lone ` tick",
    ]), @"
    en Run cargo test in src main.rs.
    --
    en parse hook event takes a tick and out.
    --
    en Now works.
    --
    ja 設定 を変更しました。
    --
    en a lone tick.
    ");
}

#[test]
fn addresses_are_not_read_but_the_text_of_links_is() {
    insta::assert_snapshot!(read_each(&[
        "See [the manual](https://example.com/a_(b) \"Title\") and https://example.com/x?y=1.",
        "An image ![of a cat](cat.png), <https://example.com>, [by reference][1] (https://a.b/c).",
        "[1]: https://example.com\n\nA footnote[^1].\n\n[^1]: Its text.",
        "詳細は https://example.com/あ を参照。[公式サイト](https://example.jp)もあります。",
        "https://example.com",
        "an array a[0] and [an aside](that is prose)",
    ]), @"
    en See the manual and.
    --
    en An image of a cat, by reference.
    --
    en A footnote.
       Its text.
    --
    ja 詳細は あ を参照。公式サイトもあります。
    --
    --
    en an array a 0 and an aside(that is prose).
    ");
}

#[test]
fn tables_are_read_row_by_row_with_pauses() {
    insta::assert_snapshot!(read_each(&[
        "| Name | Time |\n|:-----|-----:|\n| fast | 3.5 ms |\n| `slow` | |\n\nDone",
        "項目 | 結果\n--- | ---\n速度 | 良い\na \\| b | x",
    ]), @"
    en Name, Time.
       fast, 3.5 ms.
       slow.
       Done.
    --
    ja 項目、結果。
       速度、良い。
    en a | b, x.
    ");
}

#[test]
fn marks_are_not_read() {
    insta::assert_snapshot!(read_each(&[
        "# Result ##\n\nSetext\n======\n\nOther\n---\ntext",
        "- one\n* two\n+ [x] three\n  goes on\n\n***\n\n- - -\nend",
        "**Bold**, *italic*, __both__, _x_, ~~gone~~, snake_case, 3 * 4, \\*stars\\*",
        "a<br>b <b class=\"x\">bold</b> <!-- hidden --> 1 < 2 &amp; 3\n\n<!--\nhidden\n\nhidden\n-->\nshown",
        "Done :tada: :+1: at 10:30:45 🎉 ✓",
        "> quoted\n>> twice",
    ]), @"
    en Result.
       Setext.
       Other.
       text.
    --
    en one.
       two.
       three goes on.
       end.
    --
    en Bold, italic, both, x, gone, snake case, 3 * 4, *stars*.
    --
    en a b bold 1 < 2 & 3.
       shown.
    --
    en Done at 10:30:45 ✓.
    --
    en quoted twice.
    ");
}

#[test]
fn numbered_lists_keep_their_number() {
    insta::assert_snapshot!(read_each(&[
        "1. First\n2) Second\n10. 三番目\n11. 四番目。終わり",
    ]), @"
    en 1. First.
       2. Second.
    ja 10. 三番目。
       11. 四番目。終わり。
    ");
}

#[test]
fn every_sentence_has_its_language() {
    insta::assert_snapshot!(read_each(&[
        "Hello there. How are you? これは日本語です。English again! また日本語",
        "テストは 12 件すべて pass しました。次は deploy です。",
        "一行目は\n二行目に続き\nEnglish に続く",
        "「はい。」と言った。はい！？そうです",
        "日本語\n\n42\n\n2. \n\nEnglish",
        "漢字",
        "ﾊﾝｶｸ",
    ]), @"
    en Hello there. How are you?
    ja これは日本語です。
    en English again!
    ja また日本語。
    --
    ja テストは 12 件すべて pass しました。次は deploy です。
    --
    ja 一行目は二行目に続き English に続く。
    --
    ja 「はい。」と言った。はい！？そうです。
    --
    ja 日本語。
       42。
       2.
    en English.
    --
    ja 漢字。
    --
    ja ﾊﾝｶｸ。
    ");
}

#[test]
fn control_characters_are_not_read() {
    insta::assert_snapshot!(read("\u{feff}a\u{7}b \u{1b}[1;31mred\u{1b}[0m\r\nnext\u{0}\tcolumn\u{200b}"), @"en ab red next column.");
}

#[test]
fn there_may_be_nothing_to_say() {
    for text in
        ["", " \n\n", "```\ncode\n```", "---", "https://a.b", "🎉", "| - |\n|---|", "...", "<br>"]
    {
        assert_eq!(spoken_text(text), [], "{text:?}");
    }
}

#[test]
fn a_long_text_of_nothing_but_marks_is_read_in_time() {
    for mark in ["[", "](", "`", "<a ", "*", "_a", "| ", "> ", "# ", "&", ":a", "\\", "「。"] {
        spoken_text(&mark.repeat(20_000));
    }
    // Time quadratic in the length would be hours.
    spoken_text(&format!("https://a.b/{}", ")".repeat(1_000_000)));
}
