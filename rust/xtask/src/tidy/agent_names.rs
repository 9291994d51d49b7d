//! Checks that code does not compare with one agent. It must use `core/agents/agent_differences`
//! for differences, and select an agent's own code by a match without a wildcard arm. The compiler
//! then lists every place that a new agent needs.
//!
//! A file outside of an agent's own folders that names an agent must be listed in `NAMING_AGENTS`.
//! A new agent means a review of each, so the list should not grow.

use std::path::Path;

use anyhow::Result;

use super::code_text::{arms_around, code_of, is_pattern, line_of};
use super::{at, rust_files, shipped_lines};

/// The file that lists the agents.
const HOME: &str = "rust/crates/turnbridge-core/src/ids.rs";

/// Folders with code of one agent alone, besides the files whose names begin with the agent's.
const OWN_FOLDERS: [&str; 3] = [
    "rust/crates/turnbridge-core/src/agents/claude/",
    "rust/crates/turnbridge-core/src/agents/codex/",
    "rust/crates/turnbridge-daemon/src/observe/rollouts/",
];

const NAMING_AGENTS: [&str; 18] = [
    // They answer for every agent.
    "rust/crates/turnbridge/src/demo/part.rs",
    "rust/crates/turnbridge/src/doctor/agents.rs",
    "rust/crates/turnbridge/src/setup/agents.rs",
    "rust/crates/turnbridge/src/setup/trial.rs",
    "rust/crates/turnbridge-config/src/lib.rs",
    "rust/crates/turnbridge-core/src/agents/agent_differences.rs",
    "rust/crates/turnbridge-core/src/agents/hook_manifest.rs",
    "rust/crates/turnbridge-core/src/agents/hook_table.rs",
    "rust/crates/turnbridge-core/src/agents/resume.rs",
    "rust/crates/turnbridge-system/src/replies/runner/mod.rs",
    "rust/crates/turnbridge-system/src/replies/runs.rs",
    // They concern one agent, and need not know of another.
    "rust/crates/turnbridge/src/demo/scenes.rs",
    "rust/crates/turnbridge/src/watch/sample.rs",
    "rust/crates/turnbridge-core/src/notices/notice.rs",
    "rust/crates/turnbridge-core/src/terminals/panes/mod.rs",
    "rust/crates/turnbridge-hooks/src/arguments.rs",
    "rust/crates/turnbridge-system/src/gate/gate_history.rs",
    "rust/crates/turnbridge-system/src/registration/hook_programs.rs",
];

pub fn problems(top: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let mut naming = Vec::new();
    for path in rust_files(&top.join("rust/crates"))? {
        let file = path.strip_prefix(top).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        if file == HOME {
            continue;
        }
        let code = code_of(&shipped_lines(&path)?);
        let found = comparisons(&code).into_iter();
        problems.extend(found.map(|(line, what)| at(&path, line, &what)));
        if !is_own(&file) && names(&code).next().is_some() {
            naming.push(file);
        }
    }
    problems.extend(differences(&naming, &NAMING_AGENTS));
    Ok(problems)
}

fn is_own(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let is_named_so = ["claude_", "codex_"].iter().any(|agent| name.starts_with(agent));
    is_named_so || OWN_FOLDERS.iter().any(|folder| file.starts_with(folder))
}

fn differences(naming: &[String], listed: &[&str]) -> Vec<String> {
    let is_listed = |file: &&String| listed.contains(&file.as_str());
    let new = naming.iter().filter(|file| !is_listed(file)).map(|file| {
        format!("{file}: names an agent; ask a question of `agent_differences` instead")
    });
    let gone = listed.iter().filter(|file| !naming.iter().any(|other| other == *file));
    let gone = gone.map(|file| format!("{file}: names no agent; take it out of NAMING_AGENTS"));
    new.chain(gone).collect()
}

/// Returns the places of `Agent::Claude` and its like. `Agent::ALL` and `DemoAgent::new` do not
/// count.
fn names(code: &str) -> impl Iterator<Item = (usize, usize)> {
    code.match_indices("Agent::").filter_map(|(start, prefix)| {
        let name =
            code[start + prefix.len()..].split(|c: char| !c.is_ascii_alphanumeric()).next()?;
        let is_variant = name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.contains(|c: char| c.is_ascii_lowercase());
        let is_in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let begin = code[..start].trim_end_matches(|c: char| is_in_name(c) || c == ':').len();
        let is_longer = code[..start].ends_with(is_in_name);
        (is_variant && !is_longer).then_some((begin, start + prefix.len() + name.len()))
    })
}

/// Returns the comparisons, each with its line.
fn comparisons(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (start, end) in names(code) {
        if let Some(kind) = comparison(code, start, end) {
            let name = &code[start..end];
            let problem = format!("{kind} `{name}`; ask a question of `agent_differences` instead");
            found.push((line_of(code, start), problem));
        }
    }
    for hidden in ["Agent::{", "Agent::*", "ids::Agent as "] {
        let places = code.match_indices(hidden);
        let problem = "agents are named in full, so that they are found".to_owned();
        found.extend(places.map(|(start, _)| (line_of(code, start), problem.clone())));
    }
    found
}

