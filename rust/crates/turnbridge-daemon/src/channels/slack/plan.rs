//! Renders a notice as Slack messages: the parent with the user's prompt, the rest of a long
//! prompt, then the answers (SLV-27..36, SLV-72, SLV-76). It has no side effects.

use turnbridge_core::notices::notice::{Cause, Notice, NoticeKind};
use turnbridge_core::notices::progress::NoticeMessage;
use turnbridge_core::slack::slack_text::{MessagePart, split_answer, split_prompt};
use turnbridge_core::text::one_line::shown_prompt;
use turnbridge_core::text::texts::{
    Language, Text, answer_missing, log_location, problem, turn_failed, waiting_for_you,
};

/// The part of the config that the texts need.
#[derive(Debug, Clone)]
pub struct PostSettings {
    pub language: Language,
    /// The path of the log that a message about a problem names.
    pub log: String,
}

/// Returns the messages; the first is the parent. `prompt` and `answer` come from the transcript
/// and replace texts that the notice lacks.
pub fn plan(
    notice: &Notice,
    prompt: Option<String>,
    answer: Option<String>,
    settings: &PostSettings,
) -> Vec<NoticeMessage> {
    if notice.kind == NoticeKind::Problem {
        let cause = notice.subject.as_deref().and_then(Cause::parse);
        let text = cause.map(|cause| problem(settings.language, cause, &settings.log));
        let text = text.unwrap_or_else(|| log_location(settings.language, &settings.log));
        return vec![message(split_prompt(&text).0)];
    }
    if notice.kind == NoticeKind::Word {
        return notice.answers.iter().flat_map(|text| split_answer(text)).map(message).collect();
    }
    let language = settings.language;
    let prompt = notice.prompt.clone().or(prompt).filter(|text| !text.trim().is_empty());
    let prompt = prompt.unwrap_or_else(|| Text::PromptMissing.text(language).to_owned());
    let (parent, rest) = split_prompt(shown_prompt(&prompt));
    let mut parts = vec![parent];
    parts.extend(rest);
    for text in answers(notice, answer, language) {
        parts.extend(split_answer(&text));
    }
    parts.into_iter().map(message).collect()
}

fn answers(notice: &Notice, answer: Option<String>, language: Language) -> Vec<String> {
    let subject = notice.subject.as_deref();
    let mut texts = notice.answers.clone();
    match notice.kind {
        NoticeKind::Turn if texts.is_empty() => {
            let missing = || answer_missing(language, notice);
            texts.push(answer.filter(|text| !text.trim().is_empty()).unwrap_or_else(missing));
        }
        NoticeKind::Turn | NoticeKind::Problem | NoticeKind::Word => {}
        NoticeKind::Failed => texts.insert(0, turn_failed(language, subject)),
        NoticeKind::Waiting => texts.insert(0, waiting_for_you(language, subject.unwrap_or("-"))),
    }
    texts
}

fn message(part: MessagePart) -> NoticeMessage {
    NoticeMessage { text: part.text, markdown: Some(part.markdown) }
}
