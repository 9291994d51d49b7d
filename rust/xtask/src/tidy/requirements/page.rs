//! Parses `docs/requirements.md` into rows: a code, the requirement, and its proof.

use super::code::RequirementCode;

/// The first line of each table, and the line below it.
const HEADS: [&str; 2] = ["| code | what holds | proof |", "| --- | --- | --- |"];

/// A row of the page.
#[derive(Debug, PartialEq, Eq)]
pub struct Row<'a> {
    pub line: usize,
    pub code: RequirementCode,
    pub proof: RequirementProof<'a>,
}

/// The proof that a row names.
#[derive(Debug, PartialEq, Eq)]
pub enum RequirementProof<'a> {
    /// Tests, each as the path of its file and the name of its function.
    Tests(Vec<(&'a str, &'a str)>),
    /// No test can prove it: it follows from the construction, or a person has seen it.
    Reason,
    /// The requirement is planned, and no test may contain its code yet.
    Planned,
}

/// Returns the rows of the page, and a problem for each line of a table that is no valid row.
pub fn rows(text: &str) -> (Vec<Row<'_>>, Vec<(usize, String)>) {
    let (mut rows, mut problems) = (Vec::new(), Vec::new());
    for (index, line) in text.lines().enumerate() {
        if !line.starts_with('|') || HEADS.contains(&line) {
            continue;
        }
        match row(index + 1, line) {
            Ok(row) => rows.push(row),
            Err(problem) => problems.push((index + 1, problem)),
        }
    }
    for (index, row) in rows.iter().enumerate() {
        if let Some(first) = rows[..index].iter().find(|other| other.code == row.code) {
            let problem = format!("`{}` has a row already, in line {}", row.code, first.line);
            problems.push((row.line, problem));
        }
    }
    (rows, problems)
}

fn row(number: usize, line: &str) -> Result<Row<'_>, String> {
    let cells = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |"));
    let cells: Vec<_> = cells.unwrap_or_default().split(" | ").collect();
    let [code, what, proof] = cells.as_slice() else {
        return Err("this row has not three cells".to_owned());
    };
    let code = RequirementCode::parse(code)
        .ok_or_else(|| format!("`{code}` is not the code of a requirement"))?;
    if what.trim().is_empty() {
        return Err(format!("`{code}` does not say what holds"));
    }
    let proof = self::proof(proof).ok_or_else(|| {
        format!("the proof of `{code}` is neither `PATH::TEST` nor a reason nor `planned`")
    })?;
    Ok(Row { line: number, code, proof })
}

fn proof(cell: &str) -> Option<RequirementProof<'_>> {
    if cell == "planned" {
        return Some(RequirementProof::Planned);
    }
    let reasons = ["by construction: ", "seen by hand: "];
    if let Some(reason) = reasons.iter().find_map(|begin| cell.strip_prefix(begin)) {
        return (!reason.trim().is_empty()).then_some(RequirementProof::Reason);
    }
    cell.split(", ").map(test).collect::<Option<Vec<_>>>().map(RequirementProof::Tests)
}

/// Returns the path and the function in `` `a/b.rs::name` ``.
fn test(cell: &str) -> Option<(&str, &str)> {
    let (path, function) = cell.strip_prefix('`')?.strip_suffix('`')?.rsplit_once("::")?;
    let is_of_a_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (path.ends_with(".rs") && function.chars().all(is_of_a_name)).then_some((path, function))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        rows(text).1.into_iter().map(|(line, problem)| format!("{line}: {problem}")).collect()
    }

    #[test]
    fn rows_are_read_with_their_proofs() {
        let text = "# Title\n\n| code | what holds | proof |\n| --- | --- | --- |\n\
                    | KT-1 | One. | `a/b.rs::one`, `c.rs::two` |\n| X2 | Two. | planned |\n\
                    | KT-3 | Three. | by construction: so |\n| KT-4 | Four. | seen by hand: so |\n";
        let (rows, problems) = rows(text);
        assert_eq!(problems, []);
        let read: Vec<_> = rows.iter().map(|row| (row.line, row.code.to_string())).collect();
        let codes = ["KT-1", "X2", "KT-3", "KT-4"].map(str::to_owned);
        assert_eq!(read, (5..).zip(codes).collect::<Vec<_>>());
        assert_eq!(
            rows[0].proof,
            RequirementProof::Tests(vec![("a/b.rs", "one"), ("c.rs", "two")])
        );
        assert_eq!(
            [&rows[1].proof, &rows[2].proof],
            [&RequirementProof::Planned, &RequirementProof::Reason]
        );
        assert_eq!(rows[3].proof, RequirementProof::Reason);
    }

    #[test]
    fn a_line_of_a_table_that_is_no_row_is_named() {
        for (row, problem) in [
            ("| KT-1 | One. |", "this row has not three cells"),
            ("| KT-1 | One. | Or two. | planned |", "this row has not three cells"),
            ("|KT-1|One.|planned|", "this row has not three cells"),
            ("| kt-1 | One. | planned |", "`kt-1` is not the code of a requirement"),
            ("| KT-1 |  | planned |", "`KT-1` does not say what holds"),
        ] {
            assert_eq!(problems(row), [format!("1: {problem}")]);
        }
        for proof in
            ["", "perhaps", "planned soon", "`one`", "a.rs::one", "`a::one`", "by construction: "]
        {
            let problem = "the proof of `KT-1` is neither `PATH::TEST` nor a reason nor `planned`";
            assert_eq!(problems(&format!("| KT-1 | One. | {proof} |")), [format!("1: {problem}")]);
        }
    }

    #[test]
    fn a_second_row_of_a_code_is_named() {
        let text =
            "| KT-1 | One. | planned |\n\n| X1 | Two. | planned |\n| KT-1 | One. | planned |\n";
        assert_eq!(problems(text), ["4: `KT-1` has a row already, in line 1"]);
    }
}
