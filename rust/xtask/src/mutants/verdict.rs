//! Compares cargo-mutants' results with the known survivors. A fault is identified by its file and
//! description, without its line, which changes with every edit.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use toml_edit::{DocumentMut, Item};

/// A fault: its file and description.
type PlantedFault = (String, String);

/// The content of `mutants.toml`.
#[derive(Debug, Default)]
pub struct KnownSurvivors {
    pub modules: Vec<String>,
    /// Skipped tests, by a part of their names.
    pub skipped: Vec<String>,
    /// The number of equal faults that may survive, and the reason.
    survivors: BTreeMap<PlantedFault, (usize, String)>,
}

impl KnownSurvivors {
    /// Parses `mutants.toml`. Fails if a survivor has no reason or is in no covered module.
    pub fn parse(text: &str) -> Result<KnownSurvivors> {
        let document: DocumentMut = text.parse().context("mutants.toml")?;
        let words = |key: &str| {
            let list = document.get(key).and_then(Item::as_array)?.iter();
            Some(list.filter_map(|word| word.as_str().map(str::to_owned)).collect::<Vec<_>>())
        };
        let modules = words("modules").context("mutants.toml: `modules` is no list")?;
        let skipped = words("skipped_tests").unwrap_or_default();
        let mut known = KnownSurvivors { modules, skipped, ..KnownSurvivors::default() };
        for table in
            document.get("survivor").and_then(Item::as_array_of_tables).into_iter().flatten()
        {
            let word = |key: &str| {
                let word = table.get(key).and_then(Item::as_str).filter(|word| !word.is_empty());
                word.map(str::to_owned)
                    .with_context(|| format!("mutants.toml: a survivor without `{key}`"))
            };
            let times = table.get("times").map_or(Some(1), Item::as_integer);
            let times = times.and_then(|times| usize::try_from(times).ok());
            let times = times.context("mutants.toml: `times` is no number")?;
            let fault = (word("file")?, word("fault")?);
            if !known.modules.contains(&fault.0) {
                bail!("mutants.toml: `{}` is none of its modules", fault.0);
            }
            if known.survivors.insert(fault.clone(), (times, word("why")?)).is_some() {
                bail!("mutants.toml: `{}` stands there twice", fault.1);
            }
        }
        Ok(known)
    }
}

/// The results that cargo-mutants has written.
#[derive(Debug, Default)]
pub struct Outcomes {
    planned: usize,
    survived: Vec<(PlantedFault, u64)>,
    noticed: Vec<PlantedFault>,
    /// The number of faults that do not compile.
    impossible: usize,
}

impl Outcomes {
    /// Parses `mutants.json` and `outcomes.json`.
    pub fn parse(mutants: &str, outcomes: &str) -> Result<Outcomes> {
        let mutants: Vec<Value> = serde_json::from_str(mutants).context("mutants.json")?;
        let outcomes: Value = serde_json::from_str(outcomes).context("outcomes.json")?;
        let list = outcomes["outcomes"].as_array().context("outcomes.json has no `outcomes`")?;
        let mut all = Outcomes { planned: mutants.len(), ..Outcomes::default() };
        for outcome in list {
            let mutant = &outcome["scenario"]["Mutant"];
            // The run of the tests without a fault.
            let Some(name) = mutant["name"].as_str() else { continue };
            let (fault, line) = without_place(name)?;
            match outcome["summary"].as_str().unwrap_or_default() {
                "MissedMutant" => all.survived.push((fault, line)),
                "CaughtMutant" | "Timeout" => all.noticed.push(fault),
                "Unviable" => all.impossible += 1,
                other => bail!("outcomes.json: `{other}` is not known"),
            }
        }
        Ok(all)
    }

    fn tried(&self) -> usize {
        self.survived.len() + self.noticed.len() + self.impossible
    }
}

/// Splits `src/a.rs:12:5: replace f with ()` into the text without `:12:5`, and the line.
fn without_place(name: &str) -> Result<(PlantedFault, u64)> {
    let parts = || {
        let (place, fault) = name.split_once(": ")?;
        let (place, _column) = place.rsplit_once(':')?;
        let (file, line) = place.rsplit_once(':')?;
        Some(((file.replace('\\', "/"), fault.to_owned()), line.parse().ok()?))
    };
    parts().with_context(|| format!("`{name}` is no fault with its place"))
}

/// The result of the comparison.
pub struct MutantsVerdict {
    pub report: String,
    /// The number of unknown survivors.
    pub new: usize,
    /// The number of untried faults.
    pub left: usize,
}

