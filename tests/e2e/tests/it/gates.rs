//! Which tests run: those with agents wherever the agents are, the slow ones only when asked for.

use std::process::Command;

use testkit::Claude;

const SLOW: &str = "TURNBRIDGE_TEST_SLOW";
const NO_AGENTS: &str = "TURNBRIDGE_TEST_NO_AGENTS";

/// The real claude. `None`: the caller has to skip its test, and that has been said. A machine
/// that merely lacks claude or tmux fails: a skip that nobody asked for looks like success.
#[track_caller]
pub fn fast() -> Option<Claude> {
    if is_set(NO_AGENTS) {
        say(&format!("{NO_AGENTS}=1 is set"));
        return None;
    }
    let hint = "run `scripts/test`, which installs what the tests need, or set \
                TURNBRIDGE_TEST_NO_AGENTS=1 to go without the tests that need real agents";
    let tmux = Command::new("tmux").arg("-V").output();
    assert!(tmux.is_ok(), "could not run `tmux`: {tmux:?}\nhint: {hint}");
    let claude = Claude::find();
    assert!(
        claude.is_some(),
        "could not find the pinned `claude` under `tests/claude`\nhint: {hint}"
    );
    claude
}

/// Like [`fast`], for tests that only the slow gate runs.
#[track_caller]
pub fn slow() -> Option<Claude> {
    if !is_set(SLOW) {
        say(&format!("it is slow; set {SLOW}=1 to run it"));
        return None;
    }
    fast()
}

fn is_set(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| value == "1")
}

fn say(reason: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    testkit::skipped(&format!("{test}: {reason}"));
}

/// For whoever runs the tests with `--nocapture`.
#[expect(clippy::print_stderr, reason = "the harness has no word for skipped tests and figures")]
pub fn note(text: &str) {
    eprintln!("{text}");
}
