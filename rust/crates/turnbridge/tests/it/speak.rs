//! Tests `turnbridge speak` with engines that only record their calls, and with the real
//! `espeak-ng`.

use std::path::Path;
use std::process::Output;

use crate::support::world::{World, feed};

// The engines of Linux; macOS looks for others.
#[cfg(all(unix, not(target_os = "macos")))]
mod stub {
    use super::*;
    use std::fs;

    use testkit::write_program;

    use crate::support::engines::{
        TIMEOUT, add_silent_sound_card, cut_off, has_ended, has_espeak_ng, mark, notes, notes_path,
        pids, wait_for_end, with_time_to_fail, world_with,
    };

    /// Speaks for a minute, in another process.
    const LONG: &str = "sleep 60 & wait";

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
        [-l] [ja] [-y] [Vera] [--wait] [--] [終わりました。]
        end
        ");
    }

    #[test]
    fn the_command_returns_while_the_engine_speaks_and_leaves_none_of_its_streams_open() {
        let world = world_with("espeak-ng", LONG);
        let mut command = world.command("turnbridge");
        command.args(["speak", "--json"]);
        // Returns when no process holds the command's stdout and stderr any more.
        let output = feed(command, b"A long speech");
        insta::assert_snapshot!(String::from_utf8(output.stdout).unwrap(), @r#"{"engine":"espeak-ng","muted":false,"out":null,"seconds":null,"utterances":[{"language":"en","text":"A long speech."}],"version":1}"#);
        let pids = pids(&world);
        assert!(!has_ended(pids.0) && !has_ended(pids.1));
        cut_off(&world);
        wait_for_end(pids);
    }

    #[test]
    fn a_cut_off_ends_the_engine_and_what_it_has_started() {
        let world = world_with("espeak-ng", "sleep 60 & echo $! > \"$TMPDIR/child\"; wait");
        world.turnbridge(&["speak", "One. 二つ目。"]);
        let pids = pids(&world);
        let child: u32 = testkit::wait_until(TIMEOUT, "the engine's child", || {
            let text = fs::read_to_string(world.hermetic.root().join("tmp/child")).ok()?;
            text.strip_suffix('\n')?.parse().ok()
        });
        cut_off(&world);
        wait_for_end(pids);
        wait_for_end((child, child));
        // The text in the second language was not spoken.
        insta::assert_snapshot!(fs::read_to_string(notes_path(&world)).unwrap(), @"[-v] [en] [--stdin] One.");
    }

    #[test]
    fn a_newer_speech_takes_the_word_from_an_older_one() {
        let world = world_with("espeak-ng", LONG);
        world.turnbridge(&["speak", "One."]);
        let older = pids(&world);
        world.turnbridge(&["speak", "Two."]);
        wait_for_end(older);
        let newer = pids(&world);
        assert!(mark(&world).exists() && !has_ended(newer.0));
        cut_off(&world);
        wait_for_end(newer);
    }

    #[test]
    fn a_speech_that_has_ended_leaves_no_mark() {
        let world = world_with("espeak-ng", "true");
        world.turnbridge(&["speak", "One."]);
        let pids = pids(&world);
        wait_for_end(pids);
        assert!(!mark(&world).exists());
    }

    /// speech-dispatcher continues to speak after its client's end.
    #[test]
    fn a_speech_of_speech_dispatcher_is_cancelled() {
        let world = world_with("spd-say", "[ \"$1\" = --cancel ] || sleep 60");
        world.turnbridge(&["speak", "One."]);
        let older = pids(&world);
        world.turnbridge(&["speak", "Two."]);
        wait_for_end(older);
        cut_off(&world);
        insta::assert_snapshot!(notes(&world, 2), @"
        [-l] [en] [--wait] [--] [One.]
        [--cancel]
        end
        [-l] [en] [--wait] [--] [Two.]
        [--cancel]
        end
        ");
    }

    #[test]
    fn without_a_home_it_speaks_all_the_same() {
        let world = world_with("espeak-ng", "true");
        fs::write(world.hermetic.state_dir(), "in the way").unwrap();
        world.turnbridge(&["speak", "One."]);
        assert!(notes(&world, 1).contains("One."));
    }

    #[test]
    fn an_engine_that_fails_at_once_is_told() {
        let failing = "echo noise >&2; echo 'Error: no voice' >&2; exit 7";
        let world = with_time_to_fail(world_with("espeak-ng", failing));
        let output = speak(&world, &["hello"]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @"
        error: could not speak: `espeak-ng` failed (exit status: 7): Error: no voice
        hint: `turnbridge voice status` shows what is set
        ");
        wait_for_end(pids(&world));
        assert!(!mark(&world).exists());
    }

    #[test]
    fn an_engine_that_cannot_begin_makes_room_for_the_next() {
        let world = with_time_to_fail(world_with("espeak-ng", "true"));
        let broken = world.hermetic.root().join("engines/spd-say");
        write_program(&broken, "#!/bin/sh\necho 'Failed to connect' >&2\nexit 1\n");
        let output = speak(&world, &["--json", "hello"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(said["engine"], "espeak-ng");
        insta::assert_snapshot!(notes(&world, 1), @"
        [-v] [en] [--stdin] hello.
        end
        ");
    }

    #[test]
    fn a_text_that_no_pipe_holds_reaches_an_engine_that_reads_late() {
        let world = world_with("espeak-ng", "true");
        let engine = world.hermetic.root().join("engines/espeak-ng");
        let script = "#!/bin/sh\nPATH=/usr/bin:/bin\nsleep 0.5\nwc -c > \"$TMPDIR/count\"\n";
        write_program(&engine, script);
        let mut command = world.command("turnbridge");
        command.arg("speak");
        let output = feed(command, "All is well. ".repeat(40_000).as_bytes());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let count = testkit::wait_until(TIMEOUT, "the count", || {
            let path = world.hermetic.root().join("tmp/count");
            fs::read_to_string(path).ok().filter(|count| count.ends_with('\n'))
        });
        assert_eq!(count.trim(), "519999");
    }

    #[test]
    fn a_real_engine_is_cut_off() {
        if !has_espeak_ng() {
            return testkit::skipped("`espeak-ng` is not installed");
        }
        let world = World::new();
        add_silent_sound_card(&world);
        let mut command = world.command("turnbridge");
        command.arg("speak");
        let output = feed(command, "The tests pass and the work is done. ".repeat(5000).as_bytes());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let (engine, player) = testkit::wait_until(TIMEOUT, "the engine", || {
            let mark = fs::read_to_string(mark(&world)).ok()?;
            let player: u32 = mark.split(' ').next()?.parse().ok()?;
            let children = fs::read_to_string(format!("/proc/{player}/task/{player}/children"));
            Some((children.ok()?.trim().parse::<u32>().ok()?, player))
        });
        assert!(!has_ended(engine));
        cut_off(&world);
        wait_for_end((engine, player));
    }

    #[test]
    fn a_machine_without_a_sound_card_says_so() {
        if !has_espeak_ng() {
            return testkit::skipped("`espeak-ng` is not installed");
        }
        let world = with_time_to_fail(World::new());
        fs::write(world.hermetic.home().join(".asoundrc"), "pcm.!default { type nonsense }\n")
            .unwrap();
        let output = speak(&world, &["hello"]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{errors}");
        assert!(
            errors.starts_with("error: this machine cannot play sound: `espeak-ng` says `error: "),
            "{errors}"
        );
    }

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let world = world_with("espeak-ng", "exit 1");
        let path = world.hermetic.project().join("x.wav");
        fs::write(&path, "what was there").unwrap();
        let output = speak(&world, &["--out", "x.wav", "hello"]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "what was there");
        assert_eq!(fs::read_dir(world.hermetic.project()).unwrap().count(), 1);
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
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stdout), @r#"{"engine":null,"muted":false,"out":null,"seconds":null,"utterances":[],"version":1}"#);
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

/// Checks the file by an independent parser of the format: 22,050 samples a second, mono, 16 bit.
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
