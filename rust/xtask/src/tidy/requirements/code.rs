//! Finds and parses the codes of requirements in a text: `KT-35`, `SLV-T3`, `ASK-6a`, `X31`, and in
//! function names `kt_35`, `slv_t3`, `ask_6a`, `x31`. A range or a list counts as all of its codes:
//! `KT-77..82`, `SLV-84 to 86`, `SLV-12, 30`, `kt_77_to_79`, `kt_44_56`.

use std::collections::BTreeSet;
use std::fmt;

/// The prefixes of codes. `X` has no hyphen.
const PREFIXES: [&str; 9] = ["CVI", "KT", "SLV", "TV", X, "ASK", "LIVE", "ATT", "FL"];
const X: &str = "X";

/// Names of processors, which look like codes with the prefix `X`.
const PROCESSORS: [&str; 2] = ["x86", "x64"];

/// The longest range. Numbers further apart are two codes and no range.
const LONGEST_RANGE: u16 = 100;

/// The code of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequirementCode {
    prefix: &'static str,
    number: Number,
}

/// The part of a code after its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Number {
    /// Whether it begins with `T`: the code of an acceptance test.
    is_acceptance: bool,
    value: u16,
    letter: Option<char>,
}

impl RequirementCode {
    /// Parses one code, spelled with capitals. Returns `None` for any other text.
    pub fn parse(text: &str) -> Option<RequirementCode> {
        let (prefix, rest) = capital_prefix(text)?;
        let number = Number::parse(rest, 'T')?;
        Some(RequirementCode { prefix, number })
    }
}

impl Number {
    fn parse(text: &str, acceptance: char) -> Option<Number> {
        let (is_acceptance, rest) =
            text.strip_prefix(acceptance).map_or((false, text), |rest| (true, rest));
        let letter = rest.chars().last().filter(|c| ('a'..='d').contains(c));
        let digits = letter.map_or(rest, |_| &rest[..rest.len() - 1]);
        let is_number =
            (1..=3).contains(&digits.len()) && digits.bytes().all(|c| c.is_ascii_digit());
        let value = digits.parse().ok().filter(|_| is_number)?;
        Some(Number { is_acceptance, value, letter })
    }

    /// Returns the numbers after `self` up to `last`, or `last` alone if they form no range.
    fn up_to(self, last: Number) -> Vec<Number> {
        let is_alike =
            self.is_acceptance == last.is_acceptance && (self.letter, last.letter) == (None, None);
        let steps = last.value.checked_sub(self.value).filter(|steps| *steps <= LONGEST_RANGE);
        match steps.filter(|_| is_alike) {
            Some(_) => {
                (self.value + 1..=last.value).map(|value| Number { value, ..last }).collect()
            }
            None => vec![last],
        }
    }
}

impl fmt::Display for RequirementCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RequirementCode { prefix, number } = self;
        let hyphen = if *prefix == X { "" } else { "-" };
        let acceptance = if number.is_acceptance { "T" } else { "" };
        write!(formatter, "{prefix}{hyphen}{acceptance}{}", number.value)?;
        number.letter.map_or(Ok(()), |letter| write!(formatter, "{letter}"))
    }
}

/// Returns every code in a text, with those that a range or a list includes.
pub fn codes_in(text: &str) -> BTreeSet<RequirementCode> {
    let mut codes = BTreeSet::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_of_a_word) {
        rest = &rest[start..];
        let (word, behind) = split_word(rest);
        rest = match capital_code(rest) {
            Some((code, after)) => {
                codes.insert(code);
                add_list(code, after, &mut codes)
            }
            None => behind,
        };
        add_small(word, &mut codes);
    }
    codes
}

fn is_of_a_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns the word at the beginning, and the text after it.
fn split_word(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c| !is_of_a_word(c)).unwrap_or(text.len()))
}

/// Returns the prefix at the beginning, and the text after it and its hyphen.
fn capital_prefix(text: &str) -> Option<(&'static str, &str)> {
    PREFIXES.into_iter().find_map(|prefix| {
        let rest = text.strip_prefix(prefix)?;
        let rest = if prefix == X { Some(rest) } else { rest.strip_prefix('-') };
        Some((prefix, rest?))
    })
}

/// Returns the code in capitals at the beginning, and the text after it. The caller must pass the
/// beginning of a word.
fn capital_code(text: &str) -> Option<(RequirementCode, &str)> {
    let (prefix, rest) = capital_prefix(text)?;
    let (word, behind) = split_word(rest);
    let number = Number::parse(word, 'T')?;
    Some((RequirementCode { prefix, number }, behind))
}

/// Adds the codes that follow a code in the same list or range. Returns the rest of the text.
fn add_list<'a>(
    first: RequirementCode,
    behind: &'a str,
    codes: &mut BTreeSet<RequirementCode>,
) -> &'a str {
    let (mut last, mut rest) = (first, behind);
    loop {
        let separators = [("..", true), (" to ", true), (", ", false)];
        let next = separators.into_iter().find_map(|(separator, is_range)| {
            let text = rest.strip_prefix(separator)?;
            let (code, behind) = capital_code(text).or_else(|| bare_number(last.prefix, text))?;
            Some((code, behind, is_range && code.prefix == last.prefix))
        });
        let Some((code, behind, is_range)) = next else { return rest };
        let numbers = if is_range { last.number.up_to(code.number) } else { vec![code.number] };
        codes.extend(numbers.into_iter().map(|number| RequirementCode { number, ..code }));
        (last, rest) = (code, behind);
    }
}

