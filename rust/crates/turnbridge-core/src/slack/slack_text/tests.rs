//! Tests that texts are cut into sendable messages at good places, and that the pieces of any text
//! are the whole text.

use super::*;

/// Every part with the added text in brackets; long runs of one character are counted.
fn show(parts: &[MessagePart]) -> String {
    let mut shown = String::new();
    for part in parts {
        let end = part.markdown.len() - part.added_after;
        let [before, piece, after] =
            [&part.markdown[..part.added_before], part.original(), &part.markdown[end..]];
        shown.push_str(&format!("[{}]{}[{}]\n", runs(before), runs(piece), runs(after)));
    }
    shown
}

fn runs(text: &str) -> String {
    let mut shown = String::new();
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let mut count = 1;
        while characters.next_if_eq(&c).is_some() {
            count += 1;
        }
        match (if c == '\n' { '⏎' } else { c }, count) {
            (c, ..=9) => shown.extend(std::iter::repeat_n(c, count)),
            (c, _) => shown.push_str(&format!("{c}×{count} ")),
        }
    }
    shown
}

fn answer(text: &str) -> String {
    check(text, &split_answer(text));
    show(&split_answer(text))
}

fn prompt(text: &str) -> String {
    let (parent, rest) = split_prompt(text);
    let all: Vec<_> = std::iter::once(parent.clone()).chain(rest.clone()).collect();
    assert_eq!(all.iter().map(MessagePart::original).collect::<String>(), text);
    show(&all)
}

#[test]
fn x24_exactly_three_characters_are_escaped() {
    assert_eq!(
        escape("<!channel> & Vec<T> \"'`&amp;日本"),
        "&lt;!channel&gt; &amp; Vec&lt;T&gt; \"'`&amp;amp;日本"
    );
}

#[test]
fn slv_73_what_fits_is_one_message_without_a_number() {
    assert_eq!(split_answer(""), []);
    insta::assert_snapshot!(answer("Done <b>.\n"), @"[]Done <b>.⏎[]");
    assert_eq!(split_answer("Done <b>.\n")[0].text, "Done &lt;b&gt;.\n");
    assert_eq!(split_answer(&"日".repeat(MAX_TEXT)).len(), 1);
    assert_eq!(split_answer(&"日".repeat(MAX_TEXT + 1)).len(), 2);
    // As sent, not as written.
    assert_eq!(split_answer(&"&".repeat(MAX_TEXT / 5)).len(), 1);
    assert_eq!(split_answer(&"&".repeat(MAX_TEXT / 5 + 1)).len(), 2);
}

