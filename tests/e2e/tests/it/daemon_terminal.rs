//! Tests the daemon while the user has the agent open in a terminal: replies still reach the
//! session, and the host applications get events that no hook reports.

use std::process::Command;
use std::time::Duration;

use serde_json::json;
use testkit::{Claude, Codex, ModelReply, Script, Tmux};

use crate::interactive::hosts_are_told;
use crate::replies::{claude_prompts, codex_prompt};
use crate::service::{DaemonService, FOR_TERMINAL, HELD, RECEIVED};
use crate::slack::texts;
use crate::support::codex_world::CodexWorld;
use crate::support::gates;
use crate::support::terminal::AgentTerminal;
use crate::support::timeouts::{TIMEOUT, wait_for};
use crate::support::world::{ApiWorld, SessionSelection};

/// A delay longer than any of these tests.
const AGES: Duration = Duration::from_secs(20);

/// SLV-84: the receipt warns, and the run happens beside the terminal.
#[test]
fn a_reply_runs_beside_an_open_terminal_of_claude() {
    let Some(claude) = gates::slow::<Claude>() else { return };
    let world =
        ApiWorld::with_gate(claude, vec![ModelReply::text("One."), ModelReply::text("Two.")]);
    let service = DaemonService::with_claude(&world, "");
    let terminal = AgentTerminal::start(&world);
    terminal.submit("first");
    let first = service.thread_of("first");
    service.delay_the_receipt();
    service.slack.say(Some(&first.parent.ts), "beside the terminal");
    service.wait_for_words(&first, &[RECEIVED]);
    assert_eq!(texts(&service.thread_of("beside the terminal")), ["Two."]);
    service.wait_for_ends(&["done"]);
    service.assert_received_before_the_run(&first);
    assert_eq!(service.runs(), [world.hermetic.project()]);
    let prompts = claude_prompts(&world.api.requests()[1]);
    assert!(prompts.iter().any(|prompt| prompt == "first"), "{prompts:#?}");
    // The terminal still runs, with its own process.
    let session = terminal.wait_for_state("completed/ok");
    assert_eq!((session["pid"].as_u64(), session["live_runs"].as_u64()), {
        (Some(terminal.tmux.pid().into()), Some(1))
    });
    terminal.exit();
    service.assert_no_problems();
}

/// `resume.live = "hold"`.
#[test]
fn a_held_reply_runs_when_the_terminal_of_claude_has_gone() {
    let Some(claude) = gates::slow::<Claude>() else { return };
    let world =
        ApiWorld::with_gate(claude, vec![ModelReply::text("One."), ModelReply::text("Two.")]);
    let service = DaemonService::with_claude(&world, "live = \"hold\"\n");
    let terminal = AgentTerminal::start(&world);
    terminal.submit("first");
    let first = service.thread_of("first");
    service.slack.say(Some(&first.parent.ts), "when you have time");
    service.wait_for_words(&first, &[RECEIVED, HELD]);
    // Waits for several poll intervals of the daemon.
    std::thread::sleep(Duration::from_secs(4));
    assert!(service.runs().is_empty() && world.api.requests().len() == 1);
    terminal.exit();
    assert_eq!(texts(&service.thread_of("when you have time")), ["Two."]);
    service.wait_for_ends(&["done"]);
    assert_eq!(service.runs(), [world.hermetic.project()]);
    assert_eq!(service.said_in(&first).len(), 4, "{:#?}", service.said_in(&first));
    service.assert_no_problems();
}

/// `resume.live = "pane"`: behind `!` Claude passes a line to a shell, in a menu Enter selects, and
/// in the transcript a text is lost. The reply waits until the input line is back.
#[test]
fn a_reply_is_typed_into_no_shell_mode_menu_or_transcript_of_claude() {
    let Some(claude) = gates::slow::<Claude>() else { return };
    let answers = ["One.", "Two.", "Three.", "Four."].map(ModelReply::text);
    let world = ApiWorld::with_gate(claude, Vec::from(answers));
    let service = DaemonService::with_claude(&world, "live = \"pane\"\n");
    let terminal = AgentTerminal::start(&world);
    terminal.submit("first");
    let first = service.thread_of("first");
    let views: [(&[&str], &str, &[&str]); 3] = [
        (&["!"], "! for shell mode", &["BSpace"]),
        (&["/model", "Enter"], "Select model", &["Escape"]),
        (&["C-o"], "Showing detailed transcript", &["C-o"]),
    ];
    for (index, (open, shown, close)) in views.into_iter().enumerate() {
        for key in open {
            terminal.tmux.send_key(key);
            std::thread::sleep(Duration::from_millis(500));
        }
        terminal.tmux.wait_for(shown, TIMEOUT);
        let text = format!("touch pwned{index}");
        service.slack.say(Some(&first.parent.ts), &text);
        // Waits for several poll intervals of the runner.
        std::thread::sleep(Duration::from_secs(4));
        assert_eq!(world.api.requests().len(), index + 1, "{}", terminal.tmux.screen());
        terminal.tmux.wait_for(shown, TIMEOUT);
        for key in close {
            terminal.tmux.send_key(key);
        }
        service.thread_of(&text);
        service.wait_for_ends(&vec!["handed_over"; index + 1]);
        assert!(!world.hermetic.project().join(format!("pwned{index}")).exists());
    }
    assert!(service.runs().is_empty(), "nothing ran beside it");
    terminal.exit();
    service.assert_no_problems();
}

