//! Lists the texts that Turnbridge posts in a thread about turns and problems, and the reasons of
//! failed runs, in both languages. The sentences about replies are in `replies::thread_message`.
//!
//! The Japanese ones are fixed to the letter where a requirement contains them (SLV-12, 30, 59, 72,
//! 84–86). The Stop gate's text for the agent is not here: it is never translated.

use crate::ids::Agent;
use crate::notices::notice::{Cause, Notice};
use crate::replies::run_result::Reason;
use crate::replies::thread_message::ThreadMessage;
use crate::session::folder_name;
use crate::text::catalogue::catalogue;
pub use crate::text::spoken_text::Language;
use crate::timestamp::time_text;

impl Language {
    /// Returns the language of a value of `LANG` or a similar variable (`ja_JP.UTF-8`), or of a
    /// Windows name (`ja-JP`).
    pub fn from_locale(locale: &str) -> Language {
        let language = locale.split(['_', '-', '.', '@']).next().unwrap_or_default();
        if ["ja", "jpn", "japanese"].iter().any(|name| language.eq_ignore_ascii_case(name)) {
            Language::Japanese
        } else {
            Language::English
        }
    }
}

catalogue! {
    /// A text in a thread.
    Text
    /// The parent of a thread whose prompt is not known (SLV-30).
    PromptMissing:
        "（ユーザーメッセージ抽出失敗）",
        "(The user's message could not be read)";
    /// The thread of a turn whose answer is not known (SLV-72); see `answer_missing`.
    AnswerMissing:
        "本文抽出エラー",
        "The answer could not be read";
    Agent:
        "エージェント",
        "Agent";
    Project:
        "プロジェクト",
        "Project";
    SessionId:
        "セッション ID",
        "Session id";
    EndedAt:
        "終了時刻",
        "Ended at";
    /// The prompt with which the set-up tests the whole path (SLV-12, SLV-87).
    TestPrompt:
        "「【Turnbridge 本番同等テスト】このメッセージはテスト実行です。」と言ってください",
        "Please say: \"[Turnbridge end-to-end test] This message is a test run.\"";
    /// The beginning of a message about an error (SLV-59); see `log_location`.
    LogLocation:
        "ログの場所:",
        "Log file:";
    /// Why a run failed; see `failure_reason`.
    ProgramMissing:
        "プログラムが見つかりません",
        "the program was not found";
    ProgramNotStarted:
        "プログラムを起動できませんでした",
        "the program could not be started";
    FolderMissing:
        "セッションのフォルダーがありません",
        "the session's folder is gone";
    SessionInvalid:
        "セッション ID が不正です",
        "the session's id is not valid";
    SessionUnknown:
        "セッションが見つかりません",
        "the agent does not know this session any more";
    ReplyTooLong:
        "返信が長すぎます",
        "the reply is too long to be handed over";
    ExitCode:
        "終了コード",
        "exit code";
    KilledBySignal:
        "シグナルで終了しました",
        "ended by signal";
    TurnFailed:
        "エラーで終了しました",
        "Ended with an error";
    /// Below the place of the log (X28).
    ReportUnreadable:
        "Codex からの通知を読み取れませんでした。`config.toml` の `notify` を確認してください。",
        "A report of Codex could not be read. Please check `notify` in its `config.toml`.";
    RolloutUnreadable:
        "Codex の rollout ファイルを読み取れませんでした。ファイルの権限を確認してください。",
        "A rollout file of Codex could not be read. Please check its permissions.";
    ChainFailed:
        "以前から設定されている Codex の `notify` プログラムを起動できませんでした。",
        "The `notify` program that you had for Codex before could not be started.";
    TurnInterrupted:
        "中断されました",
        "Interrupted";
    WaitingForYou:
        "確認待ち",
        "Waiting for you";
}

/// Returns the text of SLV-72 with the turn's facts (X49): no other source leads to its answer.
pub fn answer_missing(language: Language, notice: &Notice) -> String {
    let project = notice.cwd.as_deref().and_then(folder_name);
    let ended_at = time_text(notice.created_at);
    let facts = [
        (Text::Agent, Some(notice.session.agent_text())),
        (Text::Project, project),
        (Text::SessionId, Some(notice.session.id_text())),
        (Text::EndedAt, Some(ended_at.as_str())),
    ];
    let known = facts.into_iter().filter(|(_, value)| value.is_some_and(|value| !value.is_empty()));
    let lines = known.map(|(text, value)| with_code(language, text, value));
    let missing = Text::AnswerMissing.text(language).to_owned();
    std::iter::once(missing).chain(lines).collect::<Vec<_>>().join("\n")
}

