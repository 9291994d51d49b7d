//! Tests `turnbridge voice`, and its effect on `speak`.

// The engines of Linux; macOS looks for others.
#![cfg(all(unix, not(target_os = "macos")))]

use std::fs;

use serde_json::{Value, json};

use crate::support::engines::{
    cut_off, has_espeak_ng, mark, notes, notes_path, pids, wait_for_end, world_with,
};
use crate::support::world::World;

/// Returns both streams, with placeholders for the folders of the test.
#[track_caller]
fn voice(world: &World, arguments: &[&str]) -> String {
    let output = world.command("turnbridge").arg("voice").args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    let text =
        String::from_utf8(output.stderr).unwrap() + &String::from_utf8(output.stdout).unwrap();
    text.replace(world.hermetic.root().to_str().unwrap(), "$ROOT")
}

#[test]
fn the_status_shows_the_engine_and_what_is_chosen() {
    let world = world_with("espeak-ng", "true");
    insta::assert_snapshot!(voice(&world, &[]), @"
    engine    espeak-ng (`$ROOT/engines/espeak-ng`)
    muted     no
    rate      the engine's own
    English   the engine's own
    Japanese  the engine's own
    config    `$ROOT/home/.config/turnbridge/config.toml`
    ");
    voice(&world, &["set", "ja", "Kyoko"]);
    voice(&world, &["rate", "220"]);
    voice(&world, &["mute"]);
    insta::assert_snapshot!(voice(&world, &["status"]), @"
    engine    espeak-ng (`$ROOT/engines/espeak-ng`)
    muted     yes
    rate      220 words a minute
    English   the engine's own
    Japanese  Kyoko
    config    `$ROOT/home/.config/turnbridge/config.toml`
    ");
    insta::assert_snapshot!(voice(&world, &["--json"]), @r#"{"config":"$ROOT/home/.config/turnbridge/config.toml","engine":{"name":"espeak-ng","path":"$ROOT/engines/espeak-ng"},"muted":true,"rate":220,"version":1,"voices":{"en":null,"ja":"Kyoko"}}"#);
    let without = World::new().with("PATH", "/nonexistent");
    insta::assert_snapshot!(voice(&without, &["status"]), @"
    engine    none found
    muted     no
    rate      the engine's own
    English   the engine's own
    Japanese  the engine's own
    config    `$ROOT/home/.config/turnbridge/config.toml`
    ");
}

#[test]
fn speak_takes_the_chosen_voice_and_rate_unless_told_otherwise() {
    let world = world_with("espeak-ng", "true");
    voice(&world, &["set", "en", "Vera"]);
    voice(&world, &["rate", "220"]);
    fs::remove_file(notes_path(&world)).unwrap();
    world.turnbridge(&["speak", "One. 二。"]);
    notes(&world, 2);
    world.turnbridge(&["speak", "--voice", "Anna", "--rate", "90", "Three. 四。"]);
    notes(&world, 4);
    voice(&world, &["set", "en", "--default"]);
    voice(&world, &["rate", "--default"]);
    world.turnbridge(&["speak", "Five."]);
    let noted = notes(&world, 5);
    let spoken: String = noted
        .lines()
        .filter(|line| line.contains("--stdin"))
        .map(|line| format!("{line}\n"))
        .collect();
    insta::assert_snapshot!(spoken, @"
    [-v] [Vera] [-s] [220] [--stdin] One.
    [-v] [ja] [-s] [220] [--stdin] 二。
    [-v] [Anna] [-s] [90] [--stdin] Three.
    [-v] [Anna] [-s] [90] [--stdin] 四。
    [-v] [en] [--stdin] Five.
    ");
}

#[test]
fn muted_it_says_nothing_and_that_is_no_failure() {
    let world = world_with("espeak-ng", "sleep 60");
    world.turnbridge(&["speak", "One."]);
    let pids = pids(&world);
    // Muting also ends the current speech.
    insta::assert_snapshot!(voice(&world, &["mute"]), @"muted");
    wait_for_end(pids);
    fs::remove_file(notes_path(&world)).unwrap();
    let output = world.command("turnbridge").args(["speak", "--json", "Two."]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @"note: muted; `turnbridge voice unmute` lets it speak again");
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stdout), @r#"{"engine":null,"muted":true,"out":null,"seconds":null,"utterances":[{"language":"en","text":"Two."}],"version":1}"#);
    insta::assert_snapshot!(voice(&world, &["test"]), @"note: muted; `turnbridge voice unmute` lets it speak again");
    insta::assert_snapshot!(voice(&world, &["mute"]), @"muted (as before)");
    assert!(!notes_path(&world).exists() && !mark(&world).exists());
    voice(&world, &["unmute"]);
    world.turnbridge(&["speak", "Three."]);
    cut_off(&world);
}

#[test]
fn a_broken_config_keeps_nobody_from_speaking() {
    let world = world_with("espeak-ng", "true");
    fs::create_dir_all(world.hermetic.config_dir()).unwrap();
    fs::write(world.hermetic.config_dir().join("config.toml"), "[voice]\nmute = 1\n").unwrap();
    let output = world.command("turnbridge").args(["speak", "One."]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let errors = String::from_utf8_lossy(&output.stderr);
    let errors = errors.replace(world.hermetic.root().to_str().unwrap(), "$ROOT");
    insta::assert_snapshot!(errors, @"note: could not read `$ROOT/home/.config/turnbridge/config.toml`: `voice.mute` must be `true` or `false` at line 2, column 8; going on as if there were none");
    assert!(notes(&world, 1).contains("One."));
}

#[test]
fn a_test_says_who_speaks() {
    let world = world_with("espeak-ng", "true");
    voice(&world, &["set", "en", "Vera"]);
    fs::remove_file(notes_path(&world)).unwrap();
    insta::assert_snapshot!(voice(&world, &["test"]), @"
    espeak-ng, en, Vera: Hello, this is Turnbridge.
    espeak-ng, ja, the engine's own voice: こんにちは、ターンブリッジです。
    ");
    insta::assert_snapshot!(notes(&world, 2), @"
    [-v] [Vera] [--stdin] Hello, this is Turnbridge.
    end
    [-v] [ja] [--stdin] こんにちは、ターンブリッジです。
    end
    ");
}

#[test]
fn the_voices_of_the_real_engine_are_listed_and_can_be_chosen() {
    if !has_espeak_ng() {
        return testkit::skipped("`espeak-ng` is not installed");
    }
    let world = World::new();
    let list: Value =
        serde_json::from_str(&voice(&world, &["list", "--json", "--language", "ja"])).unwrap();
    if list["engine"] != "espeak-ng" {
        return testkit::skipped("another engine comes before `espeak-ng` here");
    }
    let japanese = json!({"name": "Japanese", "language": "ja"});
    assert!(list["voices"].as_array().unwrap().contains(&japanese), "{list}");
    let english = voice(&world, &["list", "--language", "en"]);
    let (_, name) =
        english.lines().find(|line| line.contains("America")).unwrap().split_once("  ").unwrap();
    assert_eq!(voice(&world, &["set", "en", name.trim()]), format!("en {}\n", name.trim()));
    let unknown = voice(&world, &["set", "en", "Nobody"]);
    assert!(unknown.starts_with("note: `espeak-ng` does not list `Nobody`"), "{unknown}");
    // The engine accepts every name that it lists.
    voice(&world, &["set", "en", name.trim()]);
    let out = world.hermetic.root().join("x.wav");
    world.turnbridge(&["speak", "--out", out.to_str().unwrap(), "Hello"]);
}