#[test]
fn slv_74_blank_lines_then_line_ends_then_blanks_then_letters() {
    let [a, b, c] = ["a", "b", "c"].map(|letter| letter.repeat(1_500));
    insta::assert_snapshot!(answer(&format!("{a}\n{a}\n\n{b}\n\n\n{c}")), @"
    [(1/2) ]a×1500 ⏎a×1500 ⏎⏎[]
    [(2/2) ]b×1500 ⏎⏎⏎c×1500 []
    ");
    insta::assert_snapshot!(answer(&format!("{a}\n{b}\n{c}\n")), @"
    [(1/2) ]a×1500 ⏎b×1500 ⏎[]
    [(2/2) ]c×1500 ⏎[]
    ");
    insta::assert_snapshot!(answer(&format!("{a} {b}  {c}")), @"
    [(1/2) ]a×1500  b×1500   []
    [(2/2) ]c×1500 []
    ");
    insta::assert_snapshot!(answer(&format!("{}。{}", "あ".repeat(3_000), "い".repeat(2_000))), @"
    [(1/2) ]あ×3000 。[]
    [(2/2) ]い×2000 []
    ");
    insta::assert_snapshot!(answer(&"x".repeat(9_000)), @"
    [(1/3) ]x×3793 []
    [(2/3) ]x×3793 []
    [(3/3) ]x×1414 []
    ");
}

#[test]
fn a_block_that_fits_into_a_message_is_not_cut() {
    let code = format!("```rust\n{}```\n", "let x = 1;\n".repeat(343));
    insta::assert_snapshot!(answer(&format!("Here is what I have:\n\n{code}")).replace("let x = 1;⏎", ""), @"
    [(1/2) ]Here is what I have:⏎⏎[]
    [(2/2)⏎⏎]```rust⏎```⏎[]
    ");
    let row = format!("| {} |\n", "r".repeat(1_200));
    insta::assert_snapshot!(answer(&format!("| h |\n|---|\n{}", row.repeat(4))), @"
    [(1/2)⏎⏎]| h |⏎|---|⏎| r×1200  |⏎| r×1200  |⏎| r×1200  |⏎[]
    [(2/2)⏎⏎]| r×1200  |⏎[]
    ");
}

#[test]
fn a_heading_stays_with_what_it_heads() {
    let [a, b] = ["a", "b"].map(|letter| letter.repeat(3_000));
    insta::assert_snapshot!(answer(&format!("{a}\n\n## Next\n\n{b}\n")), @"
    [(1/2) ]a×3000 ⏎⏎[]
    [(2/2)⏎⏎]## Next⏎⏎b×3000 ⏎[]
    ");
    check(&"# h\n".repeat(5_000), &split_answer(&"# h\n".repeat(5_000)));
}

#[test]
fn a_fence_that_must_be_cut_is_closed_and_opened_again() {
    let cut = |opening: &str, closing: &str| {
        let line = format!("{}\n", "x".repeat(1_200));
        answer(&format!("{opening}\n{}{closing}\n", line.repeat(4)))
    };
    insta::assert_snapshot!(cut("```rust", "```"), @"
    [(1/2)⏎⏎]```rust⏎x×1200 ⏎x×1200 ⏎x×1200 ⏎[```]
    [(2/2)⏎⏎```rust⏎]x×1200 ⏎```⏎[]
    ");
    insta::assert_snapshot!(cut("  ~~~~ a<b  ", "~~~~~  "), @"
    [(1/2)⏎⏎]  ~~~~ a<b  ⏎x×1200 ⏎x×1200 ⏎x×1200 ⏎[  ~~~~]
    [(2/2)⏎⏎  ~~~~ a<b⏎]x×1200 ⏎~~~~~  ⏎[]
    ");
    insta::assert_snapshot!(cut("- ```sh", "  ```"), @"
    [(1/2)⏎⏎]- ```sh⏎x×1200 ⏎x×1200 ⏎x×1200 ⏎[  ```]
    [(2/2)⏎⏎  ```sh⏎]x×1200 ⏎  ```⏎[]
    ");
    // Its author did not close it, so Turnbridge does not; and a line too long for a message.
    insta::assert_snapshot!(answer(&format!("```\n{}", "x".repeat(6_000))), @"
    [(1/2)⏎⏎]```⏎x×3785 [⏎```]
    [(2/2)⏎⏎```⏎]x×2215 []
    ");
}

#[test]
fn slv_75_the_number_does_not_change_what_the_markdown_is() {
    for line in ["- item", "3. item", "| a | b |", "a | b", "# h", "> q", "    code", "```", "<b>"]
    {
        let text = format!("{}\n\n{line}\n{}", "x".repeat(3_700), "y".repeat(3_000));
        assert!(split_answer(&text)[1].markdown.starts_with(&format!("(2/2)\n\n{line}")), "{line}");
    }
    let text = format!("{}\n\n日本語で続きます。", "x".repeat(3_791));
    assert_eq!(split_answer(&text)[1].markdown, "(2/2) 日本語で続きます。");
}

#[test]
fn slv_34_the_parent_takes_as_much_of_the_prompt_as_it_can() {
    insta::assert_snapshot!(prompt("fix it"), @"[]fix it[]");
    insta::assert_snapshot!(prompt(&format!("Fix this:\n\n{}", "x".repeat(3_795))), @"
    []Fix this:⏎⏎x×3789 []
    []xxxxxx[]
    ");
    insta::assert_snapshot!(prompt(&format!("{}\n{}", "x".repeat(3_000), "y".repeat(9_000))), @"
    []x×3000 ⏎[]
    [(1/3) ]y×3793 []
    [(2/3) ]y×3793 []
    [(3/3) ]y×1414 []
    ");
    let log = format!("```\n{}```", format!("{}\n", "l".repeat(1_200)).repeat(4));
    insta::assert_snapshot!(prompt(&log), @"
    []```⏎l×1200 ⏎l×1200 ⏎l×1200 ⏎[```]
    [```⏎]l×1200 ⏎```[]
    ");
}

#[test]
fn slv_30_no_message_is_blank() {
    insta::assert_snapshot!(prompt(""), @"[…][]");
    insta::assert_snapshot!(prompt(&format!("{}x", "\n".repeat(4_000))), @"
    […]⏎×3799 []
    []⏎×201 x[]
    ");
    insta::assert_snapshot!(prompt(&format!("{}\n\n\n\n", "x".repeat(3_799))), @"
    []x×3799 ⏎[]
    […]⏎⏎⏎[]
    ");
    insta::assert_snapshot!(answer("\n \n"), @"[…]⏎ ⏎[]");
    insta::assert_snapshot!(answer(&" ".repeat(3_800)), @"
    [(1/2)⏎⏎] ×3793 []
    [(2/2)⏎⏎]       []
    ");
}

#[test]
fn letters_and_emoji_are_not_torn_apart() {
    let clusters = [
        "👩‍👩‍👧‍👦",
        "🇯🇵",
        "e\u{301}\u{302}",
        "👍🏽",
        "が",
        "か\u{3099}",
        "1\u{fe0f}\u{20e3}",
        "\u{1112}\u{1161}\u{11ab}",
    ];
    for cluster in clusters {
        for lead in ["", "a", "ab", "abc"] {
            let text = format!("{lead}{}", cluster.repeat(4_000));
            let parts = split_answer(&text);
            check(&text, &parts);
            for part in &parts[1..] {
                assert!(part.original().starts_with(cluster), "{lead}{cluster}");
                assert_eq!(part.original().len() % cluster.len(), 0, "{lead}{cluster}");
            }
        }
    }
    // No other cut is possible.
    let text = format!("e{}", "\u{301}".repeat(9_000));
    check(&text, &split_answer(&text));
}

#[test]
fn line_ends_of_windows_are_not_torn_apart() {
    let parts = split_answer(&format!("{}\r\n", "x".repeat(60)).repeat(300));
    assert!(parts.iter().all(|part| part.original().ends_with("\r\n")));
    let parts = split_answer(&"\r\n".repeat(5_000));
    assert!(parts.iter().all(|part| part.original().ends_with("\r\n")));
}

#[test]
fn slv_33_36_nothing_is_lost_whatever_the_text() {
    let mut random = SlackTextRng(0x9e37_79b9_7f4a_7c15);
    for _ in 0..2_000 {
        let text = random.text(NASTY);
        let parts = split_answer(&text);
        check(&text, &parts);
        let (parent, rest) = split_prompt(&text);
        let all = std::iter::once(&parent).chain(&rest);
        assert_eq!(all.map(MessagePart::original).collect::<String>(), text);
        assert!(parent.text.chars().count() <= MAX_TEXT && !is_blank(&parent.markdown));
        check_each(&rest);
    }
}

#[test]
fn few_messages_are_used_and_their_fences_are_whole() {
    let mut random = SlackTextRng(7);
    for _ in 0..1_000 {
        let text = random.text(TAME);
        let parts = split_answer(&text);
        check(&text, &parts);
        let least = escape(&text).chars().count().div_ceil(MAX_TEXT);
        let fence_lines = text.matches("```").count() + text.matches("~~~").count();
        if fence_lines == 0 {
            assert!(parts.len() <= 2 * least + 1, "{} for {least}: {text:?}", parts.len());
        }
        for part in parts.split_last().map_or(&[][..], |(_, others)| others) {
            let mut open: Option<fence::Fence> = None;
            for line in part.markdown.lines() {
                open = match open {
                    Some(fence) if fence.is_closed_by(line) => None,
                    Some(fence) => Some(fence),
                    None => fence::Fence::opened_by(line),
                };
            }
            assert_eq!(open, None, "{}", part.markdown);
        }
    }
}

#[test]
fn a_huge_text_takes_time_in_proportion() {
    for text in ["x".repeat(1 << 20), "\n".repeat(1 << 19), "```\n\n".repeat(1 << 17)] {
        check(&text, &split_answer(&text));
    }
}

#[track_caller]
fn check(text: &str, parts: &[MessagePart]) {
    assert_eq!(parts.iter().map(MessagePart::original).collect::<String>(), text);
    check_each(parts);
}

/// Every message can be sent, and the added text is allowed.
#[track_caller]
fn check_each(parts: &[MessagePart]) {
    let mut is_cut_in_fence = None;
    for (index, part) in parts.iter().enumerate() {
        assert_eq!(part.text, escape(&part.markdown));
        assert!(part.text.chars().count() <= MAX_TEXT, "{}", part.text.chars().count());
        assert!(!is_blank(&part.markdown));
        let before = &part.markdown[..part.added_before];
        let number = format!("({}/{})", index + 1, parts.len());
        let reopened = match before.strip_prefix(&number) {
            Some(rest) if parts.len() > 1 => {
                rest.strip_prefix(' ').or_else(|| rest.strip_prefix("\n\n")).unwrap()
            }
            _ => {
                assert_eq!(parts.len(), 1, "no number: {before:?}");
                before.strip_prefix("…").unwrap_or(before)
            }
        };
        let mark =
            |line: &str| line.trim_start().trim_end_matches(|c| !matches!(c, '`' | '~')).to_owned();
        if let Some(closed) = is_cut_in_fence {
            assert!(reopened.ends_with('\n') && reopened.trim_start().starts_with(&closed));
        } else if index > 0 {
            assert_eq!(reopened, "");
        }
        let after = &part.markdown[part.markdown.len() - part.added_after..];
        let closed = mark(after);
        assert_eq!(after.trim_start_matches('\n').trim_start_matches(' '), closed);
        assert!(
            after.is_empty()
                || part.markdown[..part.markdown.len() - after.len()].ends_with('\n')
                    != after.starts_with('\n')
        );
        is_cut_in_fence = (!closed.is_empty()).then_some(closed);
    }
    assert_eq!(is_cut_in_fence, None, "closed at the end");
}

/// Xorshift: the same texts every time.
struct SlackTextRng(u64);

impl SlackTextRng {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    /// Fragments, some of them repeated often, to lengths around the limit and far beyond it.
    fn text(&mut self, fragments: &[&str]) -> String {
        let length = [0, 10, 3_700, 3_790, 3_801, 5_000, 8_000, 14_000][self.below(8)];
        let length = length + self.below(40);
        // Few kinds in one text, so that some have no line ends at all.
        let kinds: Vec<_> =
            (0..1 + self.below(8)).map(|_| fragments[self.below(fragments.len())]).collect();
        let mut text = String::new();
        let mut left = length;
        while left > 0 {
            let fragment = kinds[self.below(kinds.len())];
            let times = [1, 1, 1, 2, 5, 30, 500][self.below(7)];
            for _ in 0..times {
                text.push_str(fragment);
                left = left.saturating_sub(fragment.chars().count());
                if left == 0 {
                    break;
                }
            }
        }
        text
    }
}

const TAME: &[&str] = &[
    "A sentence of some length that says nothing. ",
    "A line of its own that is a little longer than the others are.\n",
    "\n\n",
    "\n\nA paragraph.\n\n",
    "日本語の文章がここにあります。\n",
    "\n- an item\n- another & more\n",
    "\n\n```rust\nfn main() {\n    println!(\"<T>\");\n}\n```\n\n",
    "\n~~~\nshort\n~~~\n",
    "\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n",
    "\n# A heading\n\n",
];

const NASTY: &[&str] = &[
    "x",
    " ",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "\n\n",
    "&",
    "<",
    ">&<",
    "&amp;",
    "word ",
    "a line\n",
    "a line of windows\r\n",
    "日本語",
    "句点。",
    "e\u{301}",
    "\u{301}",
    "👩‍👩‍👧‍👦",
    "🇯🇵",
    "\u{200d}",
    "\u{feff}",
    "\0",
    "```",
    "```\n",
    "\n```rust\n",
    "\n```\n",
    "\n````md\n",
    "\n````\n",
    "\n~~~\n",
    "\n   ~~~~ <info> & more\n",
    "\n- ```sh\n",
    "\n10. - ```\n",
    "\n  ```\n",
    "\n      ```\n",
    "\n> ```\n",
    "\n``````````````````````````````````````````````````````````````````````````````\n",
    "~~~<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<\n",
    "| a | b |\n",
    "|---|---|\n",
    "(1/2) ",
    "(2/5)\n\n",
    "…",
    "- item\n",
    "\n# heading\n\n",
    "\\",
    "[Text](https://example.com/a?b=c&d=e)",
    "**bold** ",
];
