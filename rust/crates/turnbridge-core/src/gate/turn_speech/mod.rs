//! Finds the speak calls of the current turn in a Claude transcript, reading it from the end
//! backwards.
//!
//! It serves turns whose beginning no hook saw; for others the session file contains the speech.
//! Sub-agents write their own transcripts, so their speech is not found here.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use crate::gate::speak::{SpeakOutcome, is_speak_prompt, is_speak_tool};
use crate::scan::json_scan::{
    Capture, CaptureMode, Captures, FoundValue, PathStep, WantedField, wanted_fields,
};

use PathStep::{Each, Key};

const SHORT: CaptureMode = CaptureMode::Scalar(512);
/// More of an answer than its recognition needs.
const LONG: CaptureMode = CaptureMode::Scalar(4 << 10);

wanted_fields! {
    Type: SHORT, [Key("type")];
    PromptId: SHORT, [Key("promptId")];
    IsMeta: SHORT, [Key("isMeta")];
    IsSidechain: SHORT, [Key("isSidechain")];
    IsCompactSummary: SHORT, [Key("isCompactSummary")];
    Content: SHORT, [Key("message"), Key("content")];
    BlockId: SHORT, [Key("message"), Key("content"), Each, Key("id")];
    BlockTool: SHORT, [Key("message"), Key("content"), Each, Key("name")];
    BlockSkill: SHORT, [Key("message"), Key("content"), Each, Key("input"), Key("skill")];
    BlockText: LONG, [Key("message"), Key("content"), Each, Key("text")];
    ResultOf: SHORT, [Key("message"), Key("content"), Each, Key("tool_use_id")];
    ResultIsError: SHORT, [Key("message"), Key("content"), Each, Key("is_error")];
    ResultText: SHORT, [Key("message"), Key("content"), Each, Key("content")];
    ResultPartText: SHORT, [Key("message"), Key("content"), Each, Key("content"), Each, Key("text")];
}

/// The facts about the current turn at the end of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TurnTail {
    pub speech: Option<SpeakOutcome>,
    /// The tail contains the turn's first record: no need to read further back.
    pub reaches_start: bool,
    /// The tail contains the turn's last answer: Claude has written the whole turn.
    pub has_answer: bool,
}

/// The identity of the turn that is about to end.
#[derive(Debug, Clone, Copy)]
pub struct TurnKey<'a> {
    pub prompt_id: Option<&'a str>,
    /// `last_assistant_message`.
    pub answer: Option<&'a str>,
}

/// Returns the facts about `turn` in the end of a transcript. `tail` may begin and end in the
/// middle of a line.
pub fn read_turn_tail(tail: &[u8], turn: TurnKey<'_>) -> TurnTail {
    let mut seen = TurnTail::default();
    // In backward order, a call's result comes before the call.
    let mut results = Results::new();
    let mut is_last_text = true;
    for line in tail.split(|byte| *byte == b'\n').rev() {
        let Some(record) = SpeechRecord::read(line) else { continue };
        match record.text(Wanted::Type) {
            Some("assistant") => {
                let text = record.last_text();
                seen.has_answer |= is_last_text && text.is_some_and(|text| turn.is_answer(text));
                is_last_text &= text.is_none();
                note_speech(&mut seen.speech, record.spoken(&results));
            }
            Some("user") => {
                if record.is_of_other_turn(turn) {
                    seen.reaches_start = true;
                    break;
                }
                record.note_results(&mut results);
                if record.is_prompt() {
                    let typed = record.is_speak_command().then_some(SpeakOutcome::Spoken);
                    note_speech(&mut seen.speech, typed);
                    seen.reaches_start = true;
                    break;
                }
            }
            _ => {}
        }
    }
    seen
}

impl TurnKey<'_> {
    /// Compares without surrounding white space, which Claude removes from the answer.
    fn is_answer(&self, (text, is_whole): (&str, bool)) -> bool {
        let answer = self.answer.unwrap_or_default().trim();
        let text = text.trim();
        !text.is_empty() && if is_whole { answer == text } else { answer.starts_with(text) }
    }
}

/// Adds an outcome. A completed speech outweighs an attempt.
fn note_speech(speech: &mut Option<SpeakOutcome>, found: Option<SpeakOutcome>) {
    if *speech != Some(SpeakOutcome::Spoken) {
        *speech = found.or(*speech);
    }
}

/// The outcomes by the id of the call; the first entry counts.
type Results = BTreeMap<String, Option<SpeakOutcome>>;

struct SpeechRecord(Captures);

impl Deref for SpeechRecord {
    type Target = Captures;

    fn deref(&self) -> &Captures {
        &self.0
    }
}

impl SpeechRecord {
    fn read(line: &[u8]) -> Option<SpeechRecord> {
        let record = Captures::read(FIELDS, line).map(SpeechRecord);
        record.filter(|record| !record.is_on(Wanted::IsSidechain))
    }

    /// Returns the last text, and whether it is complete.
    fn last_text(&self) -> Option<(&str, bool)> {
        self.found(Wanted::BlockText).last().and_then(|capture| match &capture.found {
            FoundValue::Text { text, whole } => Some((text.as_str(), *whole)),
            _ => None,
        })
    }

    fn is_of_other_turn(&self, turn: TurnKey<'_>) -> bool {
        match (self.text(Wanted::PromptId), turn.prompt_id) {
            (Some(own), Some(wanted)) => own != wanted,
            _ => false,
        }
    }

    /// Returns whether the record is a user's text, or a command that began the turn; not an
    /// insertion of Claude: tool results, bodies of skills, feedback of hooks, summaries of a
    /// compaction.
    fn is_prompt(&self) -> bool {
        !self.is_on(Wanted::IsMeta)
            && !self.is_on(Wanted::IsCompactSummary)
            && self.found(Wanted::ResultOf).next().is_none()
    }

    fn is_speak_command(&self) -> bool {
        let content = self.text(Wanted::Content).unwrap_or_default();
        let name = content.split_once("<command-name>").map(|(_, rest)| rest);
        name.and_then(|rest| rest.split("</command-name>").next()).is_some_and(is_speak_prompt)
    }

    /// Returns the outcome of this record's speak calls, as far as their results are known.
    fn spoken(&self, results: &Results) -> Option<SpeakOutcome> {
        let mut speech = None;
        let skills = self.texts_by_element(Wanted::BlockSkill);
        let ids = self.texts_by_element(Wanted::BlockId);
        for (element, tool) in self.texts(Wanted::BlockTool) {
            if !is_speak_tool(tool, skills.get(&element).copied()) {
                continue;
            }
            let result = ids.get(&element).and_then(|id| results.get(*id));
            note_speech(&mut speech, result.copied().flatten());
        }
        speech
    }

    /// Stores the outcomes of the calls that end in this record, as if each were speech.
    fn note_results(&self, results: &mut Results) {
        let is_true = |capture: &&Capture| capture.found == FoundValue::Bool(true);
        let errors = self.found(Wanted::ResultIsError).filter(is_true);
        let errors: BTreeSet<u32> = errors.map(|capture| capture.element).collect();
        let texts = self.texts_by_element(Wanted::ResultText);
        let text_of_parts = self.text(Wanted::ResultPartText);
        for (element, id) in self.texts(Wanted::ResultOf) {
            let outcome = || match errors.contains(&element) {
                false => Some(SpeakOutcome::Spoken),
                true => {
                    let text = texts.get(&element).copied().or(text_of_parts);
                    SpeakOutcome::of_error(text.unwrap_or_default())
                }
            };
            results.entry(id.to_owned()).or_insert_with(outcome);
        }
    }
}

#[cfg(test)]
mod tests;
