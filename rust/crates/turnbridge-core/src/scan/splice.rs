//! Defines a planned change of a text: a range of bytes, and its replacement. Text outside all
//! splices stays unchanged, byte for byte.

use std::ops::Range;

/// A range of bytes, and the text that replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    pub range: Range<usize>,
    pub text: String,
}

impl Splice {
    pub fn insert(at: usize, text: impl Into<String>) -> Splice {
        Splice { range: at..at, text: text.into() }
    }

    pub fn delete(range: Range<usize>) -> Splice {
        Splice { range, text: String::new() }
    }

    pub fn replace(range: Range<usize>, text: impl Into<String>) -> Splice {
        Splice { range, text: text.into() }
    }
}

/// Returns the text after the splices. They may have any order and do not overlap; an insertion
/// where a deletion begins comes before it.
pub fn spliced(text: &str, splices: &[Splice]) -> String {
    let mut ordered: Vec<&Splice> = splices.iter().collect();
    ordered.sort_by_key(|splice| (splice.range.start, splice.range.end));
    let mut after = String::with_capacity(text.len());
    let mut copied = 0;
    for Splice { range, text: new } in ordered {
        debug_assert!(copied <= range.start, "splices overlap at {}", range.start);
        after.push_str(text.get(copied..range.start).unwrap_or_default());
        after.push_str(new);
        copied = range.end.max(copied);
    }
    after.push_str(text.get(copied..).unwrap_or_default());
    after
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splices_are_applied_in_the_order_of_their_places() {
        let splices = [
            Splice::delete(4..6),
            Splice::insert(8, "!"),
            Splice::insert(4, "+"),
            Splice::replace(0..1, "é"),
        ];
        assert_eq!(spliced("01234567", &splices), "é123+67!");
        assert_eq!(spliced("x", &[]), "x");
    }
}