/// Returns the text of SLV-59 with the path of the log.
pub fn log_location(language: Language, path: &str) -> String {
    format!("{} {path}", Text::LogLocation.text(language))
}

/// Returns the text about a problem: that of SLV-59 with the path of the log, and a line with the
/// cause (X28).
pub fn problem(language: Language, cause: Cause, log: &str) -> String {
    let text = match cause {
        Cause::ReportUnreadable => Text::ReportUnreadable,
        Cause::RolloutUnreadable => Text::RolloutUnreadable,
        Cause::ChainFailed => Text::ChainFailed,
    };
    format!("{}\n{}", log_location(language, log), text.text(language))
}

/// Returns a sentence, and a line with the reason, if known (SLV-86).
pub fn with_reason(language: Language, sentence: &str, reason: Option<&str>) -> String {
    match (language, reason) {
        (_, None) => sentence.to_owned(),
        (Language::Japanese, Some(reason)) => format!("{sentence}\n（理由：{reason}）"),
        (Language::English, Some(reason)) => format!("{sentence}\n(Reason: {reason})"),
    }
}

/// Returns the reason of a failed or interrupted run; `code` is the exit code or the signal.
pub fn failure_reason(
    language: Language,
    agent: Option<Agent>,
    reason: Reason,
    code: Option<i64>,
) -> String {
    let value = match reason {
        Reason::ProgramMissing | Reason::NotStarted => agent.map(|agent| agent.to_string()),
        Reason::ExitCode | Reason::Signal => code.map(|code| code.to_string()),
        _ => None,
    };
    let text = match reason {
        Reason::ProgramMissing => Text::ProgramMissing,
        Reason::NotStarted => Text::ProgramNotStarted,
        Reason::FolderMissing => Text::FolderMissing,
        Reason::SessionInvalid => Text::SessionInvalid,
        Reason::SessionUnknown => Text::SessionUnknown,
        Reason::TooLong => Text::ReplyTooLong,
        Reason::CommandRefused => return refused(language),
        Reason::ExitCode => Text::ExitCode,
        Reason::Signal => Text::KilledBySignal,
        Reason::TurnFailed => Text::TurnFailed,
    };
    with_code(language, text, value.as_deref())
}

fn refused(language: Language) -> String {
    ThreadMessage::Refused.sentence(language).unwrap_or_default().to_owned()
}

/// Returns the text of a failed turn. `kind` is Claude's word for the error, such as `rate_limit`.
pub fn turn_failed(language: Language, kind: Option<&str>) -> String {
    with_code(language, Text::TurnFailed, kind)
}

/// Returns the text of a notice that an agent waits for the user.
pub fn waiting_for_you(language: Language, agent: &str) -> String {
    with_code(language, Text::WaitingForYou, Some(agent))
}

