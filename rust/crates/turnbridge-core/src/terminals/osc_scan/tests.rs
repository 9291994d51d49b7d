//! Tests that folders, prompts and titles are found in any chunks of output, and that other bytes
//! are ignored.

use super::*;

const QUIET: Duration = Duration::from_secs(5);

fn second(number: i64) -> Timestamp {
    Timestamp::from_micros(number * 1_000_000)
}

fn scan(bytes: &[u8]) -> Vec<OscEvent> {
    OscScanner::new(QUIET).feed(bytes, second(0))
}

fn shown(bytes: &[u8]) -> String {
    let show = |seen: &OscEvent| match seen {
        OscEvent::Cwd { path, host: Some(host) } => format!("{host}:{path}"),
        OscEvent::Cwd { path, host: None } => path.clone(),
        OscEvent::PromptReturned => "prompt".to_owned(),
        OscEvent::Title(title) => format!("title {title:?}"),
        OscEvent::OutputStopped { .. } => "stopped".to_owned(),
        OscEvent::OutputResumed => "resumed".to_owned(),
    };
    scan(bytes).iter().map(show).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(shown(text.as_bytes()), expected, "{text:?}");
}

#[test]
fn kt_44_a_folder_and_a_marked_prompt_are_told_with_any_terminator() {
    for end in ["\x07", "\x1b\\", "\u{9c}"] {
        for begin in ["\x1b]", "\u{9d}"] {
            check(&format!("{begin}7;file://host/home/me{end}"), "host:/home/me prompt");
            check(&format!("{begin}133;A{end}"), "prompt");
            check(&format!("{begin}0;vim – x{end}"), "title \"vim – x\"");
            check(&format!("{begin}0;é\u{9b}{end}"), "title \"é\\u{9b}\"");
        }
    }
    check("\x1b]7;file:///a%20b/%E6%97%A5%zz%\x07", "/a b/日%zz% prompt");
    check("\x1b]7;file:///C:/Users/me\x07", "C:/Users/me prompt");
    check("\x1b]7;kitty-shell-cwd://h/a%20b\x07", "h:/a%20b prompt");
    check("\x1b]9;9;C:\\Users\\me\x07", "C:\\Users\\me prompt");
    check("\x1b]9;9;\"C:\\a b\"\x1b\\", "C:\\a b prompt");
    check("\x1b]1337;CurrentDir=/x\x07", "/x prompt");
    check("\x1b]133;A;cl=m;aid=1\x07\x1b]633;A\x07", "prompt prompt");
    check("\x1bPtmux;\x1b\x1b]133;A\x07\x1b\\", "prompt");
    check("\x1b[31m\x1b]7;file:///a\x07$ ls\r\n\x1b]7;file:///a\x07", "/a prompt prompt");
}

#[test]
fn what_is_no_such_sequence_tells_nothing() {
    for noise in [
        "",
        "file:///a",
        "]7;file:///a\x07",
        "\x1b]7;file:///a",
        "\x1b]7;/a\x07",
        "\x1b]7;file://host\x07",
        "\x1b]7;\x07",
        "\x1b]7\x07",
        "\x1b]\x07",
        "\x1b]9;done\x07",
        "\x1b]9;9;\x07",
        "\x1b]133;C\x07\x1b]133;D;0\x07",
        "\x1b]133;A;k=s\x07",
        "\x1b]133;AA\x07",
        "\x1b]8;;file:///a\x1b\\",
        "\x1b]7;file:///a\n\x07",
        "\x1b]7;file:///a\x18\x07",
        "\x1b]7;file:///a%0a\x07",
        "\x1b]7;file:///a\x1b[0m\x07",
        "\x1b\x1b\\",
    ] {
        check(noise, "");
    }
    // A cut-off sequence does not hide the next one.
    check("\x1b]7;file:///a\x1b]133;A\x07", "prompt");
    check("\x1b]0;x\u{9d}133;A\u{9c}", "prompt");
    // 0x9c and 0x9d are parts of other characters, too.
    check("\x1b]0;ÜÝ日\x07", "title \"ÜÝ日\"");
    assert_eq!(shown(b"\x1b]0;\xff\xc2\x07"), "title \"\u{fffd}\u{fffd}\"");
}

