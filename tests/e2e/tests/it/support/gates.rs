//! Decides which tests run. Tests with agents or a browser run unless an environment variable
//! switches them off; slow tests run only if one switches them on. A missing agent fails its tests.

use std::process::Command;

use testkit::{Browser, Claude, Codex, SLOW};

use crate::support::old_agents::lack;

const NO_AGENTS: &str = "TURNBRIDGE_TEST_NO_AGENTS";
const NO_BROWSER: &str = "TURNBRIDGE_TEST_NO_BROWSER";

/// A real agent, pinned under `tests/NAME`.
pub trait PinnedAgent: Sized {
    const NAME: &str;

    fn find() -> Option<Self>;

    fn version(&self) -> [u32; 3];
}

impl PinnedAgent for Claude {
    const NAME: &str = "claude";

    #[track_caller]
    fn find() -> Option<Claude> {
        Claude::find()
    }

    #[track_caller]
    fn version(&self) -> [u32; 3] {
        Claude::version(self)
    }
}

impl PinnedAgent for Codex {
    const NAME: &str = "codex";

    #[track_caller]
    fn find() -> Option<Codex> {
        Codex::find()
    }

    #[track_caller]
    fn version(&self) -> [u32; 3] {
        Codex::version(self)
    }
}

/// Returns the agent for the caller's world, or `None` if the caller must skip its test, which was
/// reported. A machine that merely lacks the agent or tmux fails: an unrequested skip looks like
/// success.
#[track_caller]
pub fn fast<A: PinnedAgent>() -> Option<A> {
    if is_set(NO_AGENTS) {
        say(&format!("{NO_AGENTS}=1 is set"));
        return None;
    }
    let hint = "run `scripts/test`, which installs what the tests need, or set \
                TURNBRIDGE_TEST_NO_AGENTS=1 to go without the tests that need real agents";
    let tmux = Command::new("tmux").arg("-V").output();
    assert!(tmux.is_ok(), "could not run `tmux`: {tmux:?}\nhint: {hint}");
    let agent = A::find();
    let name = A::NAME;
    assert!(
        agent.is_some(),
        "could not find the pinned `{name}` under `tests/{name}`\nhint: {hint}"
    );
    let agent = agent?;
    if let Some(why) = lack(name, || agent.version(), &test_name()) {
        say(&why);
        return None;
    }
    Some(agent)
}

/// Like [`fast`], for tests that only the slow gate runs.
#[track_caller]
pub fn slow<A: PinnedAgent>() -> Option<A> {
    if !testkit::is_slow() {
        say(&format!("it is slow; set {SLOW}=1 to run it"));
        return None;
    }
    fast()
}

/// Returns a browser, for tests that need no agent, or `None` if the caller must skip its test.
#[track_caller]
pub fn browser() -> Option<Browser> {
    if is_set(NO_BROWSER) {
        say(&format!("{NO_BROWSER}=1 is set"));
        return None;
    }
    Some(Browser::start())
}

fn is_set(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| value == "1")
}

fn say(reason: &str) {
    testkit::skipped(&format!("{}: {reason}", test_name()));
}

/// Returns the test's name, which the harness gives to its thread.
fn test_name() -> String {
    std::thread::current().name().unwrap_or("a test").to_owned()
}

/// Prints a note for runs with `--nocapture`.
#[expect(clippy::print_stderr, reason = "the harness has no word for skipped tests and figures")]
pub fn note(text: &str) {
    eprintln!("{text}");
}
