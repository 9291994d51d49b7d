//! Defines the scenes: a few sessions of both agents. Each has past turns, then repeats the rest.
//! Together they show every state of a live session within some seconds.

use turnbridge_core::ids::Agent;

/// The script of one session.
pub struct DemoScene {
    /// The name of the project and of its folder.
    pub project: &'static str,
    pub agent: Agent,
    pub session_id: &'static str,
    /// The steps without pauses, before the user looks.
    pub before: &'static [DemoStep],
    /// The steps that are repeated until the demo ends.
    pub again: &'static [DemoStep],
}

#[derive(Debug, Clone, Copy)]
pub enum DemoStep {
    Prompt(&'static str),
    /// A command that runs for this many tenths of a second.
    Run(&'static str, u64),
    /// A command that needs the user's approval, which comes after this many seconds.
    Permission(&'static str, u64),
    /// A question to the user, open for this many seconds.
    Question(&'static str, u64),
    Answer(&'static str),
    /// An error of the API.
    Fail,
    /// The user presses Esc.
    Interrupt,
    /// A pause of this many seconds.
    Rest(u64),
}

use DemoStep::{Answer, Fail, Interrupt, Permission, Prompt, Question, Rest, Run};

pub fn find(project: &str) -> Option<&'static DemoScene> {
    SCENES.iter().find(|scene| scene.project == project)
}

pub const SCENES: [DemoScene; 7] = [
    DemoScene {
        project: "checkout-service",
        agent: Agent::Claude,
        session_id: "de300000-0000-4000-8000-000000000001",
        before: &[
            Prompt("Why do some checkouts hang for 30 seconds?"),
            Answer(
                "The payment client waits for its default timeout, **30 s**, when a connection is \
                 reset before the first byte. `send()` treats that as *no answer yet*.\n\n\
                 A retry is safe here: the request carries an idempotency key.",
            ),
        ],
        again: &[
            Prompt("Make the retry policy one thing, and keep every public name as it is."),
            Run("rg -n 'retry|backoff' src", 15),
            Run("cargo check", 25),
            Run("cargo test retry", 40),
            Answer(
                "## One policy now\n\n\
                 1. `src/retry.rs` decides how often and how long\n\
                 2. `src/http.rs` and `src/queue.rs` ask it\n\n\
                 ```rust\n\
                 pub fn backoff(attempt: u32) -> Duration {\n    \
                     Duration::from_millis(50 << attempt.min(8))\n\
                 }\n\
                 ```\n\n\
                 | case | before | after |\n| --- | --- | --- |\n\
                 | timeout | 30 s | 0.4 s |\n| reset | fails | retries |\n\n\
                 All 214 tests pass.",
            ),
            Rest(9),
        ],
    },
    DemoScene {
        project: "payments-api",
        agent: Agent::Claude,
        session_id: "de300000-0000-4000-8000-000000000002",
        before: &[],
        again: &[
            Prompt("Apply the new migration to the staging database."),
            Run("ls migrations", 8),
            Permission("psql \"$STAGING\" -f migrations/0042_refunds.sql", 25),
            Answer("Migration `0042_refunds` is applied on staging; 0 rows had to be changed."),
            Rest(12),
        ],
    },
    DemoScene {
        project: "search-index",
        agent: Agent::Codex,
        session_id: "de300000-0000-4000-8000-000000000003",
        before: &[
            Prompt("What takes so long when the index is rebuilt?"),
            Answer("Nine tenths of it is reading the same file once for each shard."),
        ],
        again: &[
            Prompt("Read it once, and hand it to all shards."),
            Run("sed -n 1,120p indexer/shards.py", 15),
            Run("apply_patch", 10),
            Run("pytest -q indexer", 50),
            Answer(
                "Rebuilding takes **41 s** instead of 6 min.\n\n\
                 - `read_once()` streams the file\n- shards get their lines over a queue\n\n\
                 `pytest -q indexer`: 58 passed.",
            ),
            Rest(11),
        ],
    },
    DemoScene {
        project: "docs-site",
        agent: Agent::Codex,
        session_id: "de300000-0000-4000-8000-000000000004",
        before: &[],
        again: &[
            Prompt("Add a dark theme."),
            Run("rg -l 'color:' styles", 10),
            Question("Should it follow the system, or have a switch?", 22),
            Run("npm run build", 30),
            Answer(
                "It follows the system (`prefers-color-scheme`), and a switch in the header wins.",
            ),
            Rest(14),
        ],
    },
    DemoScene {
        project: "web-app",
        agent: Agent::Claude,
        session_id: "de300000-0000-4000-8000-000000000005",
        before: &[],
        again: &[
            Prompt("Replace the date picker."),
            Run("npm ls react-datepicker", 15),
            Fail,
            Rest(28),
            Prompt("Go on."),
            Run("npm test", 40),
            Answer("The native `<input type=\"date\">` is in; the old package is out (-48 KB)."),
            Rest(8),
        ],
    },
    DemoScene {
        project: "infra",
        agent: Agent::Claude,
        session_id: "de300000-0000-4000-8000-000000000006",
        before: &[],
        again: &[
            Prompt("Update all providers."),
            Run("terraform init -upgrade", 20),
            Interrupt,
            Rest(26),
            Prompt("Only the patch versions, please."),
            Run("terraform plan", 40),
            Answer("Three providers go up by a patch version; the plan changes no resource."),
            Rest(8),
        ],
    },
    DemoScene {
        project: "release-notes",
        agent: Agent::Claude,
        session_id: "de300000-0000-4000-8000-000000000007",
        before: &[
            Prompt("Write the notes for 2.4 from the merged pull requests."),
            Answer(
                "### 2.4\n\n- **Refunds** in part, by line item\n- Checkout answers in 0.4 s when a \
                 connection is reset\n- *Fixed:* the date picker forgot its time zone\n\n\
                 Shall I open the pull request?",
            ),
        ],
        again: &[Rest(60)],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use turnbridge_core::ids::is_uuid;

    #[test]
    fn every_scene_has_a_name_and_a_session_of_its_own_and_only_claude_fails() {
        for (number, scene) in SCENES.iter().enumerate() {
            assert!(is_uuid(scene.session_id), "{}", scene.session_id);
            let before = &SCENES[..number];
            assert!(before.iter().all(|other| other.session_id != scene.session_id));
            assert_eq!(find(scene.project).unwrap().session_id, scene.session_id);
            // Codex has no hook for an error.
            let fails = scene.again.iter().any(|step| matches!(step, Fail));
            assert!(!fails || scene.agent == Agent::Claude);
            // Without a pause it would call hooks without end.
            assert!(scene.again.iter().any(|step| matches!(step, Rest(1..))));
        }
    }
}
