//! Compares the words of this workspace's comments with those of other code bases. A word that is
//! frequent here and absent there is private language, which a newcomer has to learn.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::metadata::repository;

const HELP: &str = "\
Compares the words of our comments with those of other code bases

Usage: cargo xtask words [--most N] FOLDER...

Each FOLDER holds Rust code of others, for example what `cargo vendor` has written. Prints the words that only
our comments use, then those that we use far more often. Leaves out the words of docs/glossary.md, the names of
agents and requirement codes.

Options:
  --most N    how many words of each kind to print (default: 10)
  -h, --help
";

/// The page with the words that are ours on purpose.
const GLOSSARY: &str = "docs/glossary.md";
/// Names of programs.
const NAMES: [&str; 6] = ["claude", "codex", "slack", "turnbridge", "tmux", "tvine"];
/// The number of uses in our comments below which a word is not listed.
const FEWEST: u32 = 10;
/// The factor by which our comments must use a word more often before it is listed.
const FAR_MORE: f64 = 10.0;
/// The number of words to which a printed frequency refers.
const PER: f64 = 100_000.0;

#[derive(Default)]
struct WordCounts {
    counts: BTreeMap<String, u32>,
    all: u32,
}

impl WordCounts {
    fn add_comments_of(&mut self, code: &str) {
        for comment in code.lines().filter_map(comment_in) {
            for word in words_in(comment) {
                *self.counts.entry(word).or_default() += 1;
                self.all += 1;
            }
        }
    }

    fn add_folder(&mut self, folder: &Path) -> Result<()> {
        let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() && !path.is_symlink() && name != "target" && !name.starts_with('.') {
                self.add_folder(&path)?;
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                self.add_comments_of(&String::from_utf8_lossy(&fs::read(&path)?));
            }
        }
        Ok(())
    }

    fn frequency(&self, count: u32) -> f64 {
        f64::from(count) / f64::from(self.all.max(1)) * PER
    }
}

/// Returns the text of a line that is a comment. One behind code counts too; an address does not.
fn comment_in(line: &str) -> Option<&str> {
    let (before, comment) = line.split_once("//")?;
    if before.ends_with(':') || before.matches('"').count() % 2 == 1 {
        return None;
    }
    Some(comment.trim_start_matches(['/', '!']))
}

/// Returns the words of a comment in lower case, without names in backticks.
fn words_in(comment: &str) -> Vec<String> {
    let prose: Vec<&str> = comment.split('`').step_by(2).collect();
    // A hyphen before a digit belongs to a code, such as KT-44.
    let is_end = |sign: char| !sign.is_alphanumeric() && !"_'-".contains(sign);
    let prose = prose.join(" ");
    let is_code = |piece: &&str| piece.contains(|sign: char| sign.is_ascii_digit());
    let pieces = prose.split(is_end).filter(|piece| !is_code(piece));
    let pieces = pieces.flat_map(|piece| piece.split('-')).map(|piece| piece.trim_matches('\''));
    let is_word =
        |piece: &&str| piece.len() > 1 && piece.chars().all(|sign| sign.is_ascii_alphabetic());
    pieces.filter(is_word).map(str::to_lowercase).collect()
}

struct OwnWord<'a> {
    word: &'a str,
    ours: u32,
    theirs: u32,
}

fn own_words<'a>(
    ours: &'a WordCounts,
    theirs: &WordCounts,
    kept: &BTreeSet<String>,
) -> Vec<OwnWord<'a>> {
    let count_theirs = |word: &str| theirs.counts.get(word).copied().unwrap_or(0);
    let all = ours.counts.iter().filter(|(_, count)| **count >= FEWEST);
    let mut words: Vec<OwnWord> = all
        .map(|(word, count)| OwnWord { word, ours: *count, theirs: count_theirs(word) })
        .collect();
    words.retain(|word| {
        !is_kept(word.word, kept)
            && ours.frequency(word.ours) >= FAR_MORE * theirs.frequency(word.theirs)
    });
    words.sort_by_key(|word| std::cmp::Reverse(word.ours));
    words
}