fn comparison(code: &str, start: usize, end: usize) -> Option<&'static str> {
    let (before, after) = (&code[..start], &code[end..]);
    let is_sign = |text: &str| ["==", "!="].contains(&text);
    let operand_before = before.trim_end_matches(WRAPPER).trim_end_matches("Some");
    let operand_before = operand_before.trim_end_matches(WRAPPER);
    let sign_before = operand_before.get(operand_before.len().saturating_sub(2)..);
    let after_calls = after.trim_start_matches(".as_str()").trim_start_matches(WRAPPER);
    if sign_before.is_some_and(is_sign) || after_calls.get(..2).is_some_and(is_sign) {
        return Some("compares with");
    }
    if before.ends_with("contains(&") || before.ends_with("eq(&") {
        return Some("compares with");
    }
    if before.trim_end().ends_with('[') || after.trim_start().starts_with(']') {
        return Some("has a list that ends with");
    }
    if let Some(pattern) = before.rfind("let ").map(|place| &before[place..])
        && !pattern.contains(['=', ';'])
    {
        return Some("has a `let` for");
    }
    if is_inside_matches(before) {
        return Some("has a `matches!` with");
    }
    let hides_others =
        is_pattern(after) && arms_around(code, start).iter().any(|arm| catches_all(arm));
    hides_others.then_some("has a wildcard arm beside")
}

/// The characters allowed between a value and the operator before or behind it.
const WRAPPER: [char; 7] = ['(', ')', '&', '*', ' ', '\n', '\t'];

fn is_inside_matches(before: &str) -> bool {
    let mut depth = 0;
    for (place, sign) in before.char_indices().rev() {
        match sign {
            ')' => depth += 1,
            '(' if depth > 0 => depth -= 1,
            '(' if before[..place].ends_with("matches!") => return true,
            ';' => return false,
            _ => {}
        }
    }
    false
}

/// Returns whether an arm catches all: `_`, `Some(_)`, `(_, other)`, or any arm with a guard.
fn catches_all(arm: &str) -> bool {
    let bare = arm.replace("Some", "").replace("None", "");
    let mut leaves =
        bare.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|it| !it.is_empty());
    arm.contains(" if ")
        || leaves.all(|leaf| leaf.starts_with(|c: char| c == '_' || c.is_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: &str, expected: &[usize]) {
        let lines: Vec<_> = code.lines().map(str::to_owned).enumerate().collect();
        let lines: Vec<_> = lines.into_iter().map(|(index, line)| (index + 1, line)).collect();
        let found: Vec<_> =
            comparisons(&code_of(&lines)).into_iter().map(|(line, _)| line).collect();
        assert_eq!(found, expected, "{code}");
    }

    #[test]
    fn every_way_to_compare_with_one_agent_is_found() {
        check("a;\nkey.agent == Agent::Claude && b", &[2]);
        check("if agent\n    != Agent::Codex {", &[2]);
        check("agent == Some(Agent::Claude)", &[1]);
        check("Agent::Codex == agent", &[1]);
        check("notice.agent == Agent::Codex.as_str()", &[1]);
        check("Agent::Codex.as_str() == name", &[1]);
        check("matches!(key, SessionKey { agent: Agent::Claude, .. })", &[1]);
        check("if let (Agent::Claude, Some(run)) = x {}", &[1]);
        check("let Some(Agent::Codex) = x else { return };", &[1]);
        check("[Agent::Claude].contains(&Agent::Codex)", &[1, 1]);
        check("for agent in [Agent::Claude, Agent::Codex] {", &[1, 1]);
        check("match agent {\n    Agent::Claude => 1,\n    _ => 2,\n}", &[2]);
        check("match agent {\n    Some(Agent::Codex) => f(),\n    None | Some(_) => 2,\n}", &[2]);
        check("match (a, b) {\n    (1, Agent::Codex) => f(),\n    (_, other) => 2,\n}", &[2]);
        check(
            "match a {\n    Agent::Codex if b => {}\n    Agent::Codex | Agent::Claude => {}\n}",
            &[2, 3, 3],
        );
        check("use ids::Agent::{Claude, Codex};\nuse ids::Agent as Tool;", &[1, 2]);
        check("agent == Agent::Probe && a == core::ids::Agent::Claude", &[1, 1]);
    }

    #[test]
    fn a_match_over_all_agents_and_an_agent_as_a_value_are_no_comparison() {
        check("match agent {\n    Agent::Claude => a(),\n    Agent::Codex => b(),\n}", &[]);
        check(
            "match (x, agent) {\n    (1 | 2, Agent::Claude) => 1,\n    (_, Agent::Codex) => 2,\n}",
            &[],
        );
        check("let key = SessionKey::new(Agent::Codex, id);", &[]);
        check("if a { Agent::Claude } else { Agent::Codex }", &[]);
        check("Agent::parse(name).unwrap_or(Agent::Claude)", &[]);
        check("match x { 1 => f(Agent::Claude), _ => g() }", &[]);
        check("match x { 1 => Agent::Claude, _ => g() }", &[]);
        check("Agent::ALL.len() == 2; DemoAgent::New == x; // == Agent::Claude", &[]);
        check("x == \"Agent::Claude == \"", &[]);
    }

    #[test]
    fn a_file_more_that_names_an_agent_is_found_and_one_that_does_no_longer() {
        let naming = ["a.rs", "b.rs"].map(str::to_owned);
        assert_eq!(differences(&naming, &["a.rs", "b.rs"]), [""; 0]);
        assert_eq!(
            differences(&naming, &["a.rs", "c.rs"]),
            [
                "b.rs: names an agent; ask a question of `agent_differences` instead",
                "c.rs: names no agent; take it out of NAMING_AGENTS",
            ]
        );
        assert!(is_own("rust/crates/turnbridge/src/doctor/codex_hooks.rs"));
        assert!(!is_own("rust/crates/turnbridge/src/codex/hooks.rs"));
    }
}