/// `resume.live = "pane"`: while the agent works the reply waits, then it is typed completely,
/// once.
#[test]
fn a_reply_is_typed_into_the_pane_in_which_claude_is_open() {
    let Some(claude) = gates::slow::<Claude>() else { return };
    let answers = ["One.", "Two.", "Three."].map(ModelReply::text);
    let [one, two, three] = answers;
    let world = ApiWorld::with_gate(claude, vec![one, two.delayed(Duration::from_secs(3)), three]);
    let service = DaemonService::with_claude(&world, "live = \"pane\"\n");
    let terminal = AgentTerminal::start(&world);
    terminal.submit("first");
    let first = service.thread_of("first");
    terminal.submit("second, which takes a while");
    terminal.wait_for_state("working");
    let typed = "!first line; $(touch pwned)\n  second \"line\"\n\nlast `line` 日本語";
    service.slack.say(Some(&first.parent.ts), typed);
    terminal.tmux.send_text("half a draft");
    service.wait_for_words(&first, &[FOR_TERMINAL, HELD]);
    assert_eq!(texts(&service.thread_of("second, which takes a while")), ["Two."]);
    wait_for("the reply as a prompt", || match world.api.requests().len() {
        3 => Ok(()),
        count => Err(format!("{count} requests\n{}", terminal.tmux.screen())),
    });
    let prompts = claude_prompts(&world.api.requests()[2]);
    let arrived: Vec<_> = prompts.iter().filter(|prompt| prompt.contains("first line")).collect();
    assert_eq!(arrived.iter().map(|text| text.trim()).collect::<Vec<_>>(), [typed], "{prompts:#?}");
    service.wait_for_ends(&["handed_over"]);
    terminal.wait_for_state("completed/ok");
    assert!(service.runs().is_empty(), "nothing ran beside it");
    assert!(!world.hermetic.project().join("pwned").exists());
    let said = service.said_in(&first);
    assert!(!said.iter().any(|text| text.contains(RECEIVED)), "X40: {said:#?}");
    assert_eq!(world.api.requests().len(), 3);
    terminal.wait_for_input("half a draft");
    terminal.clear_input();
    terminal.exit();
    service.assert_no_problems();
}

/// X31: no command queries the sessions here; the daemon reports by itself.
#[test]
fn esc_in_claude_reaches_the_hosts_through_the_daemon() {
    let Some(claude) = gates::slow::<Claude>() else { return };
    let world = ApiWorld::with_gate(claude, vec![ModelReply::text("too late").delayed(AGES)]);
    let service = DaemonService::with_claude(&world, "");
    let terminal = AgentTerminal::start(&world);
    terminal.submit("first prompt");
    world.api.wait_for_requests(1, TIMEOUT);
    hosts_are_told(&world, "Busy UserPromptSubmit", "working UserPromptSubmit");
    terminal.tmux.send_key("Escape");
    hosts_are_told(&world, "Idle Interrupted", "completed Interrupted");
    let line = world.kawaii.lines().pop().expect("a line");
    assert_eq!(line["detail"], "interrupted", "{line}");
    terminal.clear_input();
    terminal.exit();
    service.assert_no_problems();
}

/// KT-44, X31.
#[test]
fn a_killed_claude_reaches_the_hosts_through_the_daemon() {
    let Some(claude) = gates::slow::<Claude>() else { return };
    let world = ApiWorld::with_gate(claude, vec![ModelReply::text("too late").delayed(AGES)]);
    let service = DaemonService::with_claude(&world, "");
    let terminal = AgentTerminal::start(&world);
    terminal.submit("first prompt");
    hosts_are_told(&world, "Busy UserPromptSubmit", "working UserPromptSubmit");
    kill(&terminal.tmux);
    hosts_are_told(&world, "Idle ProcessGone", "stopped ProcessGone");
    assert_eq!(world.sessions(SessionSelection::Live).len(), 0);
    service.assert_no_problems();
}

