//! Tests the documents: links have targets, every document is reachable from the README, and the
//! tests that docs/security.md names exist. The tests of `src/commands/documented.rs` parse the
//! commands in them.

use std::collections::BTreeMap;

use testkit::{Document, documents, repository};

/// Returns the targets of links, pictures and plain mentions of files, unresolved.
fn targets(document: &Document) -> Vec<String> {
    let prose = document.prose();
    let mut targets = Vec::new();
    for (begin, end) in [("](", ')'), ("src=\"", '"'), ("srcset=\"", '"'), ("href=\"", '"')] {
        for rest in prose.split(begin).skip(1) {
            targets.push(rest.split(end).next().unwrap().to_owned());
        }
    }
    targets.retain(|target| !target.contains("://"));
    targets
}

/// Returns the documents that a text names from the top of the repository on.
fn mentions(text: &str) -> Vec<&str> {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    let words = text.split(|letter| !is_of_name(letter));
    let words = words.map(|word| word.trim_end_matches('.'));
    words.filter(|word| word.starts_with("docs/") && word.contains('.')).collect()
}

/// Returns the anchors that GitHub gives to headings.
fn anchors(document: &Document) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let prose = document.prose();
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            let is_kept = |letter: &char| letter.is_alphanumeric() || "-_ ".contains(*letter);
            let anchor: String = heading.chars().filter(is_kept).collect();
            let anchor = anchor.replace(' ', "-");
            let count = seen.entry(anchor.clone()).or_default();
            *count += 1;
            if *count == 1 { anchor } else { format!("{anchor}-{}", *count - 1) }
        })
        .collect()
}

/// Resolves `docs/../README.md` to `README.md`.
fn joined(document: &str, target: &str) -> String {
    let mut parts: Vec<_> = document.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[test]
fn every_link_leads_somewhere() {
    let documents = documents();
    let top = repository();
    let mut wrong = Vec::new();
    for document in &documents {
        for target in targets(document) {
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let name =
                if path.is_empty() { document.name.clone() } else { joined(&document.name, path) };
            let linked = documents.iter().find(|other| other.name == name);
            let has_anchor =
                || linked.is_some_and(|linked| anchors(linked).contains(&anchor.to_owned()));
            if !top.join(&name).exists() || !anchor.is_empty() && !has_anchor() {
                wrong.push(format!("{}: {target}", document.name));
            }
        }
        for mentioned in mentions(&document.text) {
            if !top.join(mentioned).exists() {
                wrong.push(format!("{}: {mentioned}", document.name));
            }
        }
    }
    assert!(wrong.is_empty(), "these lead nowhere:\n{}", wrong.join("\n"));
}

#[test]
fn every_document_and_every_schema_can_be_found_from_the_readme() {
    let documents = documents();
    let mut left = vec!["README.md".to_owned()];
    let mut found = left.clone();
    while let Some(name) = left.pop() {
        let document = documents.iter().find(|document| document.name == name);
        for target in document.map(targets).unwrap_or_default() {
            let name = joined(&name, target.split('#').next().unwrap());
            if !found.contains(&name) {
                found.push(name.clone());
                left.push(name);
            }
        }
    }
    // A link to the folder of decisions covers each of them.
    let is_found = |name: &str| {
        let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
        found.iter().any(|other| other == name || other == folder && folder == "docs/decisions")
    };
    let schemas = std::fs::read_dir(repository().join("docs/schemas")).unwrap();
    let schemas = schemas.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let schemas = schemas.map(|name| format!("docs/schemas/{name}"));
    let all = documents.iter().map(|document| document.name.clone()).chain(schemas);
    let lost: Vec<_> = all.filter(|name| !is_found(name)).collect();
    assert_eq!(lost, [""; 0]);
}

/// Returns the tests that the table of `docs/security.md` names.
fn proofs(text: &str) -> Vec<&str> {
    let rows = text.lines().filter(|line| line.starts_with("| ") && line.contains("` |"));
    let cells = rows.filter_map(|row| row.trim_end_matches(" |").rsplit_once(" | "));
    let names = cells.flat_map(|(_, cell)| cell.split(", ")).map(|name| name.trim_matches('`'));
    // A test's name has many words.
    names.filter(|name| name.matches('_').count() >= 4 && !name.contains(' ')).collect()
}

/// Appends all Rust files below a folder, without built or installed ones.
fn sources(folder: &std::path::Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_made = path.ends_with("target") || path.ends_with("node_modules");
        if path.is_dir() && !is_made {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn every_test_that_the_security_page_names_exists() {
    let page = std::fs::read_to_string(repository().join("docs/security.md")).unwrap();
    let proofs = proofs(&page);
    assert!(proofs.len() > 30, "the table was not understood: {proofs:?}");
    let mut text = String::new();
    for folder in ["rust", "tests/e2e"] {
        sources(&repository().join(folder), &mut text);
    }
    let is_missing = |name: &&str| !text.contains(&format!("fn {name}()"));
    let missing: Vec<_> = proofs.into_iter().filter(is_missing).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn x33_slv_19_the_guide_offers_the_further_scopes_of_an_app_level_token() {
    for name in ["docs/slack.md", "docs/setup.md"] {
        let page = std::fs::read_to_string(repository().join(name)).unwrap();
        for scope in ["connections:write", "authorizations:read", "app_configurations:read"] {
            assert!(page.contains(scope), "{name}: {scope}");
        }
    }
}

#[test]
fn headings_are_linked_to_as_github_does() {
    let text = "# The `--json` outputs, and files\n\n## What's new?\n\n## What's new?\n\n```sh\n# no heading\n```\n";
    let document = Document { name: "x.md".to_owned(), text: text.to_owned() };
    assert_eq!(anchors(&document), ["the---json-outputs-and-files", "whats-new", "whats-new-1"]);
}
