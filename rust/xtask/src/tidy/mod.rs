//! Runs `cargo xtask tidy`, which checks the rules of the repository by reading its files. The
//! checks here are the dependencies of the packages, the purity of the core, the size of the hook
//! executables and the environment variables; each submodule adds one check.

mod address;
mod agent_names;
mod code_map;
mod code_text;
mod decisions;
mod directions;
mod flows;
mod module_files;
mod network;
mod requirements;
mod terminal_names;
mod test_variables;
mod type_names;
mod workflows;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::manifests;
use crate::metadata::{CargoWorkspace, load, repository};

/// The packages of the workspace that each package may name. A crate exists only to enforce a line
/// of this table.
const MAY_NAME: [(&str, &[&str]); 11] = [
    ("turnbridge-core", &[]),
    ("turnbridge-store", &["turnbridge-core"]),
    ("turnbridge-slack", &[]),
    ("turnbridge-config", &["turnbridge-core", "turnbridge-store", "turnbridge-slack"]),
    ("turnbridge-hooks", &["turnbridge-core", "turnbridge-store"]),
    ("turnbridge-system", &["turnbridge-core", "turnbridge-store", "turnbridge-config"]),
    (
        "turnbridge-daemon",
        &[
            "turnbridge-core",
            "turnbridge-store",
            "turnbridge-slack",
            "turnbridge-config",
            "turnbridge-system",
        ],
    ),
    (
        "turnbridge",
        &[
            "turnbridge-core",
            "turnbridge-store",
            "turnbridge-slack",
            "turnbridge-config",
            "turnbridge-system",
            "turnbridge-hooks",
            "turnbridge-daemon",
        ],
    ),
    ("testkit", &[]),
    ("e2e", &["testkit"]),
    // For a bench's loopback Slack, and for the manifests; xtask is not shipped.
    ("xtask", &["testkit", "turnbridge-core"]),
];

/// Async runtimes, which no package uses.
const NEVER: [&str; 4] = ["tokio", "async-std", "smol", "futures-executor"];

/// Packages that a hook must not link: TLS, HTTP, and the argument parser that doubles its size.
const NOT_IN_HOOKS: [&str; 7] =
    ["rustls", "ring", "ureq", "tungstenite", "clap", "anyhow", "toml_edit"];

/// Words in code that show I/O, environment or clock, which the core must not use.
const NOT_IN_CORE: [&str; 12] = [
    "std::fs",
    "std::env",
    "std::net",
    "std::io",
    "std::process",
    "std::thread",
    "std::os",
    "SystemTime",
    "Instant",
    "println!",
    "eprintln!",
    "include_bytes!",
];

/// Runs all checks. Fails with the list of all problems.
pub fn run() -> Result<String> {
    let workspace = load()?;
    let mut problems = dependency_problems(&workspace);
    problems.extend(core_problems()?);
    problems.extend(wire_problems()?);
    problems.extend(thin_binary_problems()?);
    problems.extend(switch_problems()?);
    problems.extend(address::problems(&repository(), &workspace.address)?);
    problems.extend(manifests::problems(&workspace.address));
    problems.extend(agent_names::problems(&repository())?);
    problems.extend(workflows::problems(&repository())?);
    problems.extend(code_map::problems(&repository())?);
    problems.extend(decisions::problems(&repository())?);
    problems.extend(directions::problems(&repository())?);
    problems.extend(flows::problems(&repository())?);
    problems.extend(module_files::problems(&repository())?);
    problems.extend(network::problems(&repository(), &workspace)?);
    problems.extend(requirements::problems(&repository())?);
    problems.extend(terminal_names::problems(&repository())?);
    problems.extend(test_variables::problems(&repository())?);
    problems.extend(type_names::problems(&repository())?);
    if !problems.is_empty() {
        bail!("the workspace is not tidy:\n  {}", problems.join("\n  "));
    }
    Ok(format!("tidy: {} packages keep to the rules\n", workspace.names.len()))
}

fn dependency_problems(workspace: &CargoWorkspace) -> Vec<String> {
    let mut problems = Vec::new();
    let ours: BTreeSet<&str> = workspace.names.keys().map(String::as_str).collect();
    for (package, names) in &workspace.names {
        let Some((_, allowed)) = MAY_NAME.iter().find(|(name, _)| name == package) else {
            problems.push(format!("`{package}` has no line in the table of xtask/src/tidy/mod.rs"));
            continue;
        };
        for name in names.iter().filter(|name| ours.contains(name.as_str())) {
            if !allowed.contains(&name.as_str()) {
                problems.push(format!("`{package}` may not depend on `{name}`"));
            }
        }
        let links = &workspace.links[package];
        for forbidden in NEVER.iter().filter(|name| links.contains(**name)) {
            problems.push(format!("`{package}` links `{forbidden}`: no async runtime"));
        }
    }
    for forbidden in NOT_IN_HOOKS {
        if workspace.links["turnbridge-hooks"].contains(forbidden) {
            problems.push(format!("`turnbridge-hooks` links `{forbidden}`"));
        }
    }
    problems
}

fn core_problems() -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for path in rust_files(&repository().join("rust/crates/turnbridge-core/src"))? {
        for (number, line) in shipped_lines(&path)? {
            let code = line.split("//").next().unwrap_or_default();
            // Durations are plain values; only the clock is forbidden.
            for word in NOT_IN_CORE.iter().filter(|word| code.contains(**word)) {
                problems.push(at(&path, number, &format!("the core must not know `{word}`")));
            }
        }
    }
    Ok(problems)
}

