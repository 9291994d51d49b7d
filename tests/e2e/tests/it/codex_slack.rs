//! Tests that turns of the real Codex become threads in a loopback Slack: by `notify =` in Codex's
//! settings alone, and together with the plugin's hooks.

use std::fs;

use serde_json::{Value, json};
use testkit::slack::SlackThread;
use testkit::{Codex, ModelReply, Script, SlackApi, SlackSetup, Tmux};

use crate::codex_exec::{signal, with_sub_agent};
use crate::codex_terminal::{CodexTerminal, asking};
use crate::slack::{self, texts};
use crate::support::agent_home::{executable, stdout_of};
use crate::support::codex_world::{CODE_MODEL, CodexWorld, run, thread_told};
use crate::support::gates;
use crate::support::timeouts::{TIMEOUT, wait_for};

struct CodexSlackWorld {
    slack: SlackApi,
    world: CodexWorld,
}

impl CodexSlackWorld {
    /// Starts with `turnbridge` as Codex's notify program.
    #[track_caller]
    fn new(codex: Codex, script: impl Into<Script>) -> CodexSlackWorld {
        let slack = SlackApi::start(SlackSetup::default());
        let world = CodexWorld::bare(codex, script);
        world.configure(&format!(
            "[slack]\nbot_token = \"xoxb-loopback-bot\"\napi_url = \"{}\"\n\
             [destinations.dm]\ntarget_user_id = \"U0OWNER\"\n",
            slack.base_url()
        ));
        let program = executable("turnbridge");
        let notify = format!("notify = ['{}', 'notify', '--tool', 'codex']", program.display());
        world.codex.configure(&world.hermetic, &world.api, &notify);
        CodexSlackWorld { slack, world }
    }

    /// Starts with a notify program that also records each processed report. Codex waits for none
    /// of them, and a report without a notice leaves no other trace.
    #[track_caller]
    fn counting_reports(codex: Codex, script: impl Into<Script>) -> CodexSlackWorld {
        let slack_world = CodexSlackWorld::new(codex, script);
        let root = slack_world.world.hermetic.root();
        let program = root.join("notify.sh");
        let script = format!(
            "#!/bin/sh\n'{}' notify --tool codex \"$@\"\necho >> '{}'\n",
            executable("turnbridge").display(),
            root.join("reports").display()
        );
        testkit::write_program(&program, &script);
        let notify = format!("notify = ['{}']", program.display());
        slack_world.world.codex.configure(
            &slack_world.world.hermetic,
            &slack_world.world.api,
            &notify,
        );
        slack_world
    }

    /// Waits until this many reports of Codex were processed.
    #[track_caller]
    fn wait_for_reports(&self, count: usize) {
        wait_for(&format!("{count} reports of Codex"), || {
            let reports = fs::read_to_string(self.world.hermetic.root().join("reports"));
            match reports.map(|lines| lines.lines().count()) {
                Ok(seen) if seen == count => Ok(()),
                other => Err(format!("{other:?}")),
            }
        });
    }

    /// Runs one turn of `codex exec`, and returns its thread's id.
    #[track_caller]
    fn exec(&self, arguments: &[&str]) -> String {
        let mut command = self.world.exec_with(arguments);
        let output = run(command.env("TURNBRIDGE_SLACK_TIME_SCALE", "20"));
        stdout_of(&output);
        thread_told(&output)
    }

    #[track_caller]
    fn threads(&self, count: usize) -> Vec<SlackThread> {
        slack::threads(&self.slack, &self.world, count)
    }

    /// Returns the Slack thread that a prompt began.
    #[track_caller]
    fn thread_of(&self, prompt: &str, count: usize) -> SlackThread {
        let threads = self.threads(count);
        let of_prompt = threads.iter().find(|thread| thread.parent.text == prompt);
        of_prompt.unwrap_or_else(|| panic!("no thread for `{prompt}`: {threads:#?}")).clone()
    }

    /// Waits until this many reports of Codex were found to be no user's turn, for this reason.
    /// Codex does not wait for its notify program.
    #[track_caller]
    fn wait_for_internal(&self, reason: &str, count: usize) {
        wait_for(&format!("{count} × `{reason}` in notify.log"), || {
            let log = self.notify_log();
            let is_it = |entry: &&Value| entry["reason"] == reason;
            match log.iter().filter(is_it).count() == count {
                true => Ok(()),
                false => Err(format!("{log:#?}")),
            }
        });
    }

