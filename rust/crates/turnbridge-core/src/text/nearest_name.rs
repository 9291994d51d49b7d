//! Finds the known name that the user may have meant by an unknown one.

/// Returns the nearest known name, or `None` if none is near: at most one letter in three is wrong.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let found = known.iter().map(|known| (distance(name, known), *known)).min()?;
    let (wrong, nearest) = found;
    let length = name.chars().count().max(nearest.chars().count());
    (wrong * 3 <= length).then_some(nearest)
}

/// Returns the number of letters to insert, delete, replace, or swap with their neighbour. It
/// ignores case, and `-` equals `_`.
fn distance(a: &str, b: &str) -> usize {
    let letters = |text: &str| -> Vec<char> {
        text.chars().flat_map(char::to_lowercase).map(|c| if c == '-' { '_' } else { c }).collect()
    };
    let (a, b) = (letters(a), letters(b));
    // No name is that long, and the time grows with the product of the lengths.
    if a.len().max(b.len()) > 64 {
        return usize::MAX / 4;
    }
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = least;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: Option<&str>) {
        let known = ["bot_token", "app_token", "api_url", "dm", "language", "board"];
        assert_eq!(nearest(name, &known), expected, "{name}");
    }

    #[test]
    fn a_slip_of_the_pen_is_near_and_another_word_is_not() {
        check("bot_tokn", Some("bot_token"));
        check("Bot-Token", Some("bot_token"));
        check("apptoken", Some("app_token"));
        check("langauge", Some("language"));
        check("bord", Some("board"));
        check("md", None);
        check("theme", None);
        check("", None);
        check(&"bot_token".repeat(1000), None);
        assert_eq!(nearest("x", &[]), None);
    }
}
