//! Computes the difference of two texts, line by line, for users who confirm a change.
//!
//! The output has the unified format. Between the first and the last line that differ, a table
//! finds the longest common subsequence; if the table would be huge, all of these lines are shown
//! as replaced.

use std::collections::BTreeMap;
use std::fmt::Write;

const CONTEXT: usize = 3;
/// The limit of the table's cells: 16 MiB.
const LARGEST: usize = 4 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DiffStep {
    Keep,
    Remove,
    Add,
}

/// Returns the difference in the unified format; empty if the texts are equal. `name` is the
/// file's.
pub fn diff(name: &str, before: &str, after: &str) -> String {
    if before == after {
        return String::new();
    }
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let steps = steps(&old, &new);
    let mut shown = format!("--- {name}\n+++ {name}\n");
    let mut start = 0;
    let mut at = (0, 0);
    while let Some(hunk) = next_hunk(&steps, start) {
        // All lines between two hunks are kept ones.
        at = (at.0 + hunk.start - start, at.1 + hunk.start - start);
        start = hunk.end;
        at = write_hunk(&mut shown, &steps[hunk], at, (&old, &new));
    }
    shown
}

fn steps(old: &[&str], new: &[&str]) -> Vec<DiffStep> {
    let at_start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[at_start..], &new[at_start..]);
    let at_end = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[..old.len() - at_end], &new[..new.len() - at_end]);
    let mut steps = vec![DiffStep::Keep; at_start];
    steps.extend(middle(old, new));
    steps.extend(std::iter::repeat_n(DiffStep::Keep, at_end));
    steps
}

fn middle(old: &[&str], new: &[&str]) -> Vec<DiffStep> {
    // Lines are compared as numbers: they may be long, with equal beginnings.
    let mut numbers = BTreeMap::new();
    let lines: Vec<usize> = (old.iter().chain(new))
        .map(|line| {
            let next = numbers.len();
            *numbers.entry(*line).or_insert(next)
        })
        .collect();
    let (old, new) = lines.split_at(old.len());
    let width = new.len() + 1;
    let mut steps = Vec::new();
    let (mut x, mut y) = (0, 0);
    if (old.len() + 1).saturating_mul(width) <= LARGEST {
        // The number of common lines of the two rests after (x, y).
        let mut common = vec![0_u32; (old.len() + 1) * width];
        for at in (0..old.len() * width).rev().filter(|at| at % width != new.len()) {
            common[at] = match old[at / width] == new[at % width] {
                true => common[at + width + 1] + 1,
                false => common[at + width].max(common[at + 1]),
            };
        }
        while x < old.len() && y < new.len() {
            let at = x * width + y;
            let step = match (old[x] == new[y], common[at + width] >= common[at + 1]) {
                (true, _) => DiffStep::Keep,
                (false, true) => DiffStep::Remove,
                (false, false) => DiffStep::Add,
            };
            x += usize::from(step != DiffStep::Add);
            y += usize::from(step != DiffStep::Remove);
            steps.push(step);
        }
    }
    steps.extend(std::iter::repeat_n(DiffStep::Remove, old.len() - x));
    steps.extend(std::iter::repeat_n(DiffStep::Add, new.len() - y));
    steps
}

/// Returns the next changes with their context; two whose contexts meet are one hunk.
fn next_hunk(steps: &[DiffStep], start: usize) -> Option<std::ops::Range<usize>> {
    let is_change = |step: &DiffStep| *step != DiffStep::Keep;
    let first = start + steps[start..].iter().position(is_change)?;
    let mut last = first;
    while let Some(gap) = steps[last + 1..].iter().position(is_change) {
        if gap > 2 * CONTEXT {
            break;
        }
        last += gap + 1;
    }
    Some(first.saturating_sub(CONTEXT).max(start)..(last + 1 + CONTEXT).min(steps.len()))
}

fn write_hunk(
    shown: &mut String,
    steps: &[DiffStep],
    (mut x, mut y): (usize, usize),
    (old, new): (&[&str], &[&str]),
) -> (usize, usize) {
    let count_without = |other| steps.iter().filter(|step| **step != other).count();
    let (removed, added) = (count_without(DiffStep::Add), count_without(DiffStep::Remove));
    // An empty side has the number of the line before it.
    let (from, to) = (x + usize::from(removed > 0), y + usize::from(added > 0));
    let _ = writeln!(shown, "@@ -{from},{removed} +{to},{added} @@");
    for step in steps {
        let (sign, line) = match step {
            DiffStep::Keep => (' ', old[x]),
            DiffStep::Remove => ('-', old[x]),
            DiffStep::Add => ('+', new[y]),
        };
        x += usize::from(*step != DiffStep::Add);
        y += usize::from(*step != DiffStep::Remove);
        let _ = writeln!(shown, "{sign}{}", line.trim_end_matches(['\r', '\n']));
        if !line.ends_with('\n') {
            shown.push_str("\\ No newline at end of file\n");
        }
    }
    (x, y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown_with_three_lines_around_them() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n";
        let after = before.replace("5\n6", "five\nsix").replace("14\n", "") + "16";
        insta::assert_snapshot!(diff("x.json", before, &after), @r"
        --- x.json
        +++ x.json
        @@ -2,8 +2,8 @@
         2
         3
         4
        -5
        -6
        +five
        +six
         7
         8
         9
        @@ -11,5 +11,5 @@
         11
         12
         13
        -14
         15
        +16
        \ No newline at end of file
        ");
    }

    #[test]
    fn an_empty_side_and_equal_texts() {
        assert_eq!(diff("x", "a\n", "a\n"), "");
        assert_eq!(diff("x", "", "a\r\nb\r\n"), "--- x\n+++ x\n@@ -0,0 +1,2 @@\n+a\n+b\n");
        assert_eq!(diff("x", "a\n", ""), "--- x\n+++ x\n@@ -1,1 +0,0 @@\n-a\n");
    }

    #[test]
    fn what_has_nothing_in_common_is_replaced_whatever_its_size() {
        let many = |word: &str| format!("{word}\n").repeat(3_000);
        let shown = diff("x", &many("a"), &many("b"));
        assert_eq!(shown.matches("\n-a").count(), 3_000);
        assert_eq!(shown.matches("\n+b").count(), 3_000);
    }

    #[test]
    fn the_new_text_can_be_put_together_from_any_diff() {
        let mut seed = 3_u64;
        let mut text = |lines: u64| -> String {
            let mut line = || {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_041);
                ["a\n", "b\n", "c\n"][(seed >> 40) as usize % 3]
            };
            (0..lines).map(|_| line()).collect()
        };
        for lines in 0..60 {
            let (before, after) = (text(lines), text(60 - lines));
            let (old, new): (Vec<_>, Vec<_>) =
                (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
            let (mut x, mut y) = (0, 0);
            for step in steps(&old, &new) {
                if step == DiffStep::Keep {
                    assert_eq!(old[x], new[y]);
                }
                x += usize::from(step != DiffStep::Add);
                y += usize::from(step != DiffStep::Remove);
            }
            assert_eq!((x, y), (old.len(), new.len()));
        }
    }
}
