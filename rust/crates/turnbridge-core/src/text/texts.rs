//! Every sentence that Turnbridge itself says in a thread, in both languages.
//!
//! The Japanese ones are fixed to the letter (SLV-12, 30, 59, 72, 84–86) as far as a requirement
//! gives them. What the Stop gate tells the agent is not here: it is never translated.

use crate::ids::Agent;
use crate::notices::notice_wire::{Cause, Notice};
use crate::replies::reply_wire::Reason;
use crate::session::folder_name;
use crate::text::catalogue::catalogue;
pub use crate::text::spoken_text::Language;

impl Language {
    /// From `LANG` and its like (`ja_JP.UTF-8`), or a name as Windows gives it (`ja-JP`).
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
    /// What is said in a thread.
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
    /// What the set-up asks an agent to try the whole way (SLV-12, SLV-87).
    TestPrompt:
        "「【Turnbridge 本番同等テスト】このメッセージはテスト実行です。」と言ってください",
        "Please say: \"[Turnbridge end-to-end test] This message is a test run.\"";
    /// How a message about an error begins (SLV-59); see `log_location`.
    LogLocation:
        "ログの場所:",
        "Log file:";
    /// Before a reply is run (SLV-84).
    ReplyReceived:
        "返信を受領しました。これを `resume` として実行します。\n\
         **注意：家でCLIを続ける場合は、いま開いている対話CLIをいったん終了し、改めて `resume` で入り直してください。**\n\
         （Slack側の `resume` は別プロセスで進むため、同時操作すると順序逆転・二重実行が起き得ます。）",
        "Your reply was received. It will now be run as a `resume`.\n\
         **Note: to go on in the CLI at home, first quit the interactive CLI that is open now, then enter the session again with `resume`.**\n\
         (The `resume` from Slack runs in a process of its own; working in both at once can swap the order of messages or run them twice.)";
    /// Instead of it, before a reply goes into the terminal that has its session open (X40).
    ReplyReceivedForTerminal:
        "返信を受領しました。このセッションはターミナルで開かれているため、そのターミナルの次のプロンプトとして渡します。ターミナルを閉じる必要はありません。\n\
         （渡す前にターミナルが閉じられた場合は、`resume` として実行します。）",
        "Your reply was received. This session is open in a terminal: the reply will be the next prompt there. You can leave that terminal open.\n\
         (If it is closed before that, the reply will be run as a `resume`.)";
    /// A reply in a thread that is not known (SLV-85).
    ReplyWithoutRoute:
        "この返信は `Turnbridge` の通知スレッドとして認識できませんでした（route 情報が見つからない/不正）。\n\
         **通知（親）メッセージ**に対してスレッド返信してください。\n\
         （補足：このスレッドでは `resume` は実行しません）",
        "This thread is not known as a notification of `Turnbridge` (its route is missing or invalid).\n\
         Please reply in the thread of a **notification (parent) message**.\n\
         (Nothing is run by `resume` from this thread.)";
    /// SLV-86; with a reason, see `resume_failed`.
    ResumeFailed:
        "`resume` の実行に失敗しました。\n\
         詳細はCLIログをご確認ください。",
        "The `resume` failed.\n\
         Please see the CLI's log for details.";
    /// A command that would end or empty the session from afar.
    CommandRefused:
        "`/clear` と `/exit` は Slack からは実行できません。CLI で実行してください。",
        "`/clear` and `/exit` cannot be run from Slack. Please use the CLI for them.";
    /// After a crash, when it cannot be told whether a reply reached the agent.
    ReplyUncertain:
        "この返信が実行されたかどうかを確認できませんでした。二重実行を避けるため、再実行しません。必要であればもう一度送信してください。",
        "It could not be determined whether this reply was run. It is not run again, so that nothing happens twice; please send it once more if it is needed.";
    /// The process that ran a reply died in its turn; with a reason, see `interrupted`.
    ReplyInterrupted:
        "この返信の実行は途中で途切れました（ターンが終わる前にプロセスが終了しました）。それまでに行われたことは残っています。再実行はしません。必要であればもう一度送信してください。",
        "The run of this reply was cut off: its process ended before its turn did. What it had done by then stays done. It is not run again; please send it once more if it is needed.";
    /// `resume.live = "hold"` and `"pane"`.
    ReplyHeld:
        "このセッションは対話 CLI で開かれています。終了後、または入力できるようになり次第、この返信を実行します。",
        "This session is open in an interactive CLI. Your reply will be run when that has been closed, or can take it.";
    /// A `codex exec` has the thread.
    ReplyBehindExec:
        "このスレッドでは、返信を受け付けないターン（`codex exec` など）が実行中です。終わり次第、この返信を実行します。",
        "A turn that takes no reply, such as one of `codex exec`, is running in this thread. Your reply will be run when it has ended.";
    /// A Codex whose last turn was interrupted has the thread.
    ReplyAfterAbort:
        "このスレッドは Codex の対話 CLI で開かれており、最後のターンが中断されています（Esc または承認の拒否）。この状態の Codex は次の入力まで返信を開始しないため、この返信はまだ渡していません。対話 CLI で次のプロンプトを入力するか、対話 CLI を終了すると、その後にこの返信を実行します。",
        "This thread is open in a Codex CLI, and its last turn there was interrupted (Esc, or a refused request). Codex then starts no reply before something is typed there, so yours was not handed over yet. Type the next prompt in that CLI, or quit it: your reply will be run after that.";
    /// `codex queue` has taken a reply, and the thread's rollout has no turn of it.
    ReplyNotBegun:
        "この返信は Codex のキューに入りましたが、まだ開始されていません。対話 CLI で実行中のターンが終わると開始されます。そのターンを中断した場合は次のプロンプトの後、対話 CLI を終了した場合は次にこのスレッドを開いたときに開始されます。",
        "Codex has your reply in its queue and has not begun it yet. It begins when the turn that is running in the open CLI has ended. If that turn is interrupted, it begins after the next prompt there; if the CLI is quit, when this thread is opened again.";
    /// A run of ours is under way in the same session.
    ReplyQueued:
        "前の返信を実行中です。終わり次第、この返信を実行します。",
        "An earlier reply is still running. Yours will be run after it.";
    /// A reply of `stop` has ended the run.
    ReplyStopped:
        "この返信の実行を停止しました。",
        "The run of this reply was stopped.";
    /// A reply of `stop` when no run is under way.
    NothingToStop:
        "実行中の返信はありません。",
        "No reply is running.";
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

/// SLV-72, and which turn it was (X49): nothing else leads to its answer.
pub fn answer_missing(language: Language, notice: &Notice) -> String {
    let project = notice.cwd.as_deref().and_then(folder_name);
    let facts = [
        (Text::Agent, Some(notice.agent.as_str())),
        (Text::Project, project),
        (Text::SessionId, Some(notice.session_id.as_str())),
        (Text::EndedAt, Some(notice.created_at.as_str())),
    ];
    let known = facts.into_iter().filter(|(_, value)| value.is_some_and(|value| !value.is_empty()));
    let lines = known.map(|(text, value)| with_code(language, text, value));
    let missing = Text::AnswerMissing.text(language).to_owned();
    std::iter::once(missing).chain(lines).collect::<Vec<_>>().join("\n")
}

/// SLV-59, with the file it speaks of.
pub fn log_location(language: Language, path: &str) -> String {
    format!("{} {path}", Text::LogLocation.text(language))
}

/// SLV-59, and a line that says what went wrong (X28).
pub fn problem(language: Language, cause: Cause, log: &str) -> String {
    let text = match cause {
        Cause::ReportUnreadable => Text::ReportUnreadable,
        Cause::RolloutUnreadable => Text::RolloutUnreadable,
        Cause::ChainFailed => Text::ChainFailed,
    };
    format!("{}\n{}", log_location(language, log), text.text(language))
}

/// SLV-86, and a line that says why.
pub fn resume_failed(language: Language, reason: &str) -> String {
    let text = Text::ResumeFailed.text(language);
    match language {
        Language::Japanese => format!("{text}\n（理由：{reason}）"),
        Language::English => format!("{text}\n(Reason: {reason})"),
    }
}

/// A run that was cut off, and why, if that is known.
pub fn interrupted(language: Language, reason: Option<&str>) -> String {
    let text = Text::ReplyInterrupted.text(language);
    match (language, reason) {
        (_, None) => text.to_owned(),
        (Language::Japanese, Some(reason)) => format!("{text}\n（理由：{reason}）"),
        (Language::English, Some(reason)) => format!("{text}\n(Reason: {reason})"),
    }
}

/// What stands behind "Reason" in `resume_failed` and `interrupted`; `code` is the exit code or the signal.
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
        Reason::CommandRefused => Text::CommandRefused,
        Reason::ExitCode => Text::ExitCode,
        Reason::Signal => Text::KilledBySignal,
        Reason::TurnFailed => Text::TurnFailed,
    };
    with_code(language, text, value.as_deref())
}

