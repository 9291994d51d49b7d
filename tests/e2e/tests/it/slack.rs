//! Tests that turns of the real claude become threads in a loopback Slack.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::slack::SlackThread;
use testkit::{Claude, ModelReply, Script, SlackApi, SlackSetup};

use crate::support::agent_home::AgentHome;
use crate::support::gates;
use crate::support::terminal::AgentTerminal;
use crate::support::world::{ApiWorld, SessionSelection, executable, stdout_of};

const TIMEOUT: Duration = Duration::from_secs(60);

struct ClaudeSlackWorld {
    slack: SlackApi,
    world: ApiWorld,
}

impl ClaudeSlackWorld {
    fn new(claude: Claude, script: impl Into<Script>, gate: bool) -> ClaudeSlackWorld {
        let slack = SlackApi::start(SlackSetup::default());
        let world = ApiWorld::with_gate(claude, script);
        world.configure(&format!(
            "[slack]\nbot_token = \"xoxb-loopback-bot\"\napi_url = \"{}\"\n\
             [destinations.dm]\ntarget_user_id = \"U0OWNER\"\n[gate]\nenabled = {gate}\n",
            slack.base_url()
        ));
        ClaudeSlackWorld { slack, world }
    }

    fn claude(&self) -> Command {
        let mut command = self.world.claude();
        command.env("TURNBRIDGE_SLACK_TIME_SCALE", "20");
        command
    }

    /// Waits for this many threads with all their parts, and for an empty outbox.
    #[track_caller]
    fn threads(&self, count: usize) -> Vec<SlackThread> {
        threads(&self.slack, &self.world, count)
    }
}

/// Waits until there are this many threads and the outbox is empty. Returns the threads.
#[track_caller]
pub fn threads(slack: &SlackApi, agent_home: &AgentHome, count: usize) -> Vec<SlackThread> {
    testkit::wait_until(TIMEOUT, &format!("{count} threads and an empty outbox"), || {
        let threads = slack.threads();
        (threads.len() >= count && agent_home.outbox().is_empty()).then_some(())
    });
    let threads = slack.threads();
    assert_eq!(threads.len(), count, "{threads:#?}");
    threads
}

/// Returns the texts of a thread's replies.
pub fn texts(thread: &SlackThread) -> Vec<&str> {
    thread.replies.iter().map(|reply| reply.text.as_str()).collect()
}

/// SLV-3, SLV-22, SLV-27 to SLV-29, SLV-32, SLV-33, SLV-35, SLV-36, SLV-73 to SLV-75.
#[test]
fn a_long_answer_of_the_real_claude_is_one_thread_with_every_part() {
    let Some(claude) = gates::fast() else { return };
    let section = "## Result 結果 🎉\n\nThe type is `Vec<T>` & all is well.\n\n\
                   | a | b |\n| --- | --- |\n| 1 | 2 |\n\n```rust\nlet x = a < b && c > d;\n```\n\n";
    let answer = section.repeat(30_000 / section.chars().count() + 1);
    let slack_world = ClaudeSlackWorld::new(claude, vec![ModelReply::text(&answer)], false);
    let mut command = slack_world.claude();
    command.args(["-p", "show me <!channel> everything"]);
    let printed = stdout_of(&command.output().expect("run claude"));
    assert_eq!(printed.trim_end(), answer.trim_end());
    let thread = slack_world.threads(1).remove(0);
    assert_eq!(thread.parent.text, "show me &lt;!channel&gt; everything");
    let parts = thread.replies.len();
    assert!(parts >= 8, "{parts} parts");
    for (number, reply) in thread.replies.iter().enumerate() {
        assert!(reply.text.chars().count() <= 3_800, "{}", reply.text.chars().count());
        assert!(reply.text.starts_with(&format!("({}/{parts})", number + 1)), "{}", reply.text);
    }
    let all = texts(&thread).concat();
    let sections = answer.matches("## Result").count();
    for piece in [
        "## Result 結果 🎉",
        "`Vec&lt;T&gt;` &amp; all",
        "| 1 | 2 |",
        "a &lt; b &amp;&amp; c &gt; d",
    ] {
        assert_eq!(all.matches(piece).count(), sections, "{piece}");
    }
    let routes = slack_world.world.routes();
    assert_eq!(routes.len(), 1, "{routes:?}");
    assert_eq!(routes[0]["thread_ts"], json!(thread.parent.ts));
    let session = slack_world.world.only_session(SessionSelection::All);
    assert_eq!(routes[0]["session_id"], session["session_id"]);
    assert_eq!(routes[0]["cwd"], json!(slack_world.world.hermetic.project()));
    slack_world.world.assert_no_problems();
}