fn with_code(language: Language, text: Text, code: Option<&str>) -> String {
    let text = text.text(language);
    match (code, language) {
        (Some(code), Language::Japanese) => format!("{text}：`{code}`"),
        (Some(code), Language::English) => format!("{text}: `{code}`"),
        (None, _) => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::SessionKey;
    use crate::text::catalogue::tests::check;
    use crate::timestamp::Timestamp;

    /// The texts in the requirements, before the product's name.
    const REQUIRED: &str = include_str!("../../testdata/fixed_texts_ja.txt");

    /// Returns the text with this number at the head of its paragraph.
    fn required(number: &str) -> String {
        let mut texts = REQUIRED.split("\n\n");
        let text = texts.find_map(|text| text.strip_prefix(number)?.strip_prefix('\n'));
        text.unwrap_or_default().trim_end().replace("SlackLocalVibe", "Turnbridge")
    }

    /// SLV-87, X20.
    #[test]
    fn slv_12_30_59_72_84_85_86_the_japanese_texts_are_the_required_ones_to_the_letter() {
        for (number, text) in [
            ("SLV-12", Text::TestPrompt),
            ("SLV-30", Text::PromptMissing),
            ("SLV-59", Text::LogLocation),
            ("SLV-72", Text::AnswerMissing),
        ] {
            assert!(!required(number).is_empty(), "{number}");
            assert_eq!(text.text(Language::Japanese), required(number), "{number}");
        }
        for (number, message) in [
            ("SLV-84", ThreadMessage::Receipt),
            ("SLV-85", ThreadMessage::NoRoute),
            ("SLV-86", ThreadMessage::Failed),
        ] {
            assert_eq!(message.sentence(Language::Japanese), Some(&*required(number)), "{number}");
        }
    }

    #[test]
    fn every_text_is_in_both_languages() {
        for text in Text::ALL {
            check(text.text(Language::Japanese), text.text(Language::English));
        }
    }

    #[test]
    fn slv_59_86_values_are_put_into_the_texts() {
        let failed = |language| ThreadMessage::Failed.sentence(language).unwrap();
        let shown = [Language::Japanese, Language::English].map(|language| {
            [
                log_location(language, "/logs/notify.log"),
                with_reason(language, failed(language), Some("exit code 1")),
                turn_failed(language, Some("rate_limit")),
                turn_failed(language, None),
                waiting_for_you(language, "Bash"),
            ]
            .join("\n")
        });
        insta::assert_snapshot!(shown.join("\n"), @"
        ログの場所: /logs/notify.log
        `resume` の実行に失敗しました。
        詳細はCLIログをご確認ください。
        （理由：exit code 1）
        エラーで終了しました：`rate_limit`
        エラーで終了しました
        確認待ち：`Bash`
        Log file: /logs/notify.log
        The `resume` failed.
        Please see the CLI's log for details.
        (Reason: exit code 1)
        Ended with an error: `rate_limit`
        Ended with an error
        Waiting for you: `Bash`
        ");
    }

    #[test]
    fn x49_slv_72_an_answer_that_is_missing_comes_with_what_is_known_of_its_turn() {
        let key = SessionKey::of("claude", "825c8529-ee09-4cb8-8902-dd785b12ca0a").unwrap();
        let ended_at = Timestamp::parse("2026-01-01T12:00:00Z").unwrap();
        let notice = Notice::turn("a".into(), key, ended_at);
        let notice = Notice { cwd: Some("/home/me/shop/".into()), ..notice };
        insta::assert_snapshot!(answer_missing(Language::Japanese, &notice), @"
        本文抽出エラー
        エージェント：`claude`
        プロジェクト：`shop`
        セッション ID：`825c8529-ee09-4cb8-8902-dd785b12ca0a`
        終了時刻：`2026-01-01T12:00:00.000000Z`
        ");
        let notice = Notice { cwd: None, ..notice };
        insta::assert_snapshot!(answer_missing(Language::English, &notice), @"
        The answer could not be read
        Agent: `claude`
        Session id: `825c8529-ee09-4cb8-8902-dd785b12ca0a`
        Ended at: `2026-01-01T12:00:00.000000Z`
        ");
    }

    #[test]
    fn slv_80_every_reason_of_a_failure_is_one_line_in_both_languages() {
        let shown = [Language::Japanese, Language::English].map(|language| {
            let reason = |reason| failure_reason(language, Some(Agent::Codex), reason, Some(1));
            Reason::ALL.map(reason).join("\n")
        });
        insta::assert_snapshot!(shown.join("\n"), @"
        プログラムが見つかりません：`codex`
        プログラムを起動できませんでした：`codex`
        セッションのフォルダーがありません
        セッション ID が不正です
        セッションが見つかりません
        返信が長すぎます
        `/clear` と `/exit` は Slack からは実行できません。CLI で実行してください。
        終了コード：`1`
        シグナルで終了しました：`1`
        エラーで終了しました
        the program was not found: `codex`
        the program could not be started: `codex`
        the session's folder is gone
        the session's id is not valid
        the agent does not know this session any more
        the reply is too long to be handed over
        `/clear` and `/exit` cannot be run from Slack. Please use the CLI for them.
        exit code: `1`
        ended by signal: `1`
        Ended with an error
        ");
    }

    #[test]
    fn the_language_follows_the_locale() {
        let names = ["ja_JP.UTF-8", "ja", "JA-jp", "ja_JP@modifier", "Japanese_Japan.932"];
        assert!(names.iter().all(|name| Language::from_locale(name) == Language::Japanese));
        let names = ["", "C", "POSIX", "en_US.UTF-8", "jam_JM", "de_DE", "C.UTF-8"];
        assert!(names.iter().all(|name| Language::from_locale(name) == Language::English));
    }
}
