//! Lists the messages that a thread receives about a reply, each with its name in files and its
//! sentence in both languages. The Japanese sentences of SLV-84 to 86 are fixed to the letter.

use crate::agents::codex::rollout_tail::QueueObstacle;
use crate::text::spoken_text::Language;

/// Makes the enum, its names and its sentences. A message without a sentence has the agent's words.
macro_rules! thread_messages {
    ($($(#[$doc:meta])* $message:ident $name:literal: $($japanese:expr, $english:expr)?;)+) => {
        /// A message that a thread receives about a reply.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum ThreadMessage { $($(#[$doc])* $message),+ }

        impl ThreadMessage {
            pub const ALL: &[ThreadMessage] = &[$(ThreadMessage::$message),+];

            /// Returns its name in files and logs.
            pub const fn as_str(self) -> &'static str {
                match self { $(ThreadMessage::$message => $name),+ }
            }

            /// Returns the sentence, or `None` if the text is the agent's.
            pub const fn sentence(self, language: Language) -> Option<&'static str> {
                match self {
                    $(ThreadMessage::$message => {
                        thread_messages!(@sentence language, $($japanese, $english)?)
                    })+
                }
            }
        }
    };
    (@sentence $language:ident,) => { None };
    (@sentence $language:ident, $japanese:expr, $english:expr) => {
        Some(match $language {
            Language::Japanese => $japanese,
            Language::English => $english,
        })
    };
}

thread_messages! {
    /// A separate process is started for the reply (SLV-84).
    Receipt "receipt":
        "返信を受領しました。これを `resume` として実行します。\n\
         **注意：家でCLIを続ける場合は、いま開いている対話CLIをいったん終了し、改めて `resume` で入り直してください。**\n\
         （Slack側の `resume` は別プロセスで進むため、同時操作すると順序逆転・二重実行が起き得ます。）",
        "Your reply was received. It will now be run as a `resume`.\n\
         **Note: to go on in the CLI at home, first quit the interactive CLI that is open now, then enter the session again with `resume`.**\n\
         (The `resume` from Slack runs in a process of its own; working in both at once can swap the order of messages or run them twice.)";
    /// The reply is typed into the terminal that has its session open (X40).
    TerminalReceipt "terminal_receipt":
        "返信を受領しました。このセッションはターミナルで開かれているため、そのターミナルの次のプロンプトとして渡します。ターミナルを閉じる必要はありません。\n\
         （渡す前にターミナルが閉じられた場合は、`resume` として実行します。）",
        "Your reply was received. This session is open in a terminal: the reply will be the next prompt there. You can leave that terminal open.\n\
         (If it is closed before that, the reply will be run as a `resume`.)";
    /// Another reply of Turnbridge runs in the same session.
    Queued "queued":
        "前の返信を実行中です。終わり次第、この返信を実行します。",
        "An earlier reply is still running. Yours will be run after it.";
    /// The session is open in a terminal (`resume.live = "hold"` and `"pane"`).
    Held "held":
        "このセッションはターミナルで開かれています。終了後、または入力できるようになり次第、この返信を実行します。",
        "This session is open in an interactive CLI. Your reply will be run when that has been closed, or can take it.";
    /// A `codex exec` has the thread (`QueueObstacle::Exec`).
    BehindExec "behind_exec":
        "このスレッドでは、返信を受け付けないターン（`codex exec` など）が実行中です。終わり次第、この返信を実行します。",
        "A turn that takes no reply, such as one of `codex exec`, is running in this thread. Your reply will be run when it has ended.";
    /// A Codex whose last turn was interrupted has the thread (`QueueObstacle::Aborted`).
    AfterAbort "after_abort":
        "このスレッドはターミナルの Codex で開かれており、最後のターンが中断されています（Esc または承認の拒否）。この状態の Codex は次の入力まで返信を開始しないため、この返信はまだ渡していません。そのターミナルで次のプロンプトを入力するか、Codex を終了すると、その後にこの返信を実行します。",
        "This thread is open in a Codex CLI, and its last turn there was interrupted (Esc, or a refused request). Codex then starts no reply before something is typed there, so yours was not handed over yet. Type the next prompt in that CLI, or quit it: your reply will be run after that.";
    /// `codex queue` has taken the reply, and the thread's rollout has no turn of it.
    NotBegun "not_begun":
        "この返信は Codex のキューに入りましたが、まだ開始されていません。ターミナルで実行中のターンが終わると開始されます。そのターンが中断されると、次のプロンプトを入力するまで開始されません。ターミナルを終了してこのスレッドを開き直しても同じです。中断せずに終了した場合は、遅くとも次にこのスレッドを開いたときに開始されます。",
        "Codex has your reply in its queue and has not begun it yet. It begins when the turn that is running in the open CLI has ended. If that turn is interrupted, it begins only after the next prompt that is typed there, also if the CLI is quit and this thread is opened again before that. If the CLI is quit without an interruption, it begins at the latest when this thread is opened again.";
    /// The run failed (SLV-86); the reason follows.
    Failed "failed":
        "`resume` の実行に失敗しました。\n\
         詳細はCLIログをご確認ください。",
        "The `resume` failed.\n\
         Please see the CLI's log for details.";
    /// The agent printed text that is not in its turn. The message is the agent's output.
    Output "output":;
    /// After a crash it is unknown whether the reply reached the agent.
    Uncertain "uncertain":
        "この返信が実行されたかどうかを確認できませんでした。二重実行を避けるため、再実行しません。必要であればもう一度送信してください。",
        "It could not be determined whether this reply was run. It is not run again, so that nothing happens twice; please send it once more if it is needed.";
    /// The process that ran the reply died before the turn ended; the reason follows if known.
    Interrupted "interrupted":
        "この返信の実行は途中で終了しました（ターンが終わる前にプロセスが終了しました）。それまでに行われたことは残っています。再実行はしません。必要であればもう一度送信してください。",
        "The run of this reply was cut off: its process ended before its turn did. What it had done by then stays done. It is not run again; please send it once more if it is needed.";
    /// A reply of `stop` ended the run.
    Stopped "stopped":
        "この返信の実行を停止しました。",
        "The run of this reply was stopped.";
    /// The thread of the reply is not known (SLV-85).
    NoRoute "no_route":
        "この返信は `Turnbridge` の通知スレッドとして認識できませんでした（route 情報が見つからない/不正）。\n\
         **通知（親）メッセージ**に対してスレッド返信してください。\n\
         （補足：このスレッドでは `resume` は実行しません）",
        "This thread is not known as a notification of `Turnbridge` (its route is missing or invalid).\n\
         Please reply in the thread of a **notification (parent) message**.\n\
         (Nothing is run by `resume` from this thread.)";
    /// The reply is a command that would end or empty the session.
    Refused "refused":
        "`/clear` と `/exit` は Slack からは実行できません。CLI で実行してください。",
        "`/clear` and `/exit` cannot be run from Slack. Please use the CLI for them.";
    /// A reply of `stop` came while no run was under way.
    NothingToStop "nothing_to_stop":
        "実行中の返信はありません。",
        "No reply is running.";
}

