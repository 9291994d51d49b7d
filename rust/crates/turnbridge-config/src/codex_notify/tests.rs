//! Tests that edits of `notify` in Codex's `config.toml` have the recorded results, and that a
//! removal restores generated files byte for byte.

#[path = "../../../testkit/src/case_folder.rs"]
mod case_folder;

use super::*;
use case_folder::{Case, cases};

/// One folder per case: `before.toml` and either `after.toml` or `refused.txt`. The folder's name
/// contains the mode: `NN-chain-…`, `NN-replace-…`, else an existing entry is left. `removed.toml`
/// is the result of a removal that does not know the earlier file; without it, the result is
/// `before.toml`.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/codex_notify");
const FILES: [&str; 4] = ["before.toml", "after.toml", "removed.toml", "refused.txt"];

fn ours() -> Vec<String> {
    our_argv("/opt/turnbridge/bin/turnbridge")
}

fn apply(text: &str, mode: NotifyMode) -> String {
    plan_apply(text, &ours(), mode).unwrap().applied_to(text)
}

fn remove(text: &str, before: Option<&str>) -> String {
    plan_remove(text, before, None).unwrap().applied_to(text)
}

fn has_ours(text: &str) -> bool {
    plan_remove(text, None, None).is_ok_and(|plan| !plan.splices.is_empty())
}

fn check(case: &Case) {
    let (name, before) = (case.name(), case.input("before.toml"));
    let mode = match name.split_once('-').unwrap().1 {
        name if name.starts_with("chain") => NotifyMode::Chain,
        name if name.starts_with("replace") => NotifyMode::Replace,
        _ => NotifyMode::LeaveExisting,
    };
    let plan = plan_apply(&before, &ours(), mode);
    let reason = plan.as_ref().err().map(|problem| format!("{problem}\n"));
    case.expect("refused.txt", reason.as_deref());
    let after = plan.ok().map(|plan| plan.applied_to(&before));
    case.expect("after.toml", after.as_deref());
    let Some(after) = after else { return case.expect("removed.toml", None) };
    assert_eq!(apply(&after, mode), after, "{name}: apply twice");
    let removed = remove(&after, None);
    case.expect("removed.toml", Some(removed.as_str()).filter(|removed| *removed != before));
    let without_ours = if has_ours(&before) { &removed } else { &before };
    assert_eq!(&remove(&after, Some(&before)), without_ours, "{name}: remove");
    assert!(!has_ours(&removed), "{name}: remove twice");
}

#[test]
fn slv_64_every_case_is_applied_and_removed_as_its_folder_says() {
    cases(FOLDER, &FILES).iter().for_each(check);
}

#[test]
fn x1_an_existing_program_is_left_chained_or_replaced() {
    let text = "notify = [\"a\", 'b']\n";
    let existing = || vec!["a".to_owned(), "b".to_owned()];
    let outcome = |mode| plan_apply(text, &ours(), mode).unwrap().outcome;
    assert_eq!(outcome(NotifyMode::LeaveExisting), NotifyOutcome::Left(existing()));
    assert_eq!(outcome(NotifyMode::Chain), NotifyOutcome::Chained(existing()));
    assert_eq!(outcome(NotifyMode::Replace), NotifyOutcome::Replaced);
    let after = apply(text, NotifyMode::Chain);
    let plan = plan_remove(&after, None, Some(&existing())).unwrap();
    assert_eq!(
        (plan.applied_to(&after), plan.outcome),
        ("notify = [\"a\", \"b\"]\n".to_owned(), NotifyOutcome::Restored)
    );
    let plan = plan_remove(text, None, None).unwrap();
    assert_eq!((plan.splices.len(), plan.outcome), (0, NotifyOutcome::Left(existing())));
}

