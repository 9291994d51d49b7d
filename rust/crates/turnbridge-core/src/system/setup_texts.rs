//! Lists the texts of `turnbridge setup` in both languages, and chooses its advice for an error of
//! Slack. Values replace `{0}`, `{1}`.

use crate::text::catalogue::{catalogue, filled};
use crate::text::spoken_text::Language;

catalogue! {
    /// One sentence or a few.
    SetupText
    Welcome:
        "Turnbridge {0} の設定を始めます。確認なしに変更することはありません。Ctrl-C でいつでも中止できます。",
        "Turnbridge {0}: set-up. Nothing is changed without your answer, and Ctrl-C ends it at any time.";
    AgentsHeading:
        "エージェント",
        "Agents";
    AgentMissing:
        "{0}：見つかりません（PATH にありません）",
        "{0}: not found on the PATH";
    NoAgents:
        "`claude` も `codex` も見つかりません。設定は続けられますが、テストはできません。",
        "Neither `claude` nor `codex` was found. The set-up goes on, but nothing can be tested.";
    SlackAbout:
        "ターンが終わるたびに、アプリとのダイレクトメッセージに新しいスレッドができます。\n\
         そのスレッドへの返信が、セッションの次のプロンプトになります。",
        "Every finished turn becomes a new thread in your direct messages with the app.\n\
         What you reply there is the next prompt of that session.";
    SlackIsSet:
        "Slack は設定済みです（トークンあり、利用者 {0}）。",
        "Slack is set up already (tokens are there, the user is {0}).";
    ChangeIt:
        "変更しますか？",
        "Change it?";
    UseSlack:
        "Slack を設定しますか？",
        "Set up Slack?";
    NoSlack:
        "Slack なしで続けます。ターンはボードに表示され、返信もボードでできます。あとで `turnbridge setup` で Slack を設定できます。",
        "Going on without Slack: the board shows your turns and takes your replies. `turnbridge setup` can add Slack later.";
    SlackStays:
        "Slack の設定は変更しません。",
        "Slack stays as it is.";
    /// {0}: the address that makes the app.
    MakeTheApp:
        "1. 次のアドレスを開き、ワークスペースを選び、入力済みの内容のままアプリを作成します：\n\
         \n\
         {0}\n\
         \n\
         2. アプリの画面で Install App > Install to Workspace。「Bot User OAuth Token」（xoxb-…）をコピーします。\n\
         3. Basic Information > App-Level Tokens > Generate Token and Scopes で `connections:write` を付けて作成し、そのトークン（xapp-…）をコピーします。\n\
         （`authorizations:read` と `app_configurations:read` も付けられますが、必要ではありません。）",
        "1. Open this address, choose your workspace, and create the app as it is filled in:\n\
         \n\
         {0}\n\
         \n\
         2. On the app's page: Install App > Install to Workspace. Copy the \"Bot User OAuth Token\" (xoxb-...).\n\
         3. Basic Information > App-Level Tokens > Generate Token and Scopes, with `connections:write`. Copy that token (xapp-...).\n\
         (You may add `authorizations:read` and `app_configurations:read`; they are not needed.)";
    BotTokenQuestion:
        "ボットトークン（xoxb-…、表示されません）：",
        "Bot token (xoxb-..., it is not shown): ";
    AppTokenQuestion:
        "アプリレベルトークン（xapp-…、表示されません）：",
        "App-level token (xapp-..., it is not shown): ";
    NotABotToken:
        "これはボットトークンではありません：`xoxb-` で始まるものが必要です",
        "this is no bot token: it must begin with `xoxb-`";
    NotAnAppToken:
        "これはアプリレベルトークンではありません：`xapp-` で始まるものが必要です",
        "this is no app-level token: it must begin with `xapp-`";
    BotTokenPlace:
        "ボットトークンは、アプリの画面の OAuth & Permissions（Install App）にあります",
        "the bot token is on the app's page under OAuth & Permissions (Install App)";
    AppTokenPlace:
        "アプリレベルトークンは、アプリの画面の Basic Information > App-Level Tokens にあります",
        "the app-level token is on the app's page under Basic Information > App-Level Tokens";
    /// {0}: the app's name, {1}: its workspace.
    BotTokenIsGood:
        "OK：アプリ `{0}`、ワークスペース `{1}`",
        "ok: the app `{0}` in the workspace `{1}`";
    AppTokenIsGood:
        "OK：Socket Mode に接続できます",
        "ok: Socket Mode can be used";
    ScopesMissing:
        "アプリに次の権限がありません：{0}",
        "the app lacks these scopes: {0}";
    ScopesAdvice:
        "OAuth & Permissions > Bot Token Scopes で追加し、アプリを再インストールして、トークンを入れ直してください",
        "add them under OAuth & Permissions > Bot Token Scopes, install the app again, and enter the token anew";
    OwnerAbout:
        "エージェントを動かせるのは、あなただけです。",
        "Only you will be able to drive the agents.";
    /// {0}: the app's name, {1}: the words.
    WriteToTheApp:
        "Slack のサイドバー（App）でアプリ `{0}` を開き、次のメッセージを送ってください：\n\
         \n\
         {1}\n\
         \n\
         受信を待っています（Enter を押すとメンバー ID の入力に切り替わります）…",
        "In Slack, open the app `{0}` (in the sidebar, under Apps) and send it this message:\n\
         \n\
         {1}\n\
         \n\
         Waiting for it (Enter: type your member id instead) ...";
    OwnerIs:
        "{0} からメッセージを受け取りました。確認のため、アプリからその人にメッセージを送りました。",
        "It has come from {0}. The app has written to that member, to make sure that it is you.";
    /// In Slack, where {0} is shown as the member's name.
    OwnerGreeting:
        "{0} さんを Turnbridge の利用者として設定しようとしています。ご本人であれば、設定中のターミナルで `y` と答えてください。",
        "{0} is about to be set up as the user of Turnbridge. If that is you, answer `y` in the terminal.";
    OwnerConfirmation:
        "自分の Slack に、自分の名前が入ったそのメッセージが届きましたか？",
        "Have you got that message in your own Slack, with your own name in it?";
    OwnerDenied:
        "別の人からのメッセージでした。メンバー ID を入力してください。",
        "Then it was somebody else. Type your member id instead.";
    /// {0}: the new words.
    CodeIsVoid:
        "誤ったコードが何度も届いたため、コードを変更しました。次のメッセージを送ってください：\n\
         \n\
         {0}",
        "Several wrong codes have come, so the code has changed. Send this instead:\n\
         \n\
         {0}";
    TooManyCodes:
        "誤ったコードが多すぎます。誰かがコードを推測している可能性があります。メンバー ID を入力してください。",
        "Too many wrong codes have come: somebody may be guessing. Type your member id instead.";
    NothingHeard:
        "メッセージが届きませんでした。アプリの設定で、App Home の Messages Tab（メッセージ送信を許可）と Event Subscriptions の `message.im` を確認してください。",
        "No message has come. In the app's settings, check App Home > Messages Tab (messages allowed) and Event Subscriptions > `message.im`.";
    OwnerQuestion:
        "メンバー ID（Slack のプロフィール > ︙ > メンバー ID をコピー）：",
        "Your member id (in Slack: profile > the three dots > Copy member ID): ";
    NotAUserId:
        "`{0}` はメンバー ID ではありません",
        "`{0}` is no member id";
    UserIdForm:
        "メンバー ID は U または W で始まり、英大文字と数字からなります",
        "a member id begins with U or W, followed by capital letters and digits";
    Saved:
        "保存しました：`{0}`",
        "saved `{0}`";
    ClaudeQuestion:
        "Claude Code のターンを Turnbridge に知らせるフックを `{0}` に登録しますか？",
        "Register hooks in `{0}`, so that Claude Code tells Turnbridge of its turns?";
    ClaudeByPlugin:
        "Claude Code：Turnbridge のプラグインが有効です。フックの登録は不要です。",
        "Claude Code: the plugin of Turnbridge is enabled; no hooks have to be registered.";
    ClaudePluginHint:
        "プラグインとして使う場合：`claude --plugin-dir {0}`",
        "To use it as a plugin instead: `claude --plugin-dir {0}`";
    CodexQuestion:
        "Codex のターンを Turnbridge に知らせるため、`{0}` に `notify` を設定しますか？",
        "Set `notify` in `{0}`, so that Codex tells Turnbridge of its turns?";
    /// {0}: the present value.
    CodexHasNotify:
        "Codex にはすでに `notify` があります：`{0}`",
        "Codex has a `notify` already: `{0}`";
    CodexChainQuestion:
        "Turnbridge を設定し、これまでのプログラムも続けて実行しますか？（いいえ：そのままにします）",
        "Set ours, and keep that program running behind it? (no: leave it as it is)";
    CodexWithoutNotify:
        "Codex のターンは、デーモンが rollout ファイルからも読み取ります。",
        "The daemon sees Codex's turns in its rollout files too.";
    /// On Windows. {0}: their names.
    WslDistributions:
        "WSL のディストリビューション：{0}。その中のエージェントには `turnbridge hooks apply --wsl 名前` を使います（docs/wsl.md）。",
        "Distributions of WSL: {0}. For agents in one of them: `turnbridge hooks apply --wsl NAME` (docs/wsl.md).";
    /// {0}: the line.
    WslEnv:
        "WSL の中です。Windows のターミナルから変数を渡すには、Windows 側で次を設定します：{0}",
        "This is WSL. For a terminal of Windows to hand its variables over, set there: {0}";
    ChangeLikeThis:
        "`{0}` をこのように変更しますか？",
        "Change `{0}` like this?";
    LeftAsItWas:
        "変更しませんでした",
        "left as it was";
    IsAsItShouldBe:
        "`{0}` は設定済みです",
        "`{0}` is as it should be";
    Changed:
        "変更しました：`{0}`",
        "changed `{0}`";
    Deleted:
        "元々なかったため削除しました：`{0}`",
        "removed `{0}`, which was not there before";
    ClaudeTakesItUp:
        "実行中のセッションには、`/hooks` を開くか再起動すると反映されます",
        "sessions that run already take it up after `/hooks` or a restart";
    CodexTakesItUp:
        "実行中の Codex には、再起動すると反映されます",
        "a Codex that runs already takes it up when it is started anew";
    RunBehindOurs:
        "`{0}` も引き続き実行されます",
        "`{0}` goes on being run, behind ours";
    DaemonHeading:
        "デーモン",
        "Daemon";
    ServiceQuestion:
        "ログイン時にデーモンを自動的に起動しますか（{0}）？",
        "Have the daemon started whenever you log in ({0})?";
    ServiceInstalled:
        "サービスを登録しました：`{0}`",
        "the service is installed: `{0}`";
    ServiceFailed:
        "サービスを登録できませんでした：{0}",
        "the service could not be installed: {0}";
    DaemonStarted:
        "デーモンを起動しました",
        "the daemon runs";
    DaemonByHand:
        "手動で起動してください：`turnbridge daemon`（理由は `turnbridge logs daemon`）",
        "start it by hand with `turnbridge daemon`; `turnbridge logs daemon` says what is wrong";
    DaemonFailed:
        "デーモンを起動できませんでした：{0}",
        "the daemon could not be started: {0}";
    Connecting:
        "Slack に接続しています",
        "connecting to Slack";
    Connected:
        "OK：デーモンが Slack に接続しました",
        "ok: the daemon is connected to Slack";
    NotConnected:
        "デーモンが Slack に接続できません：{0}",
        "the daemon cannot connect to Slack: {0}";
    BoardServed:
        "OK：ボードが使えます（`turnbridge board --open` で開きます）",
        "ok: the board is there (`turnbridge board --open` opens it)";
    NoBoard:
        "デーモンがボードを提供していません",
        "the daemon serves no board";
    TestHeading:
        "本番同等テスト",
        "End-to-end test";
    TestQuestion:
        "{0} で実際にテストしますか？（短いプロンプトを 1 回実行します）",
        "Try it with {0}? (It runs one short prompt.)";
    TestRunning:
        "{0} を実行しています",
        "{0} is working";
    /// {0}: the agent, {1}: the reason.
    TestRunFailed:
        "{0} のテスト実行に失敗しました：{1}",
        "the test run of {0} failed: {1}";
    TestRunAdvice:
        "そのフォルダーで {0} を直接実行して確認してください：`{1}`",
        "try {0} by itself in that folder: `{1}`";
    WaitingForNotice:
        "Slack への通知を待っています",
        "waiting for the notice in Slack";
    NoticeArrived:
        "OK：通知が Slack に届きました",
        "ok: the notice has arrived in Slack";
    NoNotice:
        "{0} の通知が Slack に届きませんでした",
        "no notice of {0} has arrived in Slack";
    WaitingForTurn:
        "ターンがボードに表示されるのを待っています",
        "waiting for the turn on the board";
    TurnArrived:
        "OK：ターンがボードに表示されました",
        "ok: the turn is on the board";
    NoTurn:
        "{0} のターンがボードに表示されませんでした",
        "no turn of {0} has come to the board";
    HooksNotSeen:
        "フックが実行されていません：`turnbridge doctor` で確認してください",
        "no hook has been run: `turnbridge doctor` says why";
    NoticeStuck:
        "通知が送信待ちのままです（{0}）：`turnbridge outbox` で確認してください",
        "it waits in the outbox ({0}): `turnbridge outbox` shows it";
    ReplyNow:
        "Slack でそのスレッドに返信してください（例：OK）。返信が次のプロンプトになります。\n\
         受信を待っています（Enter で省略）…",
        "Now reply in that thread in Slack, for example: OK. Your reply becomes the next prompt.\n\
         Waiting for it (Enter skips this) ...";
    ReplyOnBoard:
        "ボード（`turnbridge board --open`）でそのセッションに返信してください（例：OK）。返信が次のプロンプトになります。\n\
         受信を待っています（Enter で省略）…",
        "Now reply to it on the board (`turnbridge board --open`), for example: OK. Your reply becomes the next prompt.\n\
         Waiting for it (Enter skips this) ...";
    ReplyArrived:
        "OK：返信を受け取り、実行しています",
        "ok: the reply has come and is run";
    ReplyRan:
        "OK：返信が実行され、その結果が新しいスレッドになりました",
        "ok: the reply was run, and its turn is a new thread";
    ReplyRanOnBoard:
        "OK：返信が実行され、結果もボードに表示されました",
        "ok: the reply was run, and its turn is on the board";
    ReplyFailed:
        "返信の実行に失敗しました：{0}",
        "the reply could not be run: {0}";
    NoReply:
        "返信は確認できませんでした。あとで試せます。`turnbridge inbox` と `turnbridge logs daemon` に記録があります。",
        "No reply was seen. You can try it any time; `turnbridge inbox` and `turnbridge logs daemon` tell of it.";
    Skipped:
        "省略しました",
        "skipped";
    Finished:
        "設定が完了しました。確認は `turnbridge doctor`、解除は `turnbridge uninstall`。",
        "All is set up. `turnbridge doctor` checks it, `turnbridge uninstall` undoes it.";
    FinishedUntried:
        "設定は終わりましたが、動作は試していません。`turnbridge setup --only-test` で試せます。\n\
         確認は `turnbridge doctor`、解除は `turnbridge uninstall`。",
        "Set up, and nothing was tried: `turnbridge setup --only-test` runs a turn of each agent.\n\
         `turnbridge doctor` checks it, `turnbridge uninstall` undoes it.";
    FinishedWithoutClaude:
        "設定は終わりましたが、Claude Code はまだ Turnbridge を呼び出す設定になっていません。そのターンは表示も通知もされません。\n\
         プラグインをインストールするか、`turnbridge hooks apply` を実行してください。確認は `turnbridge doctor`、解除は `turnbridge uninstall`。",
        "Set up, but Claude Code does not call Turnbridge yet: nothing is seen of its turns.\n\
         Install the plugin, or run `turnbridge hooks apply`. `turnbridge doctor` checks it, `turnbridge uninstall` undoes it.";
    FinishedWithoutAgents:
        "設定は終わりましたが、エージェントがありません。`claude` か `codex` をインストールしてから、もう一度 `turnbridge setup` を実行してください。",
        "Set up, but there is no agent yet. Install `claude` or `codex`, then run `turnbridge setup` again.";
    /// {0}: what is waited for, {1}: for how many seconds.
    WaitedFor:
        "{0}（{1} 秒）",
        "{0} ({1} s)";
    Seconds:
        "{0} 秒",
        "{0} s";
    /// {0}: the question's own words, {1}: the flag.
    NoTerminal:
        "ターミナルがないため質問できません：{0}",
        "there is no terminal to ask at: {0}";
    FlagAnswers:
        "`{0}` で指定してください",
        "`{0}` answers it";
    Interrupted:
        "中止しました",
        "ended by you";
    InterruptedHint:
        "ここまでに「保存しました」「変更しました」と表示されたもの以外は変更していません",
        "nothing was changed but what was said to be saved or changed above";
    EmptyAnswer:
        "入力がありません",
        "nothing was entered";
    NetworkAdvice:
        "ネットワーク接続と、プロキシを使う場合は `HTTPS_PROXY` を確認してください",
        "check the network connection, and `HTTPS_PROXY` if there is a proxy";
    CertificateAdvice:
        "社内で TLS を検査している場合は、その証明書をシステムに追加するか `SSL_CERT_FILE` で指定してください",
        "if your company inspects TLS, add its certificate to the system's, or name it in `SSL_CERT_FILE`";
    SlackUnreachable:
        "Slack に接続できません（{0}）",
        "Slack could not be reached ({0})";
    SlackRefused:
        "Slack が拒否しました（`{0}`）",
        "Slack refused it (`{0}`)";
    SlackBusy:
        "Slack の送信制限中です（{0} 秒）",
        "Slack asks to wait ({0} s)";
    TryAgainLater:
        "しばらくしてからもう一度実行してください",
        "run this again in a while";
    TokenAdvice:
        "api.slack.com/apps のアプリの画面からトークンをコピーし直してください",
        "copy the token anew from the app's page at api.slack.com/apps";
    MixedUpAdvice:
        "2 つのトークンが入れ替わっています：`xoxb-` がボットトークン、`xapp-` がアプリレベルトークンです",
        "the two tokens are mixed up: `xoxb-` is the bot token, `xapp-` the app-level token";
    ConnectionsScopeAdvice:
        "`connections:write` を付けたアプリレベルトークンを Basic Information > App-Level Tokens で作成してください",
        "make an app-level token with the scope `connections:write` under Basic Information > App-Level Tokens";
    UserAdvice:
        "メンバー ID を確認してください：Slack のプロフィール > ︙ > メンバー ID をコピー（`U…`）",
        "check the member id: in Slack, profile > the three dots > Copy member ID (`U...`)";
    MessagesTabAdvice:
        "アプリの設定の App Home で Messages Tab とメッセージ送信の許可を有効にしてください",
        "switch on App Home > Messages Tab, and there \"Allow users to send messages\", on the app's page";
    AdministratorAdvice:
        "ワークスペースの管理者に、このアプリの許可を依頼してください",
        "ask an administrator of the workspace to allow the app";
}

