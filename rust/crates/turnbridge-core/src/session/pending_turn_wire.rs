//! Reads and writes the file of a pending turn in `pending/`.

use serde::{Deserialize, Serialize};

use crate::session::event::ProcessKey;
use crate::session::pending_turn::PendingTurn;
use crate::session::turn_wire::TurnLine;
use crate::version_wire::VERSION;

#[derive(Debug, Serialize, Deserialize)]
struct PendingFile {
    version: u32,
    writer: PendingProcessFile,
    agent: PendingProcessFile,
    payload: u64,
    origin: String,
    event: String,
    #[serde(default)]
    stop_hook_active: bool,
    tell: bool,
    #[serde(default)]
    transcript_path: Option<String>,
    record: TurnLine,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct PendingProcessFile {
    pid: u32,
    start: u64,
}

impl From<ProcessKey> for PendingProcessFile {
    fn from(ProcessKey { pid, start }: ProcessKey) -> PendingProcessFile {
        PendingProcessFile { pid, start }
    }
}

impl PendingProcessFile {
    const fn key(self) -> ProcessKey {
        ProcessKey { pid: self.pid, start: self.start }
    }
}

/// Returns whether the bytes are a whole pending turn, of any session or version.
pub fn is_whole_pending(bytes: &[u8]) -> bool {
    serde_json::from_slice::<PendingFile>(bytes).is_ok()
}

/// Reads a pending turn. Returns `None` if it is not whole, if its session is unusable, or if a
/// newer version wrote it.
pub fn read_pending(bytes: &[u8]) -> Option<PendingTurn> {
    let file: PendingFile = serde_json::from_slice(bytes).ok()?;
    let session = file.record.session().filter(|_| file.version <= VERSION)?;
    Some(PendingTurn {
        writer: file.writer.key(),
        agent: file.agent.key(),
        payload: file.payload,
        origin: file.origin,
        event: file.event,
        stop_hook_active: file.stop_hook_active,
        tell: file.tell,
        transcript_path: file.transcript_path,
        record: file.record.into_record(session),
    })
}

pub fn write_pending(turn: &PendingTurn) -> Vec<u8> {
    let file = PendingFile {
        version: VERSION,
        writer: turn.writer.into(),
        agent: turn.agent.into(),
        payload: turn.payload,
        origin: turn.origin.clone(),
        event: turn.event.clone(),
        stop_hook_active: turn.stop_hook_active,
        tell: turn.tell,
        transcript_path: turn.transcript_path.clone(),
        record: TurnLine::of(&turn.record),
    };
    // A struct of strings and numbers always serialises.
    serde_json::to_vec(&file).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The format of the first version that had pending turns.
    const FILE: &str = r#"{"version":1,"writer":{"pid":8,"start":2},"agent":{"pid":7,"start":1},"payload":18446744073709551615,"origin":"plugin","event":"Stop","stop_hook_active":false,"tell":true,"transcript_path":null,"record":{"version":1,"tool":"claude","session_id":"s","turn_id":"p","notice_id":"claude-63","prompt":"go","answer":"done","detail":"ok","error":null,"started_at":null,"ended_at":"1970-01-01T00:00:00.002000Z","cwd":null,"permission_mode":null,"background_tasks":[]}}"#;

    fn read(file: &str) -> Option<PendingTurn> {
        read_pending(file.as_bytes())
    }

    #[test]
    fn a_pending_turn_is_read_and_written_to_the_letter() {
        let turn = read(FILE).unwrap();
        assert_eq!(String::from_utf8(write_pending(&turn)).unwrap(), FILE);
        let key = |pid, start| ProcessKey { pid, start };
        assert_eq!((turn.writer, turn.agent), (key(8, 2), key(7, 1)));
        let told = PendingTurn {
            tell: false,
            stop_hook_active: true,
            transcript_path: Some("/t".into()),
            ..turn
        };
        assert_eq!(read_pending(&write_pending(&told)), Some(told));
    }

    #[test]
    fn half_a_file_and_a_newer_versions_are_left_alone() {
        assert_eq!(read(&FILE[..FILE.len() - 1]), None);
        assert_eq!(read(&FILE.replacen("\"version\":1", "\"version\":2", 1)), None);
    }

    /// This version cannot complete it; a later one may.
    #[test]
    fn a_turn_of_no_session_that_can_be_used_is_whole_and_left_alone() {
        for file in [FILE.replace("\"claude\"", "\"gemini\""), FILE.replace("\"s\"", "\"../x\"")] {
            assert_eq!(read(&file), None);
            assert!(is_whole_pending(file.as_bytes()));
        }
        assert!(!is_whole_pending(&FILE.as_bytes()[..FILE.len() - 1]));
    }

    #[test]
    fn an_end_whose_time_is_none_is_still_an_end() {
        let turn = read(&FILE.replace("1970-01-01T00:00:00.002000Z", "now")).unwrap();
        assert_eq!(turn.record.ended_at, None);
        assert_eq!(turn.record.answer.as_deref(), Some("done"));
    }
}
