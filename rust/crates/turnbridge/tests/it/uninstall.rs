//! Tests `turnbridge uninstall`: it restores other programs' files byte for byte, and deletes state
//! only with `--purge`. Also tests `turnbridge man`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::world::{World, feed, payload};

const SETTINGS: &str = "{\r\n\t\"model\": \"opus\"\r\n}";
const CODEX: &str = "# mine\nnotify = ['mine', '-x'] # y\n";

/// Creates a home with registered hooks and a chained notify, where a hook has run.
fn set_up() -> World {
    let world = World::new();
    fs::write(settings(&world), SETTINGS).unwrap();
    fs::write(codex_config(&world), CODEX).unwrap();
    world.turnbridge(&["hooks", "apply", "--form", "exec", "--yes"]);
    world.turnbridge(&["codex", "notify", "apply", "--chain", "--yes"]);
    world.status(&payload("SessionStart", serde_json::json!({"source": "startup"})));
    world
}

fn settings(world: &World) -> PathBuf {
    world.hermetic.claude_config_dir().join("settings.json")
}

fn codex_config(world: &World) -> PathBuf {
    world.hermetic.codex_home().join("config.toml")
}

/// Returns every file below a folder, with its content.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all.extend(files(&path)),
            false => drop(all.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
    all
}

#[test]
fn everything_is_given_back_and_the_state_stays() {
    let world = set_up();
    let said = world.without_paths(&world.turnbridge(&["uninstall", "--yes"]));
    assert!(said.contains("changed `~/home/.claude/settings.json`\n"), "{said}");
    assert!(said.contains("changed `~/home/.codex/config.toml`\n"), "{said}");
    assert_eq!(fs::read_to_string(settings(&world)).unwrap(), SETTINGS);
    assert_eq!(fs::read_to_string(codex_config(&world)).unwrap(), CODEX);
    assert_eq!(world.sessions().len(), 1);
    assert!(world.hermetic.config_dir().join("config.toml").exists());
    let again = world.without_paths(&world.turnbridge(&["uninstall", "--yes"]));
    assert!(
        again.contains("there is nothing of ours in `~/home/.claude/settings.json`\n"),
        "{again}"
    );
}

#[test]
fn with_purge_nothing_but_the_backups_is_left_in_the_home() {
    let world = World::new();
    fs::write(settings(&world), SETTINGS).unwrap();
    fs::write(codex_config(&world), CODEX).unwrap();
    fs::remove_file(world.hermetic.config_dir().join("config.toml")).unwrap();
    let before = files(&world.hermetic.home());
    world.turnbridge(&["hooks", "apply", "--form", "exec", "--yes"]);
    world.turnbridge(&["codex", "notify", "apply", "--replace", "--yes"]);
    world.turnbridge(&["voice", "rate", "200"]);
    world.status(&payload("SessionStart", serde_json::json!({"source": "startup"})));
    assert!(files(&world.hermetic.home()).len() > before.len() + 3);
    let said = world.without_paths(&world.turnbridge(&["uninstall", "--purge", "--yes"]));
    let mut after = files(&world.hermetic.home());
    for file in [settings(&world), codex_config(&world)] {
        let backup = format!("{}.bak", file.display());
        assert_eq!(after.remove(Path::new(&backup)), before.get(&file).cloned());
        assert!(said.contains(&format!("`{}` stays", world.without_paths(&backup))), "{said}");
    }
    assert_eq!(after, before);
}

#[test]
fn a_dry_run_changes_nothing_and_without_a_terminal_nothing_is_done_unasked() {
    let world = set_up();
    let before = files(&world.hermetic.home());
    let said = world.without_paths(&world.turnbridge(&["uninstall", "--purge", "--dry-run"]));
    assert!(said.contains("would delete `CONFIG/config.toml`\n"), "{said}");
    let mut command = world.command("turnbridge");
    command.arg("uninstall");
    let output = feed(command, b"y\n");
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(String::from_utf8(output.stderr).unwrap(), @"
    error: nothing was changed
    hint: there is no terminal to ask at; `--yes` does it without asking
    ");
    let mut after = files(&world.hermetic.home());
    after.retain(|path, _| path.extension().is_none_or(|extension| extension != "lock"));
    let mut before = before;
    before.retain(|path, _| path.extension().is_none_or(|extension| extension != "lock"));
    assert_eq!(after, before);
}

#[test]
fn what_cannot_be_undone_is_told_and_nothing_is_deleted() {
    let world = set_up();
    let broken = fs::read_to_string(settings(&world)).unwrap() + "// mine";
    fs::write(settings(&world), &broken).unwrap();
    let mut command = world.command("turnbridge");
    command.args(["uninstall", "--purge", "--yes"]);
    let output = feed(command, b"");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = world.without_paths(&String::from_utf8(output.stderr).unwrap());
    assert!(
        said.contains("note: the hooks: could not change `~/home/.claude/settings.json`: "),
        "{said}"
    );
    assert!(
        said.contains("error: not everything could be undone: the hooks; nothing was deleted\n"),
        "{said}"
    );
    assert_eq!(fs::read_to_string(settings(&world)).unwrap(), broken);
    assert_eq!(fs::read_to_string(codex_config(&world)).unwrap(), CODEX);
    assert_eq!(world.sessions().len(), 1);
}

#[test]
fn files_that_were_changed_elsewhere_are_named_and_nothing_is_deleted() {
    let world = set_up();
    let other = world.hermetic.root().join("other");
    fs::create_dir(&other).unwrap();
    let mut command = world.command("turnbridge");
    command.args(["hooks", "apply", "--form", "exec", "--yes"]).env("CLAUDE_CONFIG_DIR", &other);
    assert!(feed(command, b"").status.success());
    let mut command = world.command("turnbridge");
    command.args(["uninstall", "--purge", "--yes"]);
    let output = feed(command, b"");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = world.without_paths(&String::from_utf8(output.stderr).unwrap());
    assert!(
        said.contains("note: files elsewhere: `~/other/settings.json` still call us"),
        "{said}"
    );
    assert_eq!(fs::read_to_string(settings(&world)).unwrap(), SETTINGS);
    assert_eq!(world.sessions().len(), 1);
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let world = World::new();
    let folder = world.hermetic.root().join("man");
    world.turnbridge(&["man", "--dir", folder.to_str().unwrap()]);
    let page = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert!(page("turnbridge.1").contains("turnbridge\\-uninstall(1)"));
    assert!(page("turnbridge-hooks-apply.1").contains("\\-\\-dry\\-run"));
    assert!(!folder.join("turnbridge-run-reply.1").exists(), "it is not for people");
    assert_eq!(world.turnbridge(&["man"]), page("turnbridge.1"));
}
