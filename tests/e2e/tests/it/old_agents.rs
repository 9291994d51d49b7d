//! What an older agent cannot do that a test needs. With the oldest that is supported
//! (`TURNBRIDGE_TEST_CLAUDE=oldest`) these tests are skipped, and say why.

type Version = [u32; 3];

/// A test by its name, the first version that it passes with, and what older ones lack.
type Need = (&'static str, Version, &'static str);

const CLAUDE: [Need; 0] = [];

const CODEX: [Need; 0] = [];

/// Why this version of the agent cannot pass the test. `None` if it can.
pub fn lack(agent: &str, version: impl Fn() -> Version, test: &str) -> Option<String> {
    let needs = if agent == "claude" { &CLAUDE[..] } else { &CODEX[..] };
    // Asking the agent takes its time, and most tests need not.
    let (_, first, why) = needs.iter().find(|(name, ..)| *name == test)?;
    if version() >= *first {
        return None;
    }
    let [major, minor, patch] = first;
    Some(format!("it needs {agent} {major}.{minor}.{patch}: {why}"))
}