/// Compares the survivors with the known ones.
pub fn judge(known: &KnownSurvivors, outcomes: &Outcomes) -> MutantsVerdict {
    let mut by_file: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut seen: BTreeMap<&PlantedFault, usize> = BTreeMap::new();
    let mut new = 0;
    for (fault, line) in &outcomes.survived {
        let count = seen.entry(fault).or_default();
        *count += 1;
        let words = match known.survivors.get(fault).filter(|(times, _)| *count <= *times) {
            Some((_, why)) => format!("  known  line {line}: {}\n           {why}\n", fault.1),
            None => {
                new += 1;
                format!("  NEW    line {line}: {}\n", fault.1)
            }
        };
        by_file.entry(&fault.0).or_default().push(words);
    }
    let mut report = String::new();
    for (file, faults) in by_file {
        let _ = write!(report, "{file}\n{}", faults.concat());
    }
    // Only tried faults count: another shard may have the others.
    for fault in known.survivors.keys() {
        if outcomes.noticed.contains(fault) && !seen.contains_key(fault) {
            let _ = writeln!(
                report,
                "{}: noticed now, to be taken off mutants.toml: {}",
                fault.0, fault.1
            );
        }
    }
    let left = outcomes.planned.saturating_sub(outcomes.tried());
    let _ = writeln!(
        report,
        "{} faults: {} noticed, {} survived ({new} of them new), {} do not compile, {left} not tried",
        outcomes.planned,
        outcomes.noticed.len(),
        outcomes.survived.len(),
        outcomes.impossible,
    );
    MutantsVerdict { report, new, left }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KNOWN: &str = r#"
        modules = ["crates/a/src/x.rs", "crates/a/src/y.rs"]
        [[survivor]]
        file = "crates/a/src/x.rs"
        fault = "replace < with <= in f"
        times = 2
        why = "Equal times do not occur."
        [[survivor]]
        file = "crates/a/src/y.rs"
        fault = "replace g with ()"
        why = "It only saves time."
    "#;

    fn outcomes(planned: usize, found: &[(&str, &str)]) -> Outcomes {
        let mut list = vec![json!({"scenario": "Baseline", "summary": "Success"})];
        list.extend(found.iter().map(
            |(summary, name)| json!({"scenario": {"Mutant": {"name": name}}, "summary": summary}),
        ));
        let mutants = vec![json!({}); planned];
        let outcomes = json!({"outcomes": list});
        Outcomes::parse(&json!(mutants).to_string(), &outcomes.to_string()).unwrap()
    }

    #[test]
    fn survivors_are_grouped_by_file_and_those_that_are_not_named_count() {
        let found = [
            ("MissedMutant", "crates/a/src/y.rs:7:1: replace g with ()"),
            ("MissedMutant", "crates/a/src/x.rs:12:5: replace < with <= in f"),
            ("CaughtMutant", "crates/a/src/x.rs:13:5: replace > with >= in f"),
            ("MissedMutant", "crates/a/src/x.rs:20:9: replace f -> bool with true"),
            ("Timeout", "crates/a/src/x.rs:20:9: replace f -> bool with false"),
            ("Unviable", "crates/a/src/x.rs:30:9: replace h -> H with Default::default()"),
        ];
        let verdict = judge(&KnownSurvivors::parse(KNOWN).unwrap(), &outcomes(8, &found));
        assert_eq!((verdict.new, verdict.left), (1, 2));
        assert_eq!(
            verdict.report,
            "crates/a/src/x.rs\n  \
               known  line 12: replace < with <= in f\n           Equal times do not occur.\n  \
               NEW    line 20: replace f -> bool with true\n\
             crates/a/src/y.rs\n  \
               known  line 7: replace g with ()\n           It only saves time.\n\
             8 faults: 2 noticed, 3 survived (1 of them new), 1 do not compile, 2 not tried\n"
        );
    }

    #[test]
    fn one_more_of_the_same_words_than_is_known_is_new() {
        let line = |line: u32| format!("crates/a/src/x.rs:{line}:5: replace < with <= in f");
        let names = [line(1), line(2), line(3)];
        let found: Vec<_> = names.iter().map(|name| ("MissedMutant", name.as_str())).collect();
        let known = KnownSurvivors::parse(KNOWN).unwrap();
        assert_eq!(judge(&known, &outcomes(2, &found[..2])).new, 0);
        assert_eq!(judge(&known, &outcomes(3, &found)).new, 1);
    }

    #[test]
    fn what_is_known_and_noticed_now_is_said() {
        let found = [("CaughtMutant", "crates/a/src/y.rs:7:1: replace g with ()")];
        let verdict = judge(&KnownSurvivors::parse(KNOWN).unwrap(), &outcomes(1, &found));
        assert_eq!(verdict.new, 0);
        assert!(verdict.report.contains("y.rs: noticed now"), "{}", verdict.report);
        assert!(!verdict.report.contains("x.rs"), "it was not tried: {}", verdict.report);
    }

    #[test]
    fn a_list_that_is_wrong_is_refused() {
        let survivor = |text: &str| format!("modules = [\"a.rs\"]\n[[survivor]]\n{text}");
        for (text, expected) in [
            ("x = 1", "`modules` is no list"),
            (&survivor("file = \"a.rs\"\nfault = \"f\""), "without `why`"),
            (&survivor("file = \"b.rs\"\nfault = \"f\"\nwhy = \"w\""), "none of its modules"),
            (&survivor("file = \"a.rs\"\nfault = \"f\"\nwhy = \"\""), "without `why`"),
        ] {
            let error = KnownSurvivors::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn the_list_of_this_repository_names_modules_that_are_there() {
        let top = crate::metadata::repository().join("rust");
        let text = std::fs::read_to_string(top.join("xtask/mutants.toml")).unwrap();
        for module in KnownSurvivors::parse(&text).unwrap().modules {
            assert!(top.join(&module).is_file(), "{module}");
        }
    }
}