impl ThreadMessage {
    pub fn parse(name: &str) -> Option<ThreadMessage> {
        ThreadMessage::ALL.iter().copied().find(|message| message.as_str() == name)
    }

    /// Returns the message for a reply that waits because of the obstacle.
    pub const fn of_obstacle(obstacle: QueueObstacle) -> ThreadMessage {
        match obstacle {
            QueueObstacle::Exec => ThreadMessage::BehindExec,
            QueueObstacle::Aborted => ThreadMessage::AfterAbort,
        }
    }

    /// Returns whether the message is about a reply that runs, or waits to be run, as a `resume`.
    pub const fn is_of_run(self) -> bool {
        !matches!(
            self,
            ThreadMessage::TerminalReceipt
                | ThreadMessage::NoRoute
                | ThreadMessage::Refused
                | ThreadMessage::NothingToStop
        )
    }

    /// Returns whether its text is Turnbridge's (SLV-84 to 86 and similar).
    pub const fn is_fixed_text(self) -> bool {
        self.sentence(Language::English).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::catalogue::tests::check;

    /// The file of a reply contains these names: a message with an unreadable one is posted twice.
    #[test]
    fn slv_83_every_word_on_record_is_read_as_what_was_said() {
        for message in ThreadMessage::ALL {
            assert_eq!(ThreadMessage::parse(message.as_str()), Some(*message));
        }
        assert_eq!(ThreadMessage::parse("receipts"), None);
        let all_but = |is_it: fn(ThreadMessage) -> bool| {
            let those = ThreadMessage::ALL.iter().filter(|message| !is_it(**message));
            those.map(|message| message.as_str()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            all_but(ThreadMessage::is_of_run),
            "terminal_receipt no_route refused nothing_to_stop"
        );
        assert_eq!(all_but(ThreadMessage::is_fixed_text), "output");
    }

    /// Codex 0.169: quitting the terminal after Esc, and opening the thread again, does not begin the
    /// reply.
    #[test]
    fn a_queued_reply_is_promised_at_the_opening_of_its_thread_only_without_an_interruption() {
        for (language, interrupted, reopened, otherwise) in [
            (Language::English, "is interrupted", "is opened again", "without an interruption"),
            (Language::Japanese, "中断されると", "開き直しても", "中断せずに"),
        ] {
            let sentence = ThreadMessage::NotBegun.sentence(language).unwrap();
            let places = [interrupted, reopened, otherwise].map(|words| sentence.find(words));
            assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{sentence}");
        }
    }

    #[test]
    fn every_sentence_is_in_both_languages() {
        for message in ThreadMessage::ALL {
            let sentences =
                [Language::Japanese, Language::English].map(|language| message.sentence(language));
            match sentences {
                [Some(japanese), Some(english)] => check(japanese, english),
                others => assert_eq!((*message, others), (ThreadMessage::Output, [None, None])),
            }
        }
    }
}