#[test]
fn tools_speech_and_resumption_each_make_one_thread_with_the_right_prompt() {
    let Some(claude) = gates::slow() else { return };
    let script = vec![
        ModelReply::tool("Bash", json!({"command": "echo one", "description": "Say one"})),
        ModelReply::text("One was said."),
        ModelReply::tool("mcp__plugin_turnbridge_voice__speak", json!({"text": "Said."})),
        ModelReply::text("Spoken."),
        ModelReply::text("Resumed and done."),
    ];
    let slack_world = ClaudeSlackWorld::new(claude, script, true);
    let mut command = slack_world.claude();
    command.args(["--allowedTools", "Bash"]);
    let terminal = AgentTerminal::start_command(&slack_world.world, &command);
    terminal.submit("say one");
    let session = terminal.wait_for_state("completed/ok");
    let thread = slack_world.threads(1).remove(0);
    assert_eq!(thread.parent.text, "say one");
    // Its answer before the request to speak, and the one after.
    assert_eq!(texts(&thread), ["One was said.", "Spoken."]);
    terminal.exit();

    let mut command = slack_world.claude();
    let id = session["session_id"].as_str().expect("an id");
    command.args(["-r", id, "-p", "go on"]);
    assert_eq!(stdout_of(&command.output().expect("run claude")), "Resumed and done.\n");
    let threads = slack_world.threads(2);
    let resumed = threads.iter().find(|thread| thread.parent.text == "go on").expect("its thread");
    assert_eq!(texts(resumed), ["Resumed and done."]);
    let sessions: Vec<Value> =
        slack_world.world.routes().iter().map(|route| route["session_id"].clone()).collect();
    assert_eq!(sessions, [json!(id), json!(id)]);
    slack_world.world.assert_no_problems();
}

#[test]
fn with_slack_down_for_the_whole_turn_the_next_turn_brings_both() {
    let Some(claude) = gates::slow() else { return };
    let script = vec![ModelReply::text("First."), ModelReply::text("Second.")];
    let slack_world = ClaudeSlackWorld::new(claude, script, false);
    slack_world.slack.down();
    let run = |prompt: &str| {
        let mut command = slack_world.claude();
        command.args(["-p", prompt]);
        stdout_of(&command.output().expect("run claude"))
    };
    assert_eq!(run("one"), "First.\n");
    testkit::wait_until(TIMEOUT, "a failed attempt", || {
        let outbox = slack_world.world.outbox();
        outbox.first().is_some_and(|notice| notice["attempts"] == 1).then_some(())
    });
    slack_world.slack.up();
    // The first is due again after ten seconds; the next hook's notifier delivers it then.
    std::thread::sleep(Duration::from_secs(11));
    assert_eq!(run("two"), "Second.\n");
    let threads = slack_world.threads(2);
    let mut prompts: Vec<_> = threads.iter().map(|thread| thread.parent.text.as_str()).collect();
    prompts.sort_unstable();
    assert_eq!(prompts, ["one", "two"]);
    assert!(threads.iter().all(|thread| thread.replies.len() == 1), "{threads:#?}");
}

/// SLV-65: without the plugin, with one line in settings.json.
#[test]
fn a_stop_hook_made_by_hand_finds_the_prompt_in_the_transcript() {
    let Some(claude) = gates::slow() else { return };
    let slack_world = ClaudeSlackWorld::new(claude, vec![ModelReply::text("By hand.")], true);
    let program = executable("turnbridge");
    let command = format!("'{}' notify --tool claude", program.display());
    let settings =
        json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}});
    let path = slack_world.world.hermetic.claude_config_dir().join("settings.json");
    std::fs::write(path, settings.to_string()).expect("write settings.json");
    let mut command = slack_world.world.claude_without_plugin();
    command.env("TURNBRIDGE_SLACK_TIME_SCALE", "20").args(["-p", "with my own hands"]);
    assert_eq!(stdout_of(&command.output().expect("run claude")), "By hand.\n");
    let thread = slack_world.threads(1).remove(0);
    assert_eq!(thread.parent.text, "with my own hands");
    assert_eq!(texts(&thread), ["By hand."]);
    slack_world.world.assert_no_problems();
}

#[test]
fn that_the_agent_waits_is_told_to_who_wants_it() {
    let Some(claude) = gates::slow() else { return };
    let script = vec![
        ModelReply::tool("Bash", json!({"command": "touch x", "description": "Touch it"})),
        ModelReply::text("Touched."),
    ];
    let slack_world = ClaudeSlackWorld::new(claude, script, false);
    let path = slack_world.world.hermetic.config_dir().join("config.toml");
    let config = std::fs::read_to_string(path).expect("read config.toml");
    slack_world.world.configure(&format!("{config}[notify]\nwaiting = true\n"));
    let terminal = AgentTerminal::start_command(&slack_world.world, &slack_world.claude());
    terminal.submit("touch it");
    terminal.wait_for_dialog();
    let thread = slack_world.threads(1).remove(0);
    assert_eq!(thread.parent.text, "touch it");
    assert_eq!(texts(&thread), ["Waiting for you: `Bash`"]);
    terminal.tmux.send_key("Enter");
    terminal.wait_for_state("completed/ok");
    let threads = slack_world.threads(2);
    assert!(threads.iter().any(|thread| texts(thread) == ["Touched."]), "{threads:#?}");
    terminal.exit();
    slack_world.world.assert_no_problems();
}