/// Checks that formats derive serde, and the domain does not.
fn wire_problems() -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for path in rust_files(&repository().join("rust/crates/turnbridge-core/src"))? {
        let is_wire = |name: &OsStr| name.to_string_lossy().ends_with("_wire");
        if path.with_extension("").iter().any(is_wire) {
            continue;
        }
        for (number, line) in shipped_lines(&path)? {
            if line.contains("derive(")
                && (line.contains("Serialize") || line.contains("Deserialize"))
            {
                problems.push(at(&path, number, "only `*_wire` modules derive serde"));
            }
        }
    }
    Ok(problems)
}

/// The executable that calls Slack: as a hook it only queues.
const NOTIFIER: &str = "turnbridge-notify.rs";

/// Checks that the hook executables contain only a call into `turnbridge-hooks`.
fn thin_binary_problems() -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for path in rust_files(&repository().join("rust/crates/turnbridge/src/bin"))? {
        let lines = shipped_lines(&path)?;
        if lines.len() > 30 {
            problems.push(at(&path, lines.len(), "an executable has at most 30 lines"));
        }
        for (number, line) in lines {
            let uses_other = ["clap", "anyhow", "turnbridge_daemon", "turnbridge_slack"];
            let is_notifier = path.file_name().is_some_and(|name| name == NOTIFIER);
            if !is_notifier && uses_other.iter().any(|name| line.contains(name)) {
                problems.push(at(&path, number, "a hook is `turnbridge_hooks` alone"));
            }
        }
    }
    Ok(problems)
}

/// The environment variables that Turnbridge's own processes pass to each other, and that shipped
/// builds read.
const OWN_VARIABLES: [&str; 4] =
    ["TURNBRIDGE_REPLY_ID", "TURNBRIDGE_NOTIFY_CHAINED", "TURNBRIDGE_DEMO", "TURNBRIDGE_RUN"];

/// Checks that all other variables of Turnbridge are a test's, which one module reads.
fn switch_problems() -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let crates = repository().join("rust/crates");
    for (package, _) in MAY_NAME.iter().filter(|(package, _)| package.starts_with("turnbridge")) {
        for path in rust_files(&crates.join(package).join("src"))? {
            if path.ends_with("test_switch.rs") {
                continue;
            }
            for (number, line) in shipped_lines(&path)? {
                let named = line.split('"').filter(|text| text.starts_with("TURNBRIDGE_"));
                for name in named.filter(|name| !OWN_VARIABLES.contains(name)) {
                    let problem = format!("`{name}` belongs into `test_switch`");
                    problems.push(at(&path, number, &problem));
                }
            }
        }
    }
    Ok(problems)
}

/// Returns the Rust files below a folder, without those that contain only tests.
fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries =
        fs::read_dir(folder).with_context(|| format!("could not read `{}`", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "tests") {
                files.extend(rust_files(&path)?);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && path.file_name().is_some_and(|name| name != "tests.rs")
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Returns the numbered lines before the file's tests.
fn shipped_lines(path: &Path) -> Result<Vec<(usize, String)>> {
    let text =
        fs::read_to_string(path).with_context(|| format!("could not read `{}`", path.display()))?;
    Ok(lines_before_tests(&text))
}

/// Returns the lines before the tests. These begin with the first test item that has a body; a
/// module in a separate file (`mod sample;`) does not count.
fn lines_before_tests(text: &str) -> Vec<(usize, String)> {
    let lines: Vec<_> = text.lines().collect();
    let begins_tests = |index: &usize| {
        let next = lines.get(index + 1).copied().unwrap_or_default();
        let is_for_tests = ["#[cfg(test)]", "#[cfg(all(test,"].iter();
        is_for_tests.clone().any(|begin| lines[*index].starts_with(begin)) && !next.ends_with(';')
    };
    let end = (0..lines.len()).find(begins_tests).unwrap_or(lines.len());
    let numbered = lines[..end].iter().enumerate();
    numbered.map(|(index, line)| (index + 1, (*line).to_owned())).collect()
}

fn at(path: &Path, number: usize, problem: &str) -> String {
    let mut text = String::new();
    let shown = path.strip_prefix(repository()).unwrap_or(path);
    let _ = write!(text, "{}:{number}: {problem}", shown.display());
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_module_for_tests_in_a_file_of_its_own_does_not_end_what_is_shipped() {
        let text = "#[cfg(test)]\nmod sample;\nuse a;\n#[cfg(test)]\nmod tests {\n    use b;\n}\n";
        let lines: Vec<_> = lines_before_tests(text).into_iter().map(|(_, line)| line).collect();
        assert_eq!(lines, ["#[cfg(test)]", "mod sample;", "use a;"]);
    }

    #[test]
    fn the_workspace_keeps_to_its_rules() {
        run().unwrap();
    }

    #[test]
    fn a_forbidden_dependency_is_named() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let (links, names) = (BTreeMap::new(), BTreeMap::new());
        let mut workspace = CargoWorkspace { address: String::new(), links, names };
        for (package, _) in MAY_NAME {
            workspace.names.insert(package.to_owned(), set(&[]));
            workspace.links.insert(package.to_owned(), set(&[]));
        }
        assert_eq!(dependency_problems(&workspace), Vec::<String>::new());
        workspace.names.insert("turnbridge-core".to_owned(), set(&["turnbridge-store", "serde"]));
        workspace.links.insert("turnbridge-hooks".to_owned(), set(&["rustls"]));
        workspace.links.insert("turnbridge-slack".to_owned(), set(&["tokio"]));
        workspace.names.insert("newcomer".to_owned(), set(&[]));
        assert_eq!(
            dependency_problems(&workspace),
            [
                "`newcomer` has no line in the table of xtask/src/tidy/mod.rs",
                "`turnbridge-core` may not depend on `turnbridge-store`",
                "`turnbridge-slack` links `tokio`: no async runtime",
                "`turnbridge-hooks` links `rustls`",
            ]
        );
    }
}