#[test]
fn a_sequence_without_an_end_is_skipped_and_needs_no_memory() {
    let mut scanner = OscScanner::new(QUIET);
    assert!(scanner.feed(b"\x1b]0;", second(0)).is_empty());
    for _ in 0..1_000 {
        assert!(scanner.feed(&[b'x'; 100], second(0)).is_empty());
        assert!(scanner.text.capacity() <= 2 * LONGEST);
    }
    assert!(scanner.feed(b"\x07", second(0)).is_empty());
    assert_eq!(scanner.feed(b"\x1b]133;A\x07", second(0)), [OscEvent::PromptReturned]);
    let long = format!("\x1b]7;file:///{}\x07\x1b]133;A\x07", "é\u{9b}".repeat(LONGEST));
    check(&long, "prompt");
}

#[test]
fn kt_82_output_that_has_stopped_is_told_once_until_it_goes_on() {
    let mut scanner = OscScanner::new(QUIET);
    assert_eq!(scanner.tick(second(100)), None, "nothing has ever come");
    assert_eq!(scanner.next_tick(second(100)), None);
    scanner.feed(b"x", second(100));
    scanner.feed(b"", second(104));
    assert_eq!(scanner.next_tick(second(103)), Some(Duration::from_secs(2)));
    assert_eq!(scanner.tick(second(104)), None);
    assert_eq!(scanner.tick(second(90)), None, "the clock was set back");
    assert_eq!(scanner.tick(second(105)), Some(OscEvent::OutputStopped { last_at: second(100) }));
    assert_eq!(scanner.tick(second(200)), None);
    assert_eq!(scanner.next_tick(second(200)), None);
    let seen = scanner.feed(b"\x1b]133;A\x07", second(300));
    assert_eq!(seen, [OscEvent::OutputResumed, OscEvent::PromptReturned]);
    assert_eq!(scanner.tick(second(305)), Some(OscEvent::OutputStopped { last_at: second(300) }));
}

/// A pseudo-random sequence, the same for the same seed.
struct OscScanRng(u64);

impl OscScanRng {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

const PARTS: [&[u8]; 22] = [
    b"\x1b]7;file://h/a",
    b"\x1b]133;A",
    b"\x1b]133;A\x07",
    b"\xc2\x9d0;x",
    b"\x1b",
    b"]",
    b"\x1b]",
    b"\xc2\x9d",
    b"\xc2",
    b"\x9c",
    b"\xc2\x9c",
    b"\x07",
    b"\x1b\\",
    b"7;file://h/a",
    b"9;9;/b",
    b"133;A",
    b"0;t",
    b"%41",
    b"\n",
    b"\x18",
    b"\x1bP",
    b"\xe6\x97\xa5",
];

fn random_bytes(rng: &mut OscScanRng) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..rng.roll(60) {
        match rng.roll(6) {
            0 => bytes.push(rng.roll(256) as u8),
            _ => bytes.extend_from_slice(PARTS[rng.roll(PARTS.len())]),
        }
    }
    bytes
}

#[test]
fn any_bytes_in_any_pieces_tell_the_same() {
    let mut told = 0;
    for seed in 1..=1_500 {
        let mut rng = OscScanRng(seed);
        let bytes = random_bytes(&mut rng);
        let whole = scan(&bytes);
        told += whole.len();
        for split in 0..=bytes.len() {
            let mut scanner = OscScanner::new(QUIET);
            let mut seen = scanner.feed(&bytes[..split], second(0));
            seen.extend(scanner.feed(&bytes[split..], second(1)));
            assert_eq!(seen, whole, "seed {seed}, split at {split}: {bytes:?}");
        }
        let mut scanner = OscScanner::new(QUIET);
        let single: Vec<_> =
            bytes.iter().flat_map(|byte| scanner.feed(&[*byte], second(0))).collect();
        assert_eq!(single, whole, "seed {seed}: {bytes:?}");
        // After any bytes, a line end and a whole sequence are parsed.
        scanner.feed(b"\n", second(2));
        let after = scanner.feed(b"\x1b]133;A\x07", second(2));
        assert_eq!(after, [OscEvent::PromptReturned], "seed {seed}: {bytes:?}");
    }
    assert!(told > 1_000, "the walk hardly tells anything: {told}");
}
