//! Finds the test functions of a Rust file by its text.

/// A function with `#[test]`.
#[derive(Debug, PartialEq, Eq)]
pub struct TestFunction<'a> {
    pub name: &'a str,
    /// The line in which it begins, counted from 1.
    pub line: usize,
    /// Its comments, its attributes and its body.
    pub text: String,
}

/// Returns every test of a file. The file must be formatted by `rustfmt`: a body ends at a brace
/// below its `fn`.
pub fn test_functions(text: &str) -> Vec<TestFunction<'_>> {
    let lines: Vec<_> = text.lines().collect();
    let attributes = (0..lines.len()).filter(|index| lines[*index].trim() == "#[test]");
    attributes.filter_map(|index| test_function(&lines, index)).collect()
}

fn test_function<'a>(lines: &[&'a str], attribute: usize) -> Option<TestFunction<'a>> {
    let is_above = |line: &&&str| ["//", "#["].iter().any(|begin| line.trim().starts_with(begin));
    let begin = attribute - lines[..attribute].iter().rev().take_while(is_above).count();
    let behind = lines[attribute..].iter().position(|line| line.trim().starts_with("fn "))?;
    let head = attribute + behind;
    let name = lines[head].trim().strip_prefix("fn ")?.split('(').next()?;
    let indent = &lines[head][..lines[head].len() - lines[head].trim_start().len()];
    let is_end = |line: &&str| line.strip_prefix(indent) == Some("}");
    let body = match lines[head].ends_with('}') {
        true => 0,
        false => lines[head..].iter().position(is_end)?,
    };
    let text = lines[begin..=head + body].join("\n");
    Some(TestFunction { name, line: begin + 1, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_comes_with_its_comment_and_its_body_and_nothing_else() {
        let file = "/// KT-1.\nfn helper() {\n}\n\n\
                    /// KT-2.\n#[cfg(unix)]\n#[test]\n#[ignore = \"slow\"]\nfn one() {\n    if true {\n    }\n}\n\n\
                    mod tests {\n    // KT-3.\n    #[test]\n    fn two() {}\n\n    \
                    #[test]\n    fn three() {\n        // KT-4.\n    }\n}\n";
        let found: Vec<_> = test_functions(file)
            .into_iter()
            .map(|test| (test.line, test.name, test.text))
            .collect();
        let one = "/// KT-2.\n#[cfg(unix)]\n#[test]\n#[ignore = \"slow\"]\nfn one() {\n    if true {\n    }\n}";
        let two = "    // KT-3.\n    #[test]\n    fn two() {}";
        let three = "    #[test]\n    fn three() {\n        // KT-4.\n    }";
        let expected = [(5, "one", one), (15, "two", two), (19, "three", three)];
        assert_eq!(found, expected.map(|(line, name, text)| (line, name, text.to_owned())));
    }
}
