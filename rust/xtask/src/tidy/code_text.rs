//! Helpers of the checks that read Rust code as text: they remove comments and strings, and find
//! the arms of a match by their brackets.

/// Returns the code of numbered lines without comments and with empty strings, line for line.
pub fn code_of(lines: &[(usize, String)]) -> String {
    let mut code = String::new();
    let mut quoted = false;
    for (_, line) in lines {
        let mut characters = line.chars().peekable();
        while let Some(sign) = characters.next() {
            match sign {
                '\\' if quoted => drop(characters.next()),
                '"' => {
                    // A quote as a character literal does not begin a string.
                    let is_character = !quoted && code.ends_with('\'');
                    quoted ^= !is_character;
                    code.push('"');
                }
                _ if quoted => {}
                '/' if characters.peek() == Some(&'/') => break,
                _ => code.push(sign),
            }
        }
        code.push('\n');
    }
    code
}

/// Returns the line of a place, counted from 1.
pub fn line_of(code: &str, place: usize) -> usize {
    code[..place].matches('\n').count() + 1
}

/// Returns whether the text before `after` is a part of an arm's pattern: `=>` follows, and no
/// comma that ends an arm precedes it.
pub fn is_pattern(after: &str) -> bool {
    let mut depth = 0_i32;
    let mut commas = Vec::new();
    for (place, sign) in after.char_indices() {
        match sign {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' => commas.push(depth),
            '{' | '}' | ';' => return false,
            '=' if after[place..].starts_with("=>") => return !commas.contains(&depth),
            _ => {}
        }
    }
    false
}

/// Returns the patterns of the match around a place, each with its guard.
pub fn arms_around(code: &str, place: usize) -> Vec<&str> {
    let begin = opening_brace(&code[..place]).map_or(0, |brace| brace + 1);
    let mut arms = Vec::new();
    let (mut depth, mut arm_begin, mut is_in_body) = (0_i32, begin, false);
    for (offset, sign) in code[begin..].char_indices() {
        let here = begin + offset;
        match sign {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' => depth -= 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            _ => {}
        }
        match sign {
            ',' | '}' if depth == 0 && is_in_body => (arm_begin, is_in_body) = (here + 1, false),
            '=' if depth == 0 && code[here..].starts_with("=>") => {
                arms.push(code[arm_begin..here].trim_start_matches(',').trim());
                is_in_body = true;
            }
            _ => {}
        }
    }
    arms
}

/// Returns the start of the innermost block that is open at the end of `before`.
fn opening_brace(before: &str) -> Option<usize> {
    let mut depth = 0;
    for (place, sign) in before.char_indices().rev() {
        match sign {
            '}' => depth += 1,
            '{' if depth == 0 => return Some(place),
            '{' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_out_of_the_way_and_lines_stay() {
        let lines = ["a \"b // \\\" c\" d // e", "f '\"' g", "h \"i"].map(str::to_owned);
        let lines: Vec<_> = (1..).zip(lines).collect();
        assert_eq!(code_of(&lines), "a \"\" d \nf '\"' g\nh \"\n");
    }

    #[test]
    fn the_arms_of_the_match_around_a_place_are_found() {
        let code = "f(); match x { A { b } => { g() } (B, c) | D if e => h(i, j), _ => match y { Z => 1 } }";
        let arms = arms_around(code, code.find("(B").unwrap());
        assert_eq!(arms, ["A { b }", "(B, c) | D if e", "_"]);
        assert_eq!(arms_around(code, code.find('Z').unwrap()), ["Z"]);
    }
}
