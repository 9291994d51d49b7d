//! `turnbridge speak`, with engines that only take notes and with one that really speaks.

use std::path::Path;
use std::process::Output;

use crate::world::{World, feed};

// The engines of Linux; macOS looks for others.
#[cfg(all(unix, not(target_os = "macos")))]
mod stub {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, Instant};

    /// A world in which `name` is the only engine. It notes its arguments and its stdin, and then
    /// does `speaking`.
    fn world_with(name: &str, speaking: &str) -> World {
        let world = World::new();
        let folder = world.hermetic.root().join("engines");
        fs::create_dir(&folder).unwrap();
        let notes = notes_path(&world);
        let script = format!(
            "#!/bin/sh\nPATH=/usr/bin:/bin\n{{ printf '[%s] ' \"$@\"; cat; echo; }} > '{0}.new'\n\
             cat '{0}.new' >> '{0}'\n{speaking}\necho end >> '{0}'\n",
            notes.display()
        );
        let path = folder.join(name);
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let folder = folder.to_str().unwrap().to_owned();
        world.with("PATH", &folder)
    }

    fn notes_path(world: &World) -> std::path::PathBuf {
        world.hermetic.root().join("notes")
    }

    /// What the engine has noted when it has ended `times` times.
    #[track_caller]
    fn notes(world: &World, times: usize) -> String {
        let read = || fs::read_to_string(notes_path(world)).unwrap_or_default();
        let start = Instant::now();
        while read().lines().filter(|line| *line == "end").count() < times {
            assert!(start.elapsed() < Duration::from_secs(20), "noted only: {}", read());
            std::thread::sleep(Duration::from_millis(20));
        }
        read().lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    #[test]
    fn the_text_goes_to_the_engine_as_a_person_would_read_it() {
        let world = world_with("espeak-ng", "true");
        let printed =
            world.turnbridge(&["speak", "--rate", "200", "**Done**, see", "`main.rs`; $(id) 'x'"]);
        assert_eq!(printed, "");
        insta::assert_snapshot!(notes(&world, 1), @"
        [-v] [en] [-s] [200] [--stdin] Done, see main.rs; $(id) 'x'.
        end
        ");

        let world = world_with("spd-say", "true");
        world.turnbridge(&["speak", "--voice", "Vera", "終わりました"]);
        insta::assert_snapshot!(notes(&world, 1), @"
        [-l] [ja] [-y] [Vera] [--] [終わりました。]
        end
        ");
    }

    #[test]
    fn the_command_returns_while_the_engine_speaks() {
        // It speaks until somebody says `hush`.
        let world = world_with("espeak-ng", "until [ -e \"$TMPDIR/hush\" ]; do sleep 0.02; done");
        let mut command = world.command("turnbridge");
        command.args(["speak", "--json"]);
        let output = feed(command, b"A long speech");
        insta::assert_snapshot!(String::from_utf8(output.stdout).unwrap(), @r#"{"engine":"espeak-ng","out":null,"seconds":null,"utterances":[{"language":"en","text":"A long speech."}]}"#);
        let noted = fs::read_to_string(notes_path(&world)).unwrap_or_default();
        assert!(!noted.contains("end"), "{noted}");
        let environment = world.hermetic.environment();
        let (_, folder) = environment.iter().find(|(name, _)| *name == "TMPDIR").unwrap();
        fs::write(Path::new(folder).join("hush"), "").unwrap();
        notes(&world, 1);
    }

    #[test]
    fn languages_are_spoken_one_after_another() {
        let world = world_with("espeak-ng", "sleep 0.2");
        world.turnbridge(&["speak", "Hello. こんにちは。Bye."]);
        insta::assert_snapshot!(notes(&world, 3), @"
        [-v] [en] [--stdin] Hello.
        end
        [-v] [ja] [--stdin] こんにちは。
        end
        [-v] [en] [--stdin] Bye.
        end
        ");
    }

    #[test]
    fn an_engine_that_only_plays_writes_no_file() {
        let world = world_with("spd-say", "true");
        let output = speak(&world, &["--out", "x.wav", "hello"]);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert!(!notes_path(&world).exists());
    }
}

fn speak(world: &World, arguments: &[&str]) -> Output {
    world.command("turnbridge").arg("speak").args(arguments).output().unwrap()
}

#[test]
fn without_an_engine_it_says_so() {
    let world = World::new().with("PATH", "/nonexistent");
    let output = speak(&world, &["hello"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let errors = String::from_utf8(output.stderr).unwrap();
    let (error, hint) = errors.split_once('\n').unwrap();
    assert_eq!(error, "error: no speech engine on this machine");
    assert!(hint.starts_with("hint: "), "{hint}");
}

#[test]
fn code_alone_is_nothing_to_say() {
    let world = World::new().with("PATH", "");
    let mut command = world.command("turnbridge");
    command.args(["speak", "--json", "-"]);
    let output = feed(command, b"```\nls\n```\n");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "note: there is nothing to say\n");
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stdout), @r#"{"engine":null,"out":null,"seconds":null,"utterances":[]}"#);
}

#[test]
fn more_than_16_mib_is_no_speech() {
    let world = World::new().with("PATH", "");
    let mut command = world.command("turnbridge");
    command.arg("speak");
    let output = feed(command, &vec![b'a'; (16 << 20) + 1]);
    assert_eq!(output.status.code(), Some(1), "{:?}", output.status);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.starts_with("error: the text is longer than 16 MiB\n"), "{errors}");
}

#[test]
fn the_written_sound_is_as_long_as_the_text_and_not_silent() {
    if std::process::Command::new("espeak-ng").arg("--version").output().is_err() {
        return testkit::skipped("`espeak-ng` is not installed");
    }
    let world = World::new();
    let english = written_seconds(&world, "The tests pass, and the work is done.");
    let japanese = written_seconds(&world, "テストはすべてとおりました。おわりです。");
    let both = written_seconds(
        &world,
        "The tests pass, and the work is done. テストはすべてとおりました。おわりです。",
    );
    assert!((0.5..20.0).contains(&english), "{english} s");
    assert!((0.5..20.0).contains(&japanese), "{japanese} s");
    assert!((both - english - japanese).abs() < 0.5, "{both} s of {english} s and {japanese} s");
}

/// Checks the file by its own reading of the format: 22,050 samples a second, mono, 16 bit.
#[track_caller]
fn written_seconds(world: &World, text: &str) -> f64 {
    let path = world.hermetic.root().join("speech.wav");
    let path = path.to_str().unwrap();
    let output = speak(world, &["--out", path, text]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let bytes = std::fs::read(Path::new(path)).unwrap();
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!(
        (&bytes[..4], &bytes[8..16], &bytes[36..40]),
        (&b"RIFF"[..], &b"WAVEfmt "[..], &b"data"[..])
    );
    assert_eq!((number(4), number(40)), (bytes.len() - 8, bytes.len() - 44));
    assert_eq!(bytes[20..36], [1, 0, 1, 0, 0x22, 0x56, 0, 0, 0x44, 0xac, 0, 0, 2, 0, 16, 0]);
    let samples: Vec<_> =
        bytes[44..].chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect();
    let loud = samples.iter().filter(|sample| sample.unsigned_abs() > 500).count();
    assert!(loud * 10 > samples.len(), "{loud} of {} samples are loud", samples.len());
    samples.len() as f64 / 22_050.0
}
