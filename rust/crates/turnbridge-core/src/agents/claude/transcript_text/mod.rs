//! Reads a turn's prompt and answer from the end of a Claude transcript, for turns whose hooks did
//! not report them.
//!
//! Hooks are preferred, because the transcript may be read too early: Claude writes the answer up
//! to 100 ms after the Stop hook has begun. Only texts of the user or the agent count: no tool
//! results, no thinking, no insertions of Claude.

use std::collections::BTreeSet;
use std::ops::Deref;

use crate::scan::json_scan::{CaptureMode, Captures, PathStep, WantedField, wanted_fields};

use PathStep::{Each, Key};

const SHORT: CaptureMode = CaptureMode::Scalar(512);
const WHOLE: CaptureMode = CaptureMode::Scalar(usize::MAX);

wanted_fields! {
    Type: SHORT, [Key("type")];
    PromptId: SHORT, [Key("promptId")];
    IsMeta: SHORT, [Key("isMeta")];
    IsSidechain: SHORT, [Key("isSidechain")];
    IsCompactSummary: SHORT, [Key("isCompactSummary")];
    Model: SHORT, [Key("message"), Key("model")];
    Content: WHOLE, [Key("message"), Key("content")];
    BlockType: SHORT, [Key("message"), Key("content"), Each, Key("type")];
    BlockText: WHOLE, [Key("message"), Key("content"), Each, Key("text")];
}

/// Returns the prompt that began the turn, or the last prompt in the tail. `tail` may begin and end
/// in the middle of a line.
pub fn last_prompt(tail: &[u8], prompt_id: Option<&str>) -> Option<String> {
    let entries = entries(tail).into_iter().rev();
    let mut of_turn = entries.filter(|entry| entry.is_of(prompt_id) != Some(false));
    of_turn.find_map(|entry| match entry.kind {
        EntryKind::Prompt(prompt) | EntryKind::Command(prompt) => Some(prompt),
        _ => None,
    })
}

/// Returns the agent's last text in the turn, after the last tool that it used. Returns `None` if
/// it has written no text since, or none in this tail.
pub fn last_answer(tail: &[u8], prompt_id: Option<&str>) -> Option<String> {
    let mut texts: Vec<String> = Vec::new();
    let mut is_asked_again = false;
    let mut place = ReaderState::Unknown;
    for entry in entries(tail) {
        match (place, entry.is_of(prompt_id)) {
            (ReaderState::InTurn, Some(false)) => break,
            (ReaderState::InTurn, Some(true)) | (_, None) => {}
            // Text before this belongs to an earlier turn.
            (_, Some(true)) => (place, texts) = (ReaderState::InTurn, Vec::new()),
            (_, Some(false)) => place = ReaderState::Elsewhere,
        }
        match entry.kind {
            EntryKind::Prompt(_) | EntryKind::Command(_) | EntryKind::ToolResult => texts.clear(),
            // A hook has continued the agent. If no text follows, the text before is the answer.
            EntryKind::Feedback => is_asked_again = true,
            EntryKind::Answer(said) => {
                if std::mem::take(&mut is_asked_again) {
                    texts.clear();
                }
                texts.extend(said);
            }
            EntryKind::LocalOutput | EntryKind::Other => {}
        }
    }
    (place != ReaderState::Elsewhere && !texts.is_empty()).then(|| texts.join("\n\n"))
}

/// The reader's position. Only the user's records name their turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReaderState {
    /// The tail then ends in the turn that it begins in, which is the wanted one.
    Unknown,
    InTurn,
    Elsewhere,
}

enum EntryKind {
    Prompt(String),
    /// As typed.
    Command(String),
    ToolResult,
    Feedback,
    /// The output of a command that Claude ran without a turn.
    LocalOutput,
    Answer(Vec<String>),
    Other,
}

/// A record, with the fields used here.
struct TranscriptEntry {
    prompt_id: Option<String>,
    kind: EntryKind,
}

impl TranscriptEntry {
    /// Returns `None` if the record names no turn, or no turn is wanted.
    fn is_of(&self, prompt_id: Option<&str>) -> Option<bool> {
        Some(self.prompt_id.as_deref()? == prompt_id?)
    }
}