/// Returns the words of the glossary: the first cell of each row.
fn words_of_glossary(page: &str) -> BTreeSet<String> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    rows.flat_map(words_in).collect()
}

/// Returns whether the glossary has the word, also as a plural.
fn is_kept(word: &str, kept: &BTreeSet<String>) -> bool {
    let singular = word.strip_suffix("ies").map(|stem| format!("{stem}y"));
    let singular = singular.or_else(|| word.strip_suffix('s').map(str::to_owned));
    kept.contains(word) || singular.is_some_and(|word| kept.contains(&word))
}

fn report(
    ours: &WordCounts,
    theirs: &WordCounts,
    kept: &BTreeSet<String>,
    most: usize,
) -> Result<String> {
    let mut text = format!("words of comments: {} of ours, {} of theirs\n", ours.all, theirs.all);
    let (absent, rare): (Vec<_>, Vec<_>) =
        own_words(ours, theirs, kept).into_iter().partition(|word| word.theirs == 0);
    for (title, words) in [("in none of theirs", absent), ("rare in theirs", rare)] {
        writeln!(text, "\n{title}: {}", words.len())?;
        for OwnWord { word, ours: own, theirs: other } in words.iter().take(most) {
            let per = (ours.frequency(*own), theirs.frequency(*other));
            writeln!(
                text,
                "  {word:<16} {own:>6} times; {:.1} and {:.1} in {PER} words",
                per.0, per.1
            )?;
        }
    }
    Ok(text)
}

/// Runs the command and returns the list of words.
pub fn run(options: &[&str]) -> Result<String> {
    let (most, folders) = match options {
        ["-h" | "--help"] => return Ok(HELP.to_owned()),
        ["--most", most, folders @ ..] => {
            (most.parse().with_context(|| format!("`--most {most}` is no number"))?, folders)
        }
        folders => (10, folders),
    };
    if folders.is_empty() || folders.iter().any(|folder| folder.starts_with('-')) {
        bail!("`words` takes folders with Rust code\n\n{HELP}");
    }
    let mut ours = WordCounts::default();
    for folder in ["rust/crates", "rust/xtask", "tests/e2e"] {
        ours.add_folder(&repository().join(folder))?;
    }
    let glossary = fs::read_to_string(repository().join(GLOSSARY)).context(GLOSSARY)?;
    let mut kept = words_of_glossary(&glossary);
    kept.extend(NAMES.map(str::to_owned));
    let mut theirs = WordCounts::default();
    for folder in folders {
        theirs.add_folder(Path::new(folder))?;
    }
    report(&ours, &theirs, &kept, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(code: &str) -> WordCounts {
        let mut counts = WordCounts::default();
        counts.add_comments_of(code);
        counts
    }

    #[test]
    fn words_of_comments_count_and_names_addresses_and_texts_do_not() {
        let code = "//! The `daemon` isn't told.\nlet a = 1; // Told here\n// look\nlet b = \"// no\";\nlet c = \"http://x\";\n";
        let words = counts(code).counts;
        let words: Vec<_> = words.iter().map(|(word, count)| (word.as_str(), *count)).collect();
        assert_eq!(words, [("here", 1), ("look", 1), ("the", 1), ("told", 2)]);
    }

    #[test]
    fn a_word_that_others_never_use_is_listed_before_one_that_they_use_seldom() {
        let kept = words_of_glossary("| word | means |\n| reply | text |\n");
        let ours = counts(&"// whoever stands here returns replies\n".repeat(10));
        let theirs = counts(&format!("{}// stands\n", "// it returns from here\n".repeat(100)));
        let text = report(&ours, &theirs, &kept, 10).unwrap();
        let (absent, rare) = text.split_once("rare in theirs: 1").unwrap();
        assert!(absent.contains("in none of theirs: 1\n  whoever"), "{text}");
        assert!(rare.contains("stands") && !text.contains("returns"), "{text}");
    }
}