/// `kind` is Claude's word for the error, as in `rate_limit`.
pub fn turn_failed(language: Language, kind: Option<&str>) -> String {
    with_code(language, Text::TurnFailed, kind)
}

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
    use crate::text::catalogue::tests::check;

    /// The texts as the requirements give them, before the product's name.
    const REQUIRED: &str = include_str!("../../testdata/fixed_texts_ja.txt");

    /// One by the number at the head of its paragraph.
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
            ("SLV-84", Text::ReplyReceived),
            ("SLV-85", Text::ReplyWithoutRoute),
            ("SLV-86", Text::ResumeFailed),
        ] {
            assert!(!required(number).is_empty(), "{number}");
            assert_eq!(text.text(Language::Japanese), required(number), "{number}");
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
        let shown = [Language::Japanese, Language::English].map(|language| {
            [
                log_location(language, "/logs/notify.log"),
                resume_failed(language, "exit code 1"),
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
        let notice = Notice {
            version: 1,
            id: "a".into(),
            kind: crate::notices::notice_wire::NoticeKind::Turn,
            created_at: "2026-01-01T12:00:00.000000Z".into(),
            agent: "claude".into(),
            session_id: "825c8529-ee09-4cb8-8902-dd785b12ca0a".into(),
            turn_id: None,
            cwd: Some("/home/me/shop/".into()),
            transcript_path: None,
            prompt: None,
            answers: Vec::new(),
            thread: None,
            subject: None,
        };
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