    #[track_caller]
    fn notify_log(&self) -> Vec<Value> {
        let hermetic = &self.world.hermetic;
        let on_macos = hermetic.home().join("Library/Logs/turnbridge");
        let folders = [hermetic.state_dir().join("logs"), on_macos];
        let logs = folders.map(|folder| fs::read_to_string(folder.join("notify.log")));
        let text = logs.into_iter().flatten().collect::<String>();
        text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }

    #[track_caller]
    fn assert_no_problems(&self) {
        self.world.assert_no_problems();
        let log = self.notify_log();
        assert!(log.iter().all(|entry| entry["level"] == "info"), "{log:#?}");
    }
}

/// SLV-56 to SLV-58, SLV-60, SLV-73, SLV-75.
#[test]
fn each_turn_that_codex_reports_is_one_thread_and_a_long_answer_is_whole() {
    let Some(codex) = gates::fast() else { return };
    let section = "## Result 結果 🎉\n\nThe type is `Vec<T>` & all is well.\n\n\
                   ```rust\nlet x = a < b && c > d;\n```\n\n";
    let answer = section.repeat(30_000 / section.chars().count() + 1);
    let script = vec![
        ModelReply::text(&answer),
        ModelReply::tool("exec_command", json!({"cmd": "echo one"})),
        ModelReply::text("One was said."),
    ];
    let slack_world = CodexSlackWorld::new(codex, script);
    let settings = slack_world.world.codex_config();
    let thread = slack_world.exec(&["show me <!channel> everything"]);
    let whole = slack_world.thread_of("show me &lt;!channel&gt; everything", 1);
    let parts = whole.replies.len();
    assert!(parts >= 8, "{parts} parts");
    for (number, reply) in whole.replies.iter().enumerate() {
        assert!(reply.text.chars().count() <= 3_800, "{}", reply.text.chars().count());
        assert!(reply.text.starts_with(&format!("({}/{parts})", number + 1)), "{}", reply.text);
    }
    let all = texts(&whole).concat();
    let sections = answer.matches("## Result").count();
    for piece in ["## Result 結果 🎉", "`Vec&lt;T&gt;` &amp; all", "a &lt; b &amp;&amp; c &gt; d"]
    {
        assert_eq!(all.matches(piece).count(), sections, "{piece}");
    }

    assert_eq!(slack_world.exec(&["resume", &thread, "now say one"]), thread);
    let second = slack_world.thread_of("now say one", 2);
    assert_eq!(texts(&second), ["One was said."]);
    let routes = slack_world.world.routes();
    assert_eq!(routes.len(), 2, "{routes:#?}");
    for route in &routes {
        assert_eq!(route["session_id"], json!(thread));
        assert_eq!(route["tool"], "codex");
        assert_eq!(route["cwd"], json!(slack_world.world.hermetic.project()));
    }
    assert!(slack_world.world.codex_config() == settings, "config.toml has changed");
    slack_world.assert_no_problems();
}

#[test]
fn a_sub_agent_of_codex_makes_no_thread() {
    let Some(codex) = gates::fast() else { return };
    let slack_world = CodexSlackWorld::new(codex, with_sub_agent());
    slack_world.exec(&["have them counted", CODE_MODEL[0], CODE_MODEL[1]]);
    slack_world.wait_for_internal("a sub-agent", 1);
    let thread = slack_world.thread_of("have them counted", 1);
    assert_eq!(texts(&thread), ["They were counted."]);
    slack_world.assert_no_problems();
}

/// SLV-62.
#[test]
fn the_title_that_codex_s_terminal_makes_is_no_thread() {
    let Some(codex) = gates::fast() else { return };
    let script = Script::new().on("look around", vec![ModelReply::text("Nothing to do.")]);
    let slack_world = CodexSlackWorld::new(codex, script);
    let mut command = slack_world.world.codex();
    command.env("TURNBRIDGE_SLACK_TIME_SCALE", "20").arg("look around");
    let tmux = Tmux::start(&slack_world.world.hermetic, &command);
    tmux.wait_for("Test session", TIMEOUT);
    slack_world.wait_for_internal("it makes a title", 1);
    let thread = slack_world.thread_of("look around", 1);
    assert_eq!(texts(&thread), ["Nothing to do."]);
    slack_world.assert_no_problems();
}

#[test]
fn hooks_and_notify_together_make_one_thread_a_turn() {
    let Some(codex) = gates::fast() else { return };
    let script = vec![ModelReply::text("By both roads."), ModelReply::text("Once more.")];
    let mut slack_world = CodexSlackWorld::counting_reports(codex, script);
    slack_world.world.install_plugin();
    let thread = slack_world.exec(&["tell it once"]);
    slack_world.wait_for_reports(1);
    assert_eq!(texts(&slack_world.thread_of("tell it once", 1)), ["By both roads."]);
    slack_world.exec(&["resume", &thread, "and again"]);
    slack_world.wait_for_reports(2);
    assert_eq!(texts(&slack_world.thread_of("and again", 2)), ["Once more."]);
    let turns = slack_world.world.show(&thread)["turns"].as_array().map(Vec::len);
    assert_eq!(turns, Some(2), "the hooks have not run");
    slack_world.assert_no_problems();
}

