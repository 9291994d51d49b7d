//! Tests `turnbridge setup` with the real agents and a loopback Slack, at a terminal in both
//! languages and without one: from an empty home to a notice of each agent's turn and a reply that
//! runs.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use testkit::{
    Claude, Codex, Hermetic, MessagesApi, ModelReply, ResponsesApi, SlackApi, SlackSetup, Tmux,
};

use crate::replies::{claude_prompts, codex_prompt};
use crate::support::agent_home::{AgentHome, SessionSelection, executable};
use crate::support::gates;
use crate::support::timeouts::{TIMEOUT, wait_for};

const SETTINGS: &str = "{\n\t\"cleanupPeriodDays\": 99\n}";

/// An empty home with both agents on the PATH and an unused Slack app.
struct SetupHome {
    slack: SlackApi,
    messages: MessagesApi,
    responses: ResponsesApi,
    agent_home: AgentHome,
    command: Command,
    codex_config: String,
}

impl SetupHome {
    #[track_caller]
    fn new(claude: &Claude, codex: &Codex, answers: [&str; 2]) -> SetupHome {
        let script = || answers.map(ModelReply::text).to_vec();
        let (messages, responses) = (MessagesApi::start(script()), ResponsesApi::start(script()));
        let agent_home = AgentHome::new(Hermetic::new());
        let slack = SlackApi::start(SlackSetup::default());
        let hermetic = &agent_home.hermetic;
        fs::write(hermetic.claude_config_dir().join("settings.json"), SETTINGS).expect("settings");
        let programs = hermetic.root().join("programs");
        fs::create_dir_all(&programs).expect("make a folder");
        symlink(claude.program(), programs.join("claude")).expect("link claude");
        symlink(codex.program(), programs.join("codex")).expect("link codex");

        agent_home.configure(&format!("[slack]\napi_url = \"{}\"\n", slack.base_url()));
        let mut command = hermetic.command(executable("turnbridge"));
        let agents = [claude.command(hermetic, &messages), codex.command(hermetic, &responses)];
        for agent in &agents {
            command.envs(agent.get_envs().filter_map(|(name, value)| Some((name, value?))));
        }
        let usual = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{usual}", programs.display()));
        command.env("TURNBRIDGE_SLACK_TIME_SCALE", "20");
        let codex_config = hermetic.codex_home().join("config.toml");
        let codex_config = fs::read_to_string(codex_config).expect("Codex's config");
        SetupHome { slack, messages, responses, agent_home, command, codex_config }
    }

