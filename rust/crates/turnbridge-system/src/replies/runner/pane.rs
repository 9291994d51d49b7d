//! Types a reply into the terminal in which its session is open (`resume.live = "pane"`). It waits
//! until the agent there is idle and alone reads its terminal, then pastes the text, so that the
//! line ends in it submit nothing.

use std::time::{Duration, Instant};

use turnbridge_core::ids::SessionKey;
use turnbridge_core::replies::run_result::{RunOutcome, RunResult};
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::clock;
use turnbridge_store::paths::claude_config_dir;
use turnbridge_store::state::session_store;

use super::{LOOK_AGAIN, ReplyRunner};
use crate::replies::runs::{TypingPlace, is_open, place_to_type_into};
use crate::terminals::{self, Pasted};

/// The timeout for the prompt's hook after the paste.
const SEEN_WITHIN: Duration = Duration::from_secs(15);
const LOOK: Duration = Duration::from_millis(50);

impl ReplyRunner<'_> {
    /// Types the reply as soon as that is possible. Returns `None` if no terminal has the session
    /// open (any more), so that it can be run.
    pub fn type_into_pane(&self, key: &SessionKey) -> Option<RunResult> {
        while is_open(self.paths, key, clock::now()) {
            if self.is_stopping() {
                return Some(RunResult::new(RunOutcome::Stopped, clock::now()));
            }
            if let Some(result) = self.place(key).and_then(|place| self.paste(key, &place)) {
                return Some(result);
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        None
    }

    /// Returns where the reply can be typed now.
    fn place(&self, key: &SessionKey) -> Option<TypingPlace> {
        let config_dir = claude_config_dir();
        place_to_type_into(self.paths, key, config_dir.as_deref(), clock::now())
    }

    /// Pastes the reply. Half a paste looks like a whole one from here, so only a prompt that a
    /// hook has seen counts as done. Returns `None` if nothing was typed, because another program
    /// reads the terminal now.
    fn paste(&self, key: &SessionKey, place: &TypingPlace) -> Option<RunResult> {
        let begun = clock::now();
        let text = typed(&self.reply.text);
        let is_ready = || terminals::is_agents(place) && self.place(key).as_ref() == Some(place);
        let is_pasted = match terminals::paste(&place.pane, &text, &is_ready) {
            Pasted::Yes => true,
            Pasted::Partly => false,
            Pasted::Not => return None,
        };
        // Claude's built-in commands fire no hook.
        let is_command = text.starts_with('/');
        let is_seen = is_pasted && (is_command || self.wait_until_seen(key, begun));
        let outcome = if is_seen { RunOutcome::HandedOver } else { RunOutcome::Uncertain };
        Some(RunResult::new(outcome, clock::now()))
    }

    fn wait_until_seen(&self, key: &SessionKey, since: Timestamp) -> bool {
        let deadline = Instant::now() + SEEN_WITHIN;
        let wanted: String = self.reply.text.trim().chars().take(80).collect();
        let is_it = || {
            let session = session_store::read(self.paths, key)?;
            let mut prompts = session.live_runs().filter(|run| run.last_at >= since);
            prompts.find_map(|run| {
                let prompt = run.turn.prompt.as_ref()?;
                prompt.text.trim().starts_with(&wanted).then_some(())
            })
        };
        while Instant::now() < deadline {
            if is_it().is_some() {
                return true;
            }
            std::thread::sleep(LOOK);
        }
        false
    }
}

/// Returns the text as a prompt, whatever it begins with: `!` would run the rest in a shell, `#`
/// store it as a memory.
fn typed(text: &str) -> String {
    let text = text.trim_end().replace("\r\n", "\n").replace('\r', "\n");
    let text: String = text.chars().filter(|c| !c.is_control() || "\n\t".contains(*c)).collect();
    if text.starts_with(['!', '#', '&', '@']) { format!(" {text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_a_prompt_and_nothing_else() {
        assert_eq!(typed("!rm -rf ~"), " !rm -rf ~");
        assert_eq!(typed("# remember"), " # remember");
        assert_eq!(typed("one\r\ntwo\rthree\n"), "one\ntwo\nthree");
        // The end of a bracketed paste, and Ctrl-C.
        assert_eq!(typed("a\x1b[201~\x03b\tc"), "a[201~b\tc");
        assert_eq!(typed("/compact"), "/compact");
    }
}
