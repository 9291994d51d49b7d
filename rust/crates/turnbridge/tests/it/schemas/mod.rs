//! Tests the schemas in docs/schemas, and checks outputs against them: `World::turnbridge` passes
//! every output with `--json` to `check_output` here.

#[cfg(all(unix, not(target_os = "macos")))]
mod samples;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::LazyLock;

use jsonschema::{Registry, Validator};
use serde_json::{Deserializer, Value};

use crate::support::world::World;

/// The schema of each command's output. The longest matching command applies.
const COMMANDS: [(&str, &str); 36] = [
    // With `--version`.
    ("", "version"),
    ("board", "board"),
    ("codex classify", "codex-classify"),
    ("codex notify", "codex-notify"),
    ("codex notify status", "codex-notify"),
    ("codex state", "codex-state"),
    ("daemon status", "daemon-status"),
    ("doctor", "doctor"),
    ("focus", "focus"),
    ("gate", "gate"),
    ("gate explain", "gate"),
    ("gate status", "gate"),
    ("hooks", "hooks"),
    ("hooks status", "hooks"),
    ("inbox", "inbox"),
    ("inbox list", "inbox"),
    ("launchd", "service"),
    ("logs", "logs"),
    ("outbox", "outbox"),
    ("outbox list", "outbox"),
    ("outbox show", "outbox-show"),
    ("pane list", "pane-list"),
    ("pane scan", "pane-scan"),
    ("routes", "routes"),
    ("routes list", "routes"),
    ("service", "service"),
    ("service status", "service"),
    ("sessions", "sessions"),
    ("sessions show", "sessions-show"),
    ("speak", "speak"),
    ("voice", "voice"),
    ("voice list", "voice-list"),
    ("voice status", "voice"),
    ("watch", "watch"),
    ("wsl", "wsl"),
    ("wsl status", "wsl"),
];

/// Schemas that are no output of a command.
const OTHERS: [&str; 6] =
    ["common", "config", "kawaii-line", "session-file", "turn-record", "tvine-status"];

static SCHEMAS: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/schemas");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let name = name.strip_suffix(".schema.json").expect(&name).to_owned();
            (name, serde_json::from_slice(&fs::read(path).unwrap()).unwrap())
        })
        .collect()
});

static VALIDATORS: LazyLock<BTreeMap<&str, Validator>> = LazyLock::new(|| {
    // They refer to each other by file name in one folder.
    let address = |name: &str| format!("file:///schemas/{name}.schema.json");
    let registry = SCHEMAS.iter().fold(Registry::new(), |registry, (name, schema)| {
        registry.add(address(name), schema.clone()).unwrap()
    });
    let registry = registry.prepare().unwrap();
    let validator = |(name, schema): (&'static String, &'static Value)| {
        let options = jsonschema::options().with_registry(&registry).with_base_uri(address(name));
        (name.as_str(), options.build(schema).unwrap_or_else(|error| panic!("{name}: {error}")))
    };
    SCHEMAS.iter().map(validator).collect()
});

/// Returns whether a value conforms to the schema.
pub fn is_valid(name: &str, value: &Value) -> bool {
    VALIDATORS[name].is_valid(value)
}

/// Asserts that a value conforms to the schema.
#[track_caller]
pub fn check(name: &str, value: &Value) {
    let errors: Vec<_> = VALIDATORS[name]
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{name}.schema.json: {errors:#?}\n{value:#}");
}

/// Asserts that a command's output conforms to its schema. Ignores commands without `--json`.
#[track_caller]
pub fn check_output(arguments: &[&str], output: &str) {
    let own = arguments.iter().take_while(|argument| **argument != "--");
    if !own.clone().any(|argument| *argument == "--json") {
        return;
    }
    let words: Vec<_> = own.copied().filter(|argument| !argument.starts_with('-')).collect();
    let schema = schema_of(&words).unwrap_or_else(|| panic!("no schema for {words:?}"));
    for value in Deserializer::from_str(output).into_iter() {
        check(schema, &value.expect(output));
    }
}

fn schema_of(words: &[&str]) -> Option<&'static str> {
    let fits = |(command, _): &&(&str, &str)| {
        let mut words = words.iter();
        command.split_whitespace().all(|word| words.next() == Some(&word))
    };
    let longest = COMMANDS.iter().filter(fits).max_by_key(|(command, _)| command.len())?;
    Some(longest.1)
}

#[test]
fn every_command_that_prints_json_has_a_schema_and_every_schema_something_to_describe() {
    let world = World::new();
    let mut known: BTreeSet<_> = COMMANDS.iter().map(|(command, _)| *command).collect();
    // The other name of `service`, which no help lists.
    known.remove("launchd");
    let mut found = BTreeSet::new();
    let mut left = vec![Vec::new()];
    while let Some(command) = left.pop() {
        let arguments: Vec<_> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let help = world.turnbridge(&arguments);
        if help.contains(" --json\n") || help.contains(" --json ") {
            found.insert(command.join(" "));
        }
        let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
        for line in listed.take_while(|line| !line.is_empty()) {
            // Descriptions begin further to the right.
            let name = line.strip_prefix("  ").filter(|line| !line.starts_with(' '));
            let Some(name) = name.and_then(|line| line.split(' ').next()) else { continue };
            if name != "help" {
                left.push(command.iter().cloned().chain([name.to_owned()]).collect());
            }
        }
    }
    let found: BTreeSet<_> = found.iter().map(String::as_str).collect();
    assert_eq!(found, known);
    let described: BTreeSet<_> = COMMANDS.iter().map(|(_, schema)| *schema).chain(OTHERS).collect();
    assert_eq!(SCHEMAS.keys().map(String::as_str).collect::<BTreeSet<_>>(), described);
}

#[test]
fn every_schema_is_one() {
    for (name, schema) in &*SCHEMAS {
        assert!(jsonschema::meta::is_valid(schema), "{name}");
        assert!(schema["title"].is_string(), "{name}");
        assert!(VALIDATORS.contains_key(name.as_str()));
    }
}