#[track_caller]
fn kill(tmux: &Tmux) {
    let pid = tmux.pid().to_string();
    let kill = Command::new("kill").args(["-KILL", &pid]).status().expect("run kill");
    assert!(kill.success(), "kill -KILL {pid}: {kill}");
}

/// Starts Codex in a terminal with a first prompt.
#[track_caller]
pub fn open_codex(world: &CodexWorld, prompt: &str) -> Tmux {
    let mut command = world.codex();
    command.arg(prompt);
    Tmux::start(&world.hermetic, &command)
}

/// Returns the user's prompts to the model, in order, without Codex's own request for a title.
pub fn asked(world: &CodexWorld) -> Vec<String> {
    let prompts = world.api.requests().iter().map(codex_prompt).collect::<Vec<_>>();
    prompts.into_iter().filter(|prompt| !prompt.starts_with("Generate a concise")).collect()
}

/// Creates a world without the plugin, with three answers for the prompt `first of all`.
#[track_caller]
pub fn codex_world(codex: Codex) -> CodexWorld {
    let replies = ["One.", "Two.", "Three."].map(ModelReply::text).to_vec();
    CodexWorld::bare(codex, Script::new().on("first of all", replies))
}

/// The terminal is its own server, and takes queued replies itself.
#[test]
fn a_reply_is_queued_for_an_open_terminal_of_codex() {
    let Some(codex) = gates::slow::<Codex>() else { return };
    let world = codex_world(codex);
    let service = DaemonService::with_codex(&world);
    let tmux = open_codex(&world, "first of all");
    tmux.wait_for("One.", TIMEOUT);
    let first = service.thread_of("first of all");
    service.slack.say(Some(&first.parent.ts), "-x from Slack");
    service.wait_for_words(&first, &[FOR_TERMINAL]);
    service.wait_for_ends(&["handed_over"]);
    tmux.wait_for("-x from Slack", TIMEOUT);
    tmux.wait_for("Two.", TIMEOUT);
    assert_eq!(asked(&world), ["first of all", "-x from Slack"]);
    assert_eq!(texts(&service.thread_of("-x from Slack")), ["Two."]);
    assert_eq!(service.slack.threads().len(), 2);
    service.assert_no_problems();
}

#[test]
fn a_reply_behind_a_running_turn_of_codex_is_said_to_wait_and_runs_after_it() {
    let Some(codex) = gates::slow::<Codex>() else { return };
    let [one, two, three] = ["One.", "Two.", "Three."].map(ModelReply::text);
    let replies = vec![one, two.delayed(AGES), three];
    let world = CodexWorld::bare(codex, Script::new().on("first of all", replies));
    let service = DaemonService::with_codex(&world);
    let tmux = open_codex(&world, "first of all");
    tmux.wait_for("One.", TIMEOUT);
    let first = service.thread_of("first of all");
    tmux.send_text("take your time");
    tmux.wait_for("take your time", TIMEOUT);
    // Codex treats an immediate Enter as a pasted line break.
    std::thread::sleep(Duration::from_millis(500));
    tmux.send_key("Enter");
    wait_for("the turn", || match asked(&world).len() {
        2 => Ok(()),
        _ => Err(tmux.screen()),
    });
    service.slack.say(Some(&first.parent.ts), "-x from Slack");
    service.wait_for_words(&first, &[FOR_TERMINAL, "has not begun it yet"]);
    service.wait_for_ends(&["not_begun"]);
    tmux.wait_for("Three.", TIMEOUT);
    assert_eq!(asked(&world), ["first of all", "take your time", "-x from Slack"]);
    assert_eq!(texts(&service.thread_of("-x from Slack")), ["Three."]);
    service.assert_no_problems();
}

/// Codex has a hook for neither.
#[test]
fn a_failed_turn_and_a_killed_codex_reach_the_hosts_through_the_daemon() {
    let Some(codex) = gates::slow::<Codex>() else { return };
    let replies = vec![ModelReply::error(500, "server_error", "out of order")];
    let world = CodexWorld::with_plugin(codex, Script::new().on("this fails", replies));
    let service = DaemonService::with_codex(&world);
    let tmux = open_codex(&world, "this fails");
    hosts_are_told(&world, "Idle task_complete", "completed task_complete");
    let line = world.kawaii.lines().pop().expect("a line");
    assert_eq!((&line["source"], &line["detail"]), (&json!("codex"), &json!("failed")), "{line}");
    let said = texts(&service.thread_of("this fails")).concat();
    assert!(said.starts_with("Ended with an error"), "{said}");
    kill(&tmux);
    hosts_are_told(&world, "Idle ProcessGone", "stopped ProcessGone");
    service.assert_no_problems();
}