/// Returns a number with the prefix of the code before it, and the text after it. A fraction does
/// not count.
fn bare_number<'a>(prefix: &'static str, text: &'a str) -> Option<(RequirementCode, &'a str)> {
    let (word, behind) = split_word(text);
    let number = Number::parse(word, 'T')?;
    let is_fraction = behind
        .strip_prefix('.')
        .is_some_and(|behind| behind.starts_with(|c: char| c.is_ascii_digit()));
    (!is_fraction).then_some((RequirementCode { prefix, number }, behind))
}

/// Adds the codes in a name such as `a_turn_kt_36_to_40_tv_12`.
fn add_small(name: &str, codes: &mut BTreeSet<RequirementCode>) {
    let mut last: Option<RequirementCode> = None;
    let mut prefix = None;
    let mut is_range = false;
    let parts: Vec<_> = name.split('_').collect();
    if parts.len() < 2 {
        return;
    }
    for part in parts {
        let with_x = part.strip_prefix('x').filter(|_| !PROCESSORS.contains(&part));
        let with_x = with_x.and_then(|digits| Number::parse(digits, 't'));
        let number = prefix.and_then(|_| Number::parse(part, 't'));
        if let Some(number) = with_x {
            (prefix, is_range) = (Some(X), false);
            last = Some(RequirementCode { prefix: X, number });
            codes.extend(last);
        } else if let (Some(prefix), Some(number)) = (prefix, number) {
            let numbers = match last.filter(|_| is_range) {
                Some(last) => last.number.up_to(number),
                None => vec![number],
            };
            codes.extend(numbers.into_iter().map(|number| RequirementCode { prefix, number }));
            (last, is_range) = (Some(RequirementCode { prefix, number }), false);
        } else if part == "to" && last.is_some() && !is_range {
            is_range = true;
        } else {
            let is_prefix = |prefix: &&str| *prefix != X && prefix.to_ascii_lowercase() == part;
            prefix = PREFIXES.into_iter().find(is_prefix);
            (last, is_range) = (None, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> String {
        codes_in(text).iter().map(RequirementCode::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn codes_are_found_in_every_spelling() {
        assert_eq!(found("/// KT-35: see (X9), TV-2."), "KT-35 TV-2 X9");
        assert_eq!(found("fn without_a_pane_nothing_kt_35() {"), "KT-35");
        assert_eq!(
            found("cvi_13_cvi_15_the_first, slv_t3_t4_a_reply"),
            "CVI-13 CVI-15 SLV-T3 SLV-T4"
        );
        assert_eq!(found("kt_9_16_17_t3_x1_hooks"), "KT-9 KT-16 KT-17 KT-T3 X1");
        assert_eq!(found("x8_x9_a_blocked_stop"), "X8 X9");
        assert_eq!(found("SLV-T3, `CVI-20`/X42"), "CVI-20 SLV-T3 X42");
    }

    #[test]
    fn a_range_and_a_list_name_each_of_their_codes() {
        for text in ["KT-77..79", "KT-77 to 79.", "KT-77 to KT-79", "kt_77_to_79_dots"] {
            assert_eq!(found(text), "KT-77 KT-78 KT-79", "{text}");
        }
        assert_eq!(found("kt_30_to_32_tv_2_to_3"), "KT-30 KT-31 KT-32 TV-2 TV-3");
        assert_eq!(found("SLV-T2..T4"), "SLV-T2 SLV-T3 SLV-T4");
        assert_eq!(found("(SLV-12, 30, 59 to 61)"), "SLV-12 SLV-30 SLV-59 SLV-60 SLV-61");
        assert_eq!(found("SLV-10, SLV-12 to SLV-14."), "SLV-10 SLV-12 SLV-13 SLV-14");
        assert_eq!(found("KT-6, TV-2"), "KT-6 TV-2");
    }

    #[test]
    fn what_only_looks_like_a_code_is_none() {
        for text in [
            "GPT-5 UTF-8 x86_64 on_x64 b\"\\x12\\x34\" 0x12 tv-1",
            "linux-x86_64_gnu XX12 MKT-3 KT-35b7 KT-1234 kt_ KT- kt",
            "with_status_200 held_for_0_1",
        ] {
            assert_eq!(found(text), "", "{text}");
        }
        assert_eq!(found("KT-5, 0.150"), "KT-5");
        assert_eq!(found("KT-9 to KT-2"), "KT-2 KT-9");
    }

    #[test]
    fn a_code_is_shown_as_it_is_written() {
        for text in ["KT-35", "SLV-T3", concat!("ASK-", "6b"), "X31"] {
            assert_eq!(
                RequirementCode::parse(text).map(|code| code.to_string()).as_deref(),
                Some(text)
            );
        }
        for text in ["", "KT", "KT-", "KT35", "X-31", "kt-35", "KT-35 ", "code", "X1, X2"] {
            assert_eq!(RequirementCode::parse(text), None, "{text}");
        }
    }
}
