//! Tests commands that read and change `config.toml`: what they keep, what they refuse, and how
//! they name a problem.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use serde_json::{Value, json};

use crate::schemas;
use crate::support::world::World;

fn path(world: &World) -> PathBuf {
    world.hermetic.config_dir().join("config.toml")
}

fn write(world: &World, text: &str) {
    fs::create_dir_all(world.hermetic.config_dir()).unwrap();
    fs::write(path(world), text).unwrap();
}

fn voice(world: &World, arguments: &[&str]) -> Output {
    world.command("turnbridge").arg("voice").args(arguments).output().unwrap()
}

/// Returns the output on stderr.
fn errors(world: &World, output: &Output) -> String {
    world.without_paths(&String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_file_is_made_private_and_then_changed_in_one_place() {
    let world = World::with_gate();
    assert_eq!(world.turnbridge(&["voice", "rate", "200"]), "rate 200\n");
    assert_eq!(fs::read_to_string(path(&world)).unwrap(), "[voice]\nrate = 200\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(path(&world)), 0o600);
        assert_eq!(mode(world.hermetic.config_dir()), 0o700);
    }
    let before = "\u{feff}# mine\r\n[voice]\r\nrate = 200 # slow\r\n\r\n[other]\nx = 1";
    write(&world, before);
    world.turnbridge(&["voice", "rate", "150"]);
    assert_eq!(fs::read_to_string(path(&world)).unwrap(), before.replace("200", "150"));
    assert_eq!(world.turnbridge(&["voice", "rate", "150"]), "rate 150 (as before)\n");
}

/// A typing error, or a paste into the wrong line.
#[test]
fn a_token_that_stands_for_a_key_is_never_printed() {
    let world = World::with_gate();
    for text in [
        "[gate]\nxoxb-1-secret = true\n",
        "[voice.xapp-1-secret]\nx = 1\n",
        "xoxb-1-secret\n",
        "[slack]\nbot_token = xoxb-1-secret\n",
        "[gate]\nxoxb-1-secret = 1\nxoxb-1-secret = 2\n",
        "[slack]\nbot_token = 'xapp-1-secret'\n",
    ] {
        write(&world, text);
        for arguments in [
            &["voice"][..],
            &["voice", "mute"],
            &["doctor", "--offline"],
            &["doctor", "--offline", "--json"],
            &["gate", "explain"],
            &["outbox", "retry"],
            &["daemon", "status"],
            &["logs"],
        ] {
            let output = world.command("turnbridge").args(arguments).output().unwrap();
            let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            assert!(!said.contains("secret"), "{text}{arguments:?}: {said}");
        }
    }
}

#[test]
fn a_file_with_many_byte_order_marks_is_told_and_left_alone() {
    let world = World::with_gate();
    let text = "\u{feff}".repeat(20) + "[voice]\nrate = 200\n";
    write(&world, &text);
    let output = voice(&world, &["mute"]);
    insta::assert_snapshot!(errors(&world, &output), @"
    error: could not read `CONFIG/config.toml`: a second byte order mark (U+FEFF), which no reader takes at line 1, column 1
    hint: the file was left as it was; repair that line
    ");
    assert_eq!(fs::read_to_string(path(&world)).unwrap(), text);
}

#[test]
fn a_broken_file_is_told_with_its_place_and_left_alone() {
    let world = World::with_gate();
    let text = "[voice]\nrate = 200\nmute = yes\n";
    write(&world, text);
    for arguments in [&["mute"][..], &["set", "en", "Vera"], &["rate", "--default"], &["status"]] {
        let output = voice(&world, arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(errors(&world, &output), @"
            error: could not read `CONFIG/config.toml`: string values must be quoted, expected literal string at line 3, column 8
            hint: the file was left as it was; repair that line
            ");
        }
    }
    assert_eq!(fs::read_to_string(path(&world)).unwrap(), text);
}

#[test]
fn a_wrong_value_can_be_set_right() {
    let world = World::with_gate();
    write(&world, "[voice]\nrate = 9000\n");
    let output = voice(&world, &["status"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    insta::assert_snapshot!(errors(&world, &output), @"
    error: could not read `CONFIG/config.toml`: `voice.rate` must be a number from 50 to 600 at line 2, column 8
    hint: the file was left as it was; repair that line
    ");
    world.turnbridge(&["voice", "rate", "300"]);
    assert_eq!(fs::read_to_string(path(&world)).unwrap(), "[voice]\nrate = 300\n");
}

#[test]
fn what_means_nothing_is_told() {
    let world = World::with_gate();
    write(&world, "[voice]\nspeed = 1\n[gate]\nenable = true\n[later]\nx = 1\n");
    let output = voice(&world, &["status"]);
    assert!(output.status.success(), "{output:?}");
    insta::assert_snapshot!(errors(&world, &output), @"
    note: `CONFIG/config.toml`: there is no `later`; it is ignored
    note: `CONFIG/config.toml`: there is no `gate.enable` (did you mean `gate.enabled`?); it is ignored
    note: `CONFIG/config.toml`: there is no `voice.speed`; it is ignored
    ");
}

#[cfg(unix)]
#[test]
fn a_link_stays_one() {
    let world = World::with_gate();
    let target = world.hermetic.home().join("dotfiles/turnbridge.toml");
    fs::create_dir_all(target.parent().unwrap()).unwrap();
    fs::create_dir_all(world.hermetic.config_dir()).unwrap();
    std::os::unix::fs::symlink("../../dotfiles/turnbridge.toml", path(&world)).unwrap();
    // The link's target may not exist yet.
    for rate in ["200", "300"] {
        world.turnbridge(&["voice", "rate", rate]);
        assert_eq!(fs::read_to_string(&target).unwrap(), format!("[voice]\nrate = {rate}\n"));
        assert!(path(&world).is_symlink());
    }
}

#[test]
fn many_at_once_lose_nothing() {
    let world = World::with_gate();
    let calls = [&["rate", "200"][..], &["set", "en", "Vera"], &["set", "ja", "Kyoko"], &["mute"]];
    std::thread::scope(|scope| {
        for arguments in calls {
            let world = &world;
            scope.spawn(move || assert!(voice(world, arguments).status.success()));
        }
    });
    let status: Value =
        serde_json::from_str(&world.turnbridge(&["voice", "status", "--json"])).unwrap();
    assert_eq!(status["voices"], json!({"en": "Vera", "ja": "Kyoko"}));
    assert_eq!((&status["rate"], &status["muted"]), (&json!(200), &json!(true)));
}

#[test]
fn the_schema_allows_what_the_program_does() {
    let right = json!({
        "gate": {"enabled": true, "headless": false},
        "voice": {"mute": true, "rate": 50, "en": "Eddy (English (UK))", "ja": "日本"},
        "codex": {"homes": ["/mnt/c/Users/u/.codex"]},
        "resume": {"live": "pane", "claude_newlines": "literal", "allow_bypass": true, "codex": "/c"},
        "later": {"x": 1},
    });
    for config in [right, json!({})] {
        schemas::check("config", &config);
    }
    let wrong = [
        json!({"voice": {"rate": 49}}),
        json!({"voice": {"rate": 601}}),
        json!({"voice": {"en": "-x"}}),
        json!({"voice": {"ja": ""}}),
        json!({"voice": {"en": "a\nb"}}),
        json!({"voice": {"speed": 1}}),
        json!({"gate": {"enabled": "no"}}),
        json!({"gate": true}),
        json!({"codex": {"homes": "/codex"}}),
        json!({"codex": {"homes": [1]}}),
        json!({"resume": {"live": "window"}}),
        json!({"resume": {"claude": 1}}),
    ];
    for config in wrong {
        assert!(!schemas::is_valid("config", &config), "{config}");
    }
}