#[test]
fn what_stands_there_is_told() {
    let of = |text: &str| status(text, &ours()).unwrap();
    assert_eq!(of("[tui]\nnotify = ['x']\n"), NotifyKeyStatus::Absent);
    assert_eq!(of("notify = []\n"), NotifyKeyStatus::Absent);
    assert_eq!(of(&apply("", NotifyMode::Chain)), NotifyKeyStatus::Registered);
    assert_eq!(of("notify = ['x']"), NotifyKeyStatus::Foreign(vec!["x".to_owned()]));
    let old = our_argv("/old/turnbridge");
    assert_eq!(of(&format!("notify = {}", render(&old))), NotifyKeyStatus::Outdated(old));
    assert_eq!(of("notify = 'x'"), NotifyKeyStatus::Unusable);
    assert!(status("notify =", &ours()).is_err());
}

/// A generator that returns the same sequence for the same seed. The test needs no other property.
struct NotifyRng(u64);

impl NotifyRng {
    fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_041);
        choices[(self.0 >> 33) as usize % choices.len()]
    }
}

/// Returns lines that are valid in the root, and then tables, with all line ends, also mixed.
fn config(rng: &mut NotifyRng, notify: &str) -> String {
    let root = [
        "# x",
        "",
        "  ",
        "a1 = 1",
        "b2.c = 'x' # y",
        "b2.d.e=[ 1,\n 2 ]",
        "f3 = { g = 1 }",
        "h4 = \"\"\"\n[x]\n\n\"\"\"",
        "\"i 5\" = 1979-05-27",
    ];
    let tables = ["[t1]", "[[t2]]", "# x", "", "[b2.t3]", "notify = ['x']", "n = 1 #"];
    let mut lines: Vec<&str> = Vec::new();
    for _ in 0..rng.one_of(&["", "1", "12", "1234"]).len() {
        lines.push(rng.one_of(&root));
    }
    lines.push(notify);
    if rng.one_of(&["", "t"]) == "t" {
        lines.push("[t0]");
        for _ in 0..rng.one_of(&["", "1", "12", "1234"]).len() {
            lines.push(rng.one_of(&tables));
        }
    }
    let ends = match rng.one_of(&["lf", "crlf", "mixed"]) {
        "lf" => &["\n"][..],
        "crlf" => &["\r\n"],
        _ => &["\n", "\r\n"],
    };
    let mut text = rng.one_of(&["", "", "\u{feff}"]).to_owned();
    for line in lines.iter().filter(|line| **line != "-") {
        text += line;
        text += rng.one_of(ends);
    }
    match rng.one_of(&["whole", "open"]) {
        "open" => text.trim_end_matches(['\r', '\n']).to_owned(),
        _ => text,
    }
}

#[test]
fn generated_configs_come_back_byte_for_byte_and_keep_what_others_add() {
    let mut valid = 0;
    for seed in 0..3_000_u64 {
        let mut rng = NotifyRng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let notify = rng.one_of(&["-", "-", "notify = ['old', \"one\"] # c", "notify=[\n'x',\n]"]);
        let before = config(&mut rng, notify);
        // Keys may occur twice, and tables too.
        if Document::parse(before.trim_start_matches('\u{feff}')).is_err() {
            continue;
        }
        valid += 1;
        let after = apply(&before, NotifyMode::Chain);
        assert_eq!(apply(&after, NotifyMode::Chain), after, "seed {seed}: {before}");
        assert_eq!(
            status(&after, &ours()).unwrap(),
            NotifyKeyStatus::Registered,
            "seed {seed}: {before}"
        );
        assert_eq!(remove(&after, Some(&before)), before, "seed {seed}");
        let added = "\n[theirs]  # x\r\nnotify = [ 'theirs' ]\n";
        let edited = after.clone() + added;
        // Behind a last line without a line end, Turnbridge's line end stays for the added text.
        let lines = |text: String| match before.ends_with('\n') {
            true => text,
            false => text.replace("\r\n", "\n"),
        };
        let (removed, expected) = (remove(&edited, Some(&before)), before.clone() + added);
        assert_eq!(lines(removed), lines(expected), "seed {seed}: {edited}");
    }
    assert!(valid > 500, "{valid}");
}