impl SetupText {
    /// Returns the text with the values in their places.
    pub fn filled(self, language: Language, values: &[&str]) -> String {
        filled(self.text(language), values)
    }
}

/// Returns the advice for an error code of Slack's. `needed` is the scope in Slack's answer.
pub fn slack_advice(code: &str, needed: Option<&str>) -> SetupText {
    match code {
        "not_allowed_token_type" => SetupText::MixedUpAdvice,
        "missing_scope" if needed.is_some_and(|scopes| scopes.contains("connections:write")) => {
            SetupText::ConnectionsScopeAdvice
        }
        "missing_scope" | "no_permission" => SetupText::ScopesAdvice,
        "user_not_found" | "users_not_found" | "user_not_visible" | "invalid_users"
        | "user_disabled" | "cannot_dm_bot" => SetupText::UserAdvice,
        "messages_tab_disabled" => SetupText::MessagesTabAdvice,
        "access_denied"
        | "ekm_access_denied"
        | "enterprise_is_restricted"
        | "forbidden_team"
        | "team_access_not_granted"
        | "user_is_restricted"
        | "org_login_required" => SetupText::AdministratorAdvice,
        code if code.starts_with("restricted_action") => SetupText::AdministratorAdvice,
        "fatal_error" | "internal_error" | "request_timeout" | "service_unavailable" => {
            SetupText::TryAgainLater
        }
        _ => SetupText::TokenAdvice,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::catalogue::tests::check;

    #[test]
    fn x37_every_text_of_the_set_up_is_in_both_languages() {
        for text in SetupText::ALL {
            check_but_for_blanks(*text);
        }
        let shown = SetupText::BotTokenIsGood.filled(Language::English, &["x", "y"]);
        assert_eq!(shown, "ok: the app `x` in the workspace `y`");
    }

    /// A question ends with a blank in English.
    #[track_caller]
    fn check_but_for_blanks(text: SetupText) {
        check(text.text(Language::Japanese), text.text(Language::English).trim_end());
    }

    #[test]
    fn x33_slv_19_the_further_scopes_of_an_app_level_token_are_offered_and_not_demanded() {
        for language in [Language::Japanese, Language::English] {
            let text = SetupText::MakeTheApp.text(language);
            let (step, offer) = text.rsplit_once('\n').unwrap();
            assert!(step.contains("`connections:write`"), "{text}");
            for scope in ["`authorizations:read`", "`app_configurations:read`"] {
                assert!(offer.contains(scope) && !step.contains(scope), "{text}");
            }
        }
    }

    #[test]
    fn every_refusal_of_slack_has_an_advice() {
        assert_eq!(
            slack_advice("missing_scope", Some("connections:write")),
            SetupText::ConnectionsScopeAdvice
        );
        assert_eq!(slack_advice("missing_scope", Some("im:write")), SetupText::ScopesAdvice);
        assert_eq!(slack_advice("invalid_auth", None), SetupText::TokenAdvice);
        assert_eq!(slack_advice("user_not_found", None), SetupText::UserAdvice);
    }
}