    fn turnbridge(&self, arguments: &[&str]) -> Command {
        let mut command = self.agent_home.hermetic.command(executable("turnbridge"));
        command.envs(self.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.args(arguments);
        command
    }

    #[track_caller]
    fn thread(&self, parent: &str) -> String {
        wait_for(&format!("a thread of `{parent}`"), || {
            let threads = self.slack.threads();
            let all: Vec<_> = threads.iter().map(|thread| &thread.parent.text).collect();
            let found = threads.iter().rev().find(|thread| thread.parent.text == parent);
            found.map(|thread| thread.parent.ts.clone()).ok_or_else(|| format!("{all:#?}"))
        })
    }

    /// Checks that `uninstall` restores everything.
    #[track_caller]
    fn check_uninstall(&self) {
        let output = self.turnbridge(&["uninstall", "--purge", "--yes"]).output().expect("run it");
        assert!(output.status.success(), "{output:?}");
        let hermetic = &self.agent_home.hermetic;
        let settings = fs::read_to_string(hermetic.claude_config_dir().join("settings.json"));
        assert_eq!(settings.expect("settings.json"), SETTINGS);
        let config = fs::read_to_string(hermetic.codex_home().join("config.toml"));
        assert_eq!(config.expect("config.toml"), self.codex_config);
        assert!(
            !hermetic.state_dir().exists() && !hermetic.config_dir().join("config.toml").exists()
        );
    }
}

impl Drop for SetupHome {
    fn drop(&mut self) {
        let _ = self.turnbridge(&["daemon", "stop"]).output();
    }
}

/// SLV-10, SLV-12 to SLV-14.
#[test]
fn without_a_terminal_a_notice_of_each_agent_arrives() {
    let Some(claude) = gates::fast::<Claude>() else { return };
    let Some(codex) = gates::fast::<Codex>() else { return };
    let site = SetupHome::new(&claude, &codex, ["A test run.", "unused"]);
    let mut command = site.turnbridge(&["setup", "--user", "U0OWNER", "--no-service"]);
    command.args(["--bot-token-stdin", "--app-token-stdin"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("start it");
    let mut stdin = child.stdin.take().expect("stdin");
    std::io::Write::write_all(&mut stdin, b"xoxb-loopback-bot\nxapp-loopback-app\n").expect("feed");
    drop(stdin);
    let output = child.wait_with_output().expect("wait");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.matches("ok: the notice has arrived in Slack").count(), 2, "{said}");
    let prompt = "Please say: \"[Turnbridge end-to-end test] This message is a test run.\"";
    let threads = site.slack.threads();
    let parents: Vec<_> = threads.iter().map(|thread| thread.parent.text.as_str()).collect();
    assert_eq!(parents, [prompt; 2]);
    // The daemon detects Codex's session, which may take a moment.
    wait_for("both sessions", || {
        let sessions = site.agent_home.sessions(SessionSelection::All);
        if sessions.len() == 2 { Ok(()) } else { Err(format!("{sessions:#?}")) }
    });
    site.agent_home.assert_no_problems();
    let doctor = site.turnbridge(&["doctor", "--json"]).output().expect("run the doctor");
    let found: serde_json::Value = serde_json::from_slice(&doctor.stdout).expect("JSON");
    assert_eq!(doctor.status.code(), Some(0), "{found:#}");
    site.check_uninstall();
}

#[test]
fn x36_without_slack_a_turn_of_each_agent_is_on_the_board() {
    let Some(claude) = gates::slow::<Claude>() else { return };
    let Some(codex) = gates::slow::<Codex>() else { return };
    let site = SetupHome::new(&claude, &codex, ["A test run.", "unused"]);
    let setup = ["setup", "--no-slack", "--no-service", "--codex", "notify"];
    let output = site.turnbridge(&setup).stdin(Stdio::null()).output().expect("run it");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.matches("ok: the turn is on the board").count(), 2, "{said}");
    assert_eq!(site.agent_home.sessions(SessionSelection::All).len(), 2);
    assert!(site.slack.calls().is_empty(), "{:?}", site.slack.calls());
    let doctor = site.turnbridge(&["doctor", "--json"]).output().expect("run the doctor");
    let found: serde_json::Value = serde_json::from_slice(&doctor.stdout).expect("JSON");
    assert_eq!(doctor.status.code(), Some(0), "{found:#}");
    site.agent_home.assert_no_problems();
    site.check_uninstall();
}

#[test]
fn slv_6_the_wizard_in_japanese_ends_with_replies_that_have_run() {
    let prompt =
        "「【Turnbridge 本番同等テスト】このメッセージはテスト実行です。」と言ってください";
    check_wizard(WizardTexts {
        language: "ja",
        slack: "Slack を設定しますか？ [Y/n]",
        bot: "ボットトークン（xoxb-…、表示されません）：",
        app: "アプリレベルトークン（xapp-…、表示されません）：",
        write: "Enter を押すとメンバー ID の入力に切り替わります",
        owner: "自分の名前が入ったそのメッセージが届きましたか？ [y/N]",
        claude: "に登録しますか？ [Y/n]",
        consent: "このように変更しますか？ [y/N]",
        codex: "`notify` を設定しますか？ [Y/n]",
        service: "ログイン時にデーモンを自動的に起動しますか",
        connected: "OK：デーモンが Slack に接続しました",
        trial: "で実際にテストしますか？",
        arrived: "OK：通知が Slack に届きました",
        reply: "受信を待っています（Enter で省略）",
        ran: "OK：返信が実行され、その結果が新しいスレッドになりました",
        finished: "設定が完了しました。",
        prompt,
    });
}

/// SLV-10.
#[test]
fn slv_6_the_wizard_in_english_ends_with_replies_that_have_run() {
    let prompt = "Please say: \"[Turnbridge end-to-end test] This message is a test run.\"";
    check_wizard(WizardTexts {
        language: "en",
        slack: "Set up Slack? [Y/n]",
        bot: "Bot token (xoxb-..., it is not shown):",
        app: "App-level token (xapp-..., it is not shown):",
        write: "Waiting for it (Enter: type your member id instead)",
        owner: "with your own name in it? [y/N]",
        claude: "so that Claude Code tells Turnbridge of its turns? [Y/n]",
        consent: "like this? [y/N]",
        codex: "so that Codex tells Turnbridge of its turns? [Y/n]",
        service: "Have the daemon started whenever you log in",
        connected: "ok: the daemon is connected to Slack",
        trial: "? (It runs one short prompt.) [Y/n]",
        arrived: "ok: the notice has arrived in Slack",
        reply: "Waiting for it (Enter skips this)",
        ran: "ok: the reply was run, and its turn is a new thread",
        finished: "All is set up.",
        prompt,
    });
}

/// The wizard's texts in a language.
struct WizardTexts {
    language: &'static str,
    slack: &'static str,
    bot: &'static str,
    app: &'static str,
    write: &'static str,
    owner: &'static str,
    claude: &'static str,
    consent: &'static str,
    codex: &'static str,
    service: &'static str,
    connected: &'static str,
    trial: &'static str,
    arrived: &'static str,
    reply: &'static str,
    ran: &'static str,
    finished: &'static str,
    prompt: &'static str,
}

#[track_caller]
fn check_wizard(words: WizardTexts) {
    let Some(claude) = gates::slow::<Claude>() else { return };
    let Some(codex) = gates::slow::<Codex>() else { return };
    let site = SetupHome::new(&claude, &codex, ["A test run.", "Understood."]);
    let talk = WizardTerminal {
        tmux: Tmux::start(
            &site.agent_home.hermetic,
            &site.turnbridge(&["setup", "--language", words.language]),
        ),
    };
    talk.answer(words.slack, 1, "");
    talk.answer(words.bot, 1, "xoxb-loopback-bot");
    talk.answer(words.app, 1, "xapp-loopback-app");
    let said = talk.see(words.write, 1);
    let code = said.lines().find_map(|line| line.trim().strip_prefix("turnbridge "));
    let code = code.expect("the words to write").trim();
    site.slack.wait_for_sockets(1, TIMEOUT);
    site.slack.say(None, &format!("turnbridge {code}"));
    talk.answer(words.owner, 1, "y");
    talk.answer(words.claude, 1, "");
    talk.answer(words.consent, 1, "y");
    talk.answer(words.codex, 1, "");
    talk.answer(words.consent, 2, "y");
    if talk.sees_one_of(words.service, words.connected) == words.service {
        talk.answer(words.service, 1, "n");
    }
    for (number, reply) in [(1, "first reply"), (2, "second reply")] {
        talk.answer(words.trial, number, "");
        talk.see(words.arrived, number);
        talk.see(words.reply, number);
        let thread = site.thread(words.prompt);
        site.slack.say(Some(&thread), reply);
        talk.see(words.ran, number);
        site.thread(reply);
    }
    let said = talk.see(words.finished, 1);
    assert!(!said.contains("loopback-"), "a token was shown: {said}");
    wait_for("the end of the wizard", || match talk.tmux.is_running() {
        false => Ok(()),
        true => Err(talk.said()),
    });
    let requests = site.messages.requests();
    let asked = claude_prompts(requests.last().expect("a request of claude"));
    for prompt in [words.prompt, "first reply"] {
        assert!(asked.iter().any(|asked| asked == prompt), "{asked:#?}");
    }
    let asked: Vec<_> = site.responses.requests().iter().map(codex_prompt).collect();
    assert_eq!(asked, [words.prompt, "second reply"], "codex");
    assert_eq!(site.slack.violations(), Vec::<String>::new());
    site.agent_home.assert_no_problems();
    site.check_uninstall();
}

/// The wizard in its terminal.
struct WizardTerminal {
    tmux: Tmux,
}

impl WizardTerminal {
    /// Returns all output so far, without the terminal's own line breaks.
    fn said(&self) -> String {
        self.tmux.run(&["capture-pane", "-p", "-J", "-S", "-"])
    }

    /// Waits until this text was printed this many times.
    #[track_caller]
    fn see(&self, text: &str, times: usize) -> String {
        let deadline = Instant::now() + 2 * TIMEOUT;
        loop {
            let said = self.said();
            if said.matches(text).count() >= times {
                return said;
            }
            assert!(Instant::now() < deadline, "not said {times} times: `{text}`\n{said}");
            std::thread::sleep(Duration::from_millis(40));
        }
    }

    #[track_caller]
    fn sees_one_of<'a>(&self, first: &'a str, second: &'a str) -> &'a str {
        wait_for(&format!("`{first}` or `{second}`"), || {
            let said = self.said();
            let found = [first, second].into_iter().find(|text| said.contains(text));
            found.ok_or(said)
        })
    }

    #[track_caller]
    fn answer(&self, question: &str, times: usize, text: &str) {
        self.see(question, times);
        self.tmux.send_text(text);
        self.tmux.send_key("Enter");
    }
}