fn entries(tail: &[u8]) -> Vec<TranscriptEntry> {
    let mut entries: Vec<TranscriptEntry> = Vec::new();
    for line in tail.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let Some(record) = TranscriptRecord::read(line) else { continue };
        let (kind, prompt_id) = (record.kind(), record.text(Wanted::PromptId));
        if prompt_id.is_none() && matches!(kind, EntryKind::Other) {
            continue;
        }
        // `/model` and similar commands began no turn.
        if let (
            EntryKind::LocalOutput,
            Some(TranscriptEntry { kind: command @ EntryKind::Command(_), .. }),
        ) = (&kind, entries.last_mut())
        {
            *command = EntryKind::Other;
        }
        entries.push(TranscriptEntry { prompt_id: prompt_id.map(str::to_owned), kind });
    }
    entries
}

struct TranscriptRecord(Captures);

impl Deref for TranscriptRecord {
    type Target = Captures;

    fn deref(&self) -> &Captures {
        &self.0
    }
}

impl TranscriptRecord {
    fn read(line: &[u8]) -> Option<TranscriptRecord> {
        let record = Captures::read(FIELDS, line).map(TranscriptRecord);
        record.filter(|record| !record.is_on(Wanted::IsSidechain))
    }

    fn kind(&self) -> EntryKind {
        match self.text(Wanted::Type) {
            // Claude's own remarks, such as that of an error.
            Some("assistant") if self.text(Wanted::Model) == Some("<synthetic>") => {
                EntryKind::Other
            }
            Some("assistant") => {
                let texts = self.texts_of_blocks().filter(|text| !text.trim().is_empty());
                match texts.map(str::to_owned).collect::<Vec<_>>() {
                    texts if texts.is_empty() => EntryKind::Other,
                    texts => EntryKind::Answer(texts),
                }
            }
            Some("user") => self.kind_of_user_record(),
            _ => EntryKind::Other,
        }
    }

    fn kind_of_user_record(&self) -> EntryKind {
        if self.texts(Wanted::BlockType).any(|(_, kind)| kind == "tool_result") {
            return EntryKind::ToolResult;
        }
        if self.is_on(Wanted::IsMeta) {
            return EntryKind::Feedback;
        }
        if self.is_on(Wanted::IsCompactSummary) {
            return EntryKind::Other;
        }
        let Some(content) = self.text(Wanted::Content) else {
            let texts: Vec<_> = self.texts_of_blocks().filter(|text| is_typed(text)).collect();
            let is_empty = texts.is_empty();
            return if is_empty { EntryKind::Other } else { EntryKind::Prompt(texts.join("\n")) };
        };
        match typed_command(content) {
            Some(command) => EntryKind::Command(command),
            None if content.trim_start().starts_with("<local-command-") => EntryKind::LocalOutput,
            None if is_typed(content) => EntryKind::Prompt(content.to_owned()),
            None => EntryKind::Other,
        }
    }

    fn texts_of_blocks(&self) -> impl Iterator<Item = &str> {
        let kinds = self.texts(Wanted::BlockType).filter(|(_, kind)| *kind == "text");
        let text_blocks: BTreeSet<u32> = kinds.map(|(element, _)| element).collect();
        let texts = self.texts(Wanted::BlockText);
        texts.filter(move |(element, _)| text_blocks.contains(element)).map(|(_, text)| text)
    }
}

/// The beginnings of texts that Claude writes as the user without the user having typed them.
const NOT_TYPED: [&str; 7] = [
    "[Request interrupted by user",
    "<local-command-",
    "<bash-stdout>",
    "<bash-stderr>",
    "<system-reminder>",
    "<ide_",
    "Caveat: The messages below were generated by the user while running local commands.",
];

fn is_typed(content: &str) -> bool {
    let begin = content.trim_start();
    !begin.is_empty() && !NOT_TYPED.iter().any(|text| begin.starts_with(text))
}

/// Returns a command as typed, from its record.
fn typed_command(content: &str) -> Option<String> {
    let begin = content.trim_start();
    if let Some(rest) = begin.strip_prefix("<bash-input>") {
        return rest.rsplit_once("</bash-input>").map(|(command, _)| format!("!{command}"));
    }
    let (_, rest) = begin.strip_prefix("<command-").and(begin.split_once("<command-name>"))?;
    let (name, rest) = rest.split_once("</command-name>")?;
    // The last mark, since the typed text may contain one, too.
    let arguments = rest.split_once("<command-args>").map(|(_, arguments)| arguments);
    let arguments = arguments.and_then(|arguments| arguments.rsplit_once("</command-args>"));
    Some(format!("{name} {}", arguments.unwrap_or_default().0).trim().to_owned())
}

#[cfg(test)]
mod tests;
