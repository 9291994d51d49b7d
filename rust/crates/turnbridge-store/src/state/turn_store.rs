//! Stores the records of finished turns, and the texts of a running turn that the session file does
//! not contain: a long prompt, and the answer of a Stop that the gate blocked. Writers hold the
//! session's lock.

use std::fs;
use std::io;
use std::path::Path;

use turnbridge_core::ids::SessionKey;
use turnbridge_core::session::event::{Event, EventKind, ProcessKey};
use turnbridge_core::session::pending_turn::PendingTurn;
use turnbridge_core::session::turn_record::{FullTexts, TurnRecord, abandoned_turn, finished_turn};
use turnbridge_core::session::turn_wire::{read_turn, write_turn};
use turnbridge_core::session::{Prompt, Session};

use crate::files::append::append_line;
use crate::files::atomic_file::write_atomically;
use crate::paths::StatePaths;

/// The size beyond which a session's turns are cut to the newest half.
const MAX_TURNS: u64 = 8 << 20;

/// Stores the parts of a running turn that do not fit into the session file: the whole prompt, and
/// the answer of a Stop that the gate blocked.
pub fn keep(paths: &StatePaths, session: &Session, event: &Event) -> io::Result<()> {
    if event.agent_id.is_some() {
        return Ok(());
    }
    match &event.kind {
        EventKind::PromptSubmitted { prompt } if is_kept_apart(session, event, prompt) => {
            let path = paths.prompt_file(&session.key, event.process.pid);
            write_atomically(&path, prompt.as_bytes())?;
        }
        EventKind::StopBlocked { answer: Some(answer) } => {
            let path = paths.answer_file(&session.key, event.process.pid);
            write_atomically(&path, answer.as_bytes())?;
        }
        _ => {}
    }
    Ok(())
}

/// Returns whether the prompt is the turn's, and too long for the session file. Of a prompt that is
/// typed while a turn runs, only the beginning is stored.
fn is_kept_apart(session: &Session, event: &Event, prompt: &str) -> bool {
    let head = Prompt::head_of(prompt);
    let own = session.run(event.process).and_then(|run| run.turn.prompt.as_ref());
    !head.whole && own == Some(&head)
}

/// Returns the turn that `event` has ended, if it has. `session` is the state after the event.
pub fn finished(
    paths: &StatePaths,
    session: &Session,
    event: &Event,
    notice_id: Option<String>,
) -> Option<TurnRecord> {
    let record = finished_turn(session, event, kept(paths, session, event.process))?;
    Some(TurnRecord { notice_id, ..record })
}

/// Stores the answer of a turn that `event` leaves without an end. Called before `event` is
/// applied.
pub fn record_abandoned(paths: &StatePaths, session: &Session, event: &Event) -> io::Result<()> {
    let is_open = session.run(event.process).is_some_and(|run| run.turn.is_reminded);
    if !is_open {
        return Ok(());
    }
    match abandoned_turn(session, event, kept(paths, session, event.process)) {
        Some(record) => append(paths, session, event.process, &record),
        None => Ok(()),
    }
}

/// Appends a finished turn to the session's record. `process` is the agent's.
pub fn append(
    paths: &StatePaths,
    session: &Session,
    process: ProcessKey,
    record: &TurnRecord,
) -> io::Result<()> {
    let mut line = write_turn(record);
    line.push(b'\n');
    let path = paths.turns_file(&session.key);
    if append_line(&path, &line)? > MAX_TURNS {
        drop_older_half(&path)?;
    }
    if !record.earlier_answers.is_empty() {
        forget_answer(paths, session, process)?;
    }
    Ok(())
}

/// Appends a turn that its hook has left, unless its record exists.
pub fn append_once(paths: &StatePaths, session: &Session, turn: &PendingTurn) -> io::Result<()> {
    let turns = read_turns(paths, &session.key);
    if turns.iter().any(|record| turn.is_recorded_by(record)) {
        return Ok(());
    }
    append(paths, session, turn.agent, &turn.record)
}

/// Removes the answer of a Stop that the gate blocked, if there is one, because its turn is over.
pub fn forget_answer(paths: &StatePaths, session: &Session, process: ProcessKey) -> io::Result<()> {
    match fs::remove_file(paths.answer_file(&session.key, process.pid)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns the parts of the turn of `process` that do not fit into the session file.
pub fn kept(paths: &StatePaths, session: &Session, process: ProcessKey) -> FullTexts {
    let is_reminded = session.run(process).is_some_and(|run| run.turn.is_reminded);
    let answer = || {
        let bytes = fs::read(paths.answer_file(&session.key, process.pid)).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    FullTexts {
        prompt: whole_prompt(paths, session, process),
        earlier_answer: is_reminded.then(answer).flatten(),
    }
}

/// Returns the prompt of the turn that `process` is in.
pub fn whole_prompt(paths: &StatePaths, session: &Session, process: ProcessKey) -> Option<String> {
    let prompt = session.run(process)?.turn.prompt.clone()?;
    if prompt.whole {
        return Some(prompt.text);
    }
    let path = paths.prompt_file(&session.key, process.pid);
    Some(fs::read_to_string(path).unwrap_or(prompt.text))
}

/// Returns the turns of a session, oldest first. Skips lines that cannot be read.
pub fn read_turns(paths: &StatePaths, key: &SessionKey) -> Vec<TurnRecord> {
    let bytes = fs::read(paths.turns_file(key)).unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n');
    lines.filter_map(|line| read_turn(line, key)).collect()
}

fn drop_older_half(path: &Path) -> io::Result<()> {
    let bytes = fs::read(path)?;
    let middle = bytes.len() / 2;
    let is_line_end = |byte: &u8| *byte == b'\n';
    let newest = bytes[..bytes.len().saturating_sub(1)].iter().rposition(is_line_end);
    let half = bytes[middle..].iter().position(is_line_end).map(|at| middle + at);
    // At least the newest turn stays, however long it is.
    let cut = newest.min(half.or(newest)).map_or(0, |at| at + 1);
    write_atomically(path, &bytes[cut..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_turns_survive_when_the_file_is_cut_down() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        let check = |before: &str, after: &str| {
            fs::write(&path, before).unwrap();
            drop_older_half(&path).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), after);
        };
        check("1\n2\n3\n4\n", "4\n");
        check("1\n2\n3\n4\n5\n6\n", "5\n6\n");
        check("1\n2\na very long last line\n", "a very long last line\n");
        check("only\n", "only\n");
    }
}
