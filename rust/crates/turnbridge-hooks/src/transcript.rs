//! Searches the end of a transcript for the turn's speech, and waits for a limited time while
//! Claude may still be writing it.

use std::path::Path;
use std::time::{Duration, Instant};

use turnbridge_core::gate::speak::SpeakOutcome;
use turnbridge_core::gate::turn_speech::{TurnKey, TurnTail, read_turn_tail};
use turnbridge_store::files::bounded_file::read_tail;

/// The timeout. Claude writes with a delay of 100 ms, and fires Stop before.
const TIMEOUT: Duration = Duration::from_millis(400);
const PAUSE: Duration = Duration::from_millis(10);

/// The steps by which the search goes back: a turn is seldom longer than the first. The cost must
/// not grow with the transcript, so speech that no step reaches counts as absent.
const WINDOWS: [u64; 3] = [64 << 10, 1 << 20, 16 << 20];

/// Returns the turn's speech. Waits until Claude has written the turn, up to the timeout.
pub fn speech(path: &Path, turn: TurnKey<'_>) -> Option<SpeakOutcome> {
    let deadline = Instant::now() + TIMEOUT;
    let mut length_before = None;
    loop {
        let length = path.metadata().map(|metadata| metadata.len()).ok();
        if length != length_before {
            length_before = length;
            let seen = find_speech(path, turn);
            if seen.speech.is_some() || seen.has_answer {
                return seen.speech;
            }
        }
        if Instant::now() >= deadline {
            return None;
        }
        std::thread::sleep(PAUSE);
    }
}

fn find_speech(path: &Path, turn: TurnKey<'_>) -> TurnTail {
    let mut seen = TurnTail::default();
    for window in WINDOWS {
        let Ok((tail, length)) = read_tail(path, window) else { break };
        seen = read_turn_tail(&tail, turn);
        if seen.speech.is_some() || seen.reaches_start || length <= window {
            break;
        }
    }
    seen
}