/// Codex reports neither, so a later turn proves that there was no report.
#[test]
fn failed_and_interrupted_turns_of_codex_make_no_thread_by_notify() {
    let Some(codex) = gates::slow() else { return };
    let input = json!({"cmd": "touch begun; exec sleep 20", "yield_time_ms": 20_000});
    let script = vec![
        ModelReply::error(500, "server_error", "out of order"),
        ModelReply::tool("exec_command", input),
        ModelReply::text("At last."),
    ];
    let slack_world = CodexSlackWorld::counting_reports(codex, script);
    let failed = run(&mut slack_world.world.exec("this fails"));
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
    let thread = thread_told(&failed);

    let mut process = slack_world.world.exec("this is interrupted").spawn().expect("start codex");
    let begun = slack_world.world.hermetic.project().join("begun");
    testkit::wait_until(TIMEOUT, "the command", || begun.exists().then_some(()));
    signal(&process, "-INT");
    process.wait().expect("wait for codex");

    slack_world.exec(&["resume", &thread, "this works"]);
    slack_world.wait_for_reports(1);
    assert_eq!(texts(&slack_world.thread_of("this works", 1)), ["At last."]);
    slack_world.assert_no_problems();
}

#[test]
fn that_codex_waits_is_told_to_who_wants_it() {
    let Some(codex) = gates::slow() else { return };
    let replies = vec![asking("touch made"), ModelReply::text("It is touched.")];
    let mut slack_world =
        CodexSlackWorld::counting_reports(codex, Script::new().on("touch it", replies));
    slack_world.world.install_plugin();
    let path = slack_world.world.hermetic.config_dir().join("config.toml");
    let config = fs::read_to_string(path).expect("read config.toml");
    slack_world.world.configure(&format!("{config}[notify]\nwaiting = true\n"));
    let terminal = CodexTerminal::start(&slack_world.world, "touch it");
    terminal.wait_for_dialog();
    let waiting = slack_world.thread_of("touch it", 1);
    assert_eq!(texts(&waiting), ["Waiting for you: `Bash`"]);
    terminal.press("Enter");
    terminal.wait_for_state("completed/ok");
    // The reports of the title and of the turn.
    slack_world.wait_for_reports(2);
    let threads = slack_world.threads(2);
    assert!(threads.iter().any(|thread| texts(thread) == ["It is touched."]), "{threads:#?}");
    terminal.exit();
    slack_world.assert_no_problems();
}

/// X1: the user's own program is still called, and its entry is restored.
#[test]
fn the_real_codex_fires_an_applied_notify_and_the_one_behind_it() {
    let Some(codex) = gates::slow() else { return };
    let slack_world =
        CodexSlackWorld::new(codex, vec![ModelReply::text("One."), ModelReply::text("Two.")]);
    let root = slack_world.world.hermetic.root();
    let (program, told) = (root.join("mine.sh"), root.join("told"));
    let script = format!("#!/bin/sh\nprintf '%s\\n' \"$1\" >> '{}'\n", told.display());
    testkit::write_program(&program, &script);
    let notify = format!("notify = ['{}', 'mine']  # mine", program.display());
    slack_world.world.codex.configure(&slack_world.world.hermetic, &slack_world.world.api, &notify);
    let config = || slack_world.world.codex_config().0;
    let before = config();
    let turnbridge = |arguments: &[&str]| {
        let mut command = slack_world.world.hermetic.command(executable("turnbridge"));
        stdout_of(&command.args(["codex", "notify"]).args(arguments).output().expect("run it"))
    };
    let told_times = |count: usize| {
        wait_for(&format!("{count} reports to the user's program"), || {
            match fs::read_to_string(&told).unwrap_or_default().lines().count() {
                seen if seen == count => Ok(()),
                seen => Err(seen.to_string()),
            }
        });
    };
    turnbridge(&["apply", "--chain", "--yes"]);
    slack_world.exec(&["first"]);
    assert_eq!(texts(&slack_world.thread_of("first", 1)), ["One."]);
    told_times(1);
    turnbridge(&["remove", "--yes"]);
    assert_eq!(config(), before);
    slack_world.exec(&["second"]);
    told_times(2);
    assert_eq!(slack_world.slack.threads().len(), 1, "ours is told no more");
}
