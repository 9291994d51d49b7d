//! Reads and writes the record of a finished turn: one JSON line in `turns/<tool>-<id>.jsonl`.

use serde::{Deserialize, Serialize};

use crate::ids::SessionKey;
use crate::session::turn_record::{RecordedDetail, TurnRecord};
use crate::timestamp::{Timestamp, time_text};
use crate::version_wire::VERSION;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TurnLine {
    version: u32,
    #[serde(rename = "tool")]
    agent: String,
    session_id: String,
    turn_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    notice_id: Option<String>,
    prompt: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    additions: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    earlier_answers: Vec<String>,
    answer: Option<String>,
    detail: String,
    error: Option<String>,
    started_at: Option<String>,
    ended_at: String,
    cwd: Option<String>,
    permission_mode: Option<String>,
    background_tasks: Vec<String>,
}

/// Reads a line of `session`'s file. Returns `None` if it is no record, or not for this version.
///
/// A record whose session is unusable counts as a turn of `session`, whose file contains it.
pub fn read_turn(line: &[u8], session: &SessionKey) -> Option<TurnRecord> {
    let line: TurnLine = serde_json::from_slice(line).ok()?;
    let own = line.session().unwrap_or_else(|| session.clone());
    (line.version <= VERSION).then(|| line.into_record(own))
}

/// Writes the line without its line break.
pub fn write_turn(turn: &TurnRecord) -> Vec<u8> {
    // A struct of strings always serialises.
    serde_json::to_vec(&TurnLine::of(turn)).unwrap_or_default()
}

/// Returns the record as JSON for other programs, the same as in the file.
pub fn turn_json(turn: &TurnRecord) -> impl Serialize + use<> {
    TurnLine::of(turn)
}

impl TurnLine {
    pub(super) fn of(turn: &TurnRecord) -> TurnLine {
        let TurnRecord { turn_id, notice_id, prompt, additions, earlier_answers, .. } =
            turn.clone();
        TurnLine {
            version: VERSION,
            agent: turn.session.agent.as_str().to_owned(),
            session_id: turn.session.id.as_str().to_owned(),
            turn_id,
            notice_id,
            prompt,
            additions,
            earlier_answers,
            answer: turn.answer.clone(),
            detail: turn.detail.as_str().to_owned(),
            error: turn.error().map(str::to_owned),
            started_at: turn.started_at.map(|at| at.to_string()),
            ended_at: time_text(turn.ended_at),
            cwd: turn.cwd.clone(),
            permission_mode: turn.permission_mode.clone(),
            background_tasks: turn.background_tasks.clone(),
        }
    }

    pub(super) fn session(&self) -> Option<SessionKey> {
        SessionKey::of(&self.agent, &self.session_id)
    }

    pub(super) fn into_record(self, session: SessionKey) -> TurnRecord {
        TurnRecord {
            session,
            turn_id: self.turn_id,
            notice_id: self.notice_id,
            prompt: self.prompt,
            additions: self.additions,
            earlier_answers: self.earlier_answers,
            answer: self.answer,
            detail: RecordedDetail::of(self.detail, self.error),
            started_at: self.started_at.as_deref().and_then(Timestamp::parse),
            ended_at: Timestamp::parse(&self.ended_at),
            cwd: self.cwd,
            permission_mode: self.permission_mode,
            background_tasks: self.background_tasks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Detail;

    const OF_0_1_0: &str = include_str!(
        "../../../turnbridge/testdata/state-0.1.0/turns/claude-825c8529-ee09-4cb8-8902-dd785b12ca0a.jsonl"
    );
    const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

    fn key() -> SessionKey {
        SessionKey::of("claude", "825c8529-ee09-4cb8-8902-dd785b12ca0a").unwrap()
    }

    fn read(line: &str) -> TurnRecord {
        read_turn(line.as_bytes(), &key()).unwrap()
    }

    fn written(turn: &TurnRecord) -> String {
        String::from_utf8(write_turn(turn)).unwrap()
    }

    #[test]
    fn a_record_of_0_1_0_is_read_and_written_to_the_letter() {
        let line = OF_0_1_0.trim_end();
        assert_eq!(written(&read(line)), line);
        assert_eq!(serde_json::to_string(&turn_json(&read(line))).unwrap(), line);
    }

    #[test]
    fn a_record_reads_back_as_the_same_record() {
        let failed = Detail::Failed { error: "rate_limit".into() };
        for detail in [Detail::Ok, Detail::Interrupted, failed] {
            let bare = TurnRecord::new(key(), detail, NOW);
            let full = TurnRecord {
                turn_id: Some("p".into()),
                notice_id: Some("claude-1".into()),
                prompt: Some("go".into()),
                additions: vec!["and".into()],
                earlier_answers: vec!["first".into()],
                answer: Some("done".into()),
                started_at: Some(NOW),
                cwd: Some("/w".into()),
                permission_mode: Some("plan".into()),
                background_tasks: vec!["sleep".into()],
                ..bare.clone()
            };
            for record in [bare, full] {
                assert_eq!(read(&written(&record)), record);
            }
        }
    }

    #[test]
    fn a_record_that_names_no_session_is_a_turn_of_the_one_whose_file_it_is_in() {
        let other_agent = OF_0_1_0.replace("\"claude\"", "\"gemini\"");
        let unsafe_id = OF_0_1_0.replace(key().id.as_str(), "../x");
        for line in [other_agent, unsafe_id] {
            assert_eq!(read(&line), read(OF_0_1_0));
        }
        let codex = SessionKey::of("codex", "s").unwrap();
        assert_eq!(read_turn(OF_0_1_0.as_bytes(), &codex).unwrap().session, key());
    }

    #[test]
    fn a_time_that_is_not_understood_loses_no_record() {
        let line = OF_0_1_0
            .replace("2026-11-17T20:51:53.553210Z", "then")
            .replace("2026-11-17T20:51:53.560574Z", "now");
        let record = read(&line);
        assert_eq!(record, TurnRecord { started_at: None, ended_at: None, ..read(OF_0_1_0) });
        assert_eq!(read(&written(&record)), record);
    }

    #[test]
    fn a_detail_that_this_version_does_not_know_is_kept_with_its_error() {
        let line = OF_0_1_0.trim_end().replace("\"ok\"", "\"melted\"");
        let failed = line.replace("\"error\":null", "\"error\":\"too hot\"");
        for (line, error) in [(&line, None), (&failed, Some("too hot"))] {
            let record = read(line);
            assert_eq!((record.detail.as_str(), record.error()), ("melted", error));
            assert_eq!(written(&record), *line);
        }
    }

    #[test]
    fn half_a_line_and_a_newer_versions_are_none() {
        let line = OF_0_1_0.trim_end();
        let newer = line.replace("\"version\":1", "\"version\":2");
        for line in ["", "{}", &line[..line.len() - 1], &newer] {
            assert_eq!(read_turn(line.as_bytes(), &key()), None, "{line}");
        }
    }
}
