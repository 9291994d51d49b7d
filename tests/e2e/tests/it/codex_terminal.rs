//! Tests a user at Codex's terminal: dialogs, Esc and questions. The terminal is its own server
//! here, by `--no-daemon`, so that the hooks get the environment of this terminal.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Codex, ModelReply, Script, Tmux};

use crate::interactive::{LINES_OF_ONE_DIALOG, hosts_are_told};
use crate::support::agent_home::SessionSelection;
use crate::support::codex_world::CodexWorld;
use crate::support::gates;
use crate::support::hosts::pairs;
use crate::support::terminal::state_of;
use crate::support::timeouts::{TIMEOUT, wait_for};

/// A delay longer than any of these tests.
const AGES: Duration = Duration::from_secs(20);

const DIALOG: &str = "Would you like to run the following command?";

/// The text below a question while it is open.
const QUESTION: &str = "enter to submit";

/// A delay long enough to be observed.
const A_MOMENT: Duration = Duration::from_secs(1);

/// An interactive Codex in a tmux pane.
pub struct CodexTerminal<'world> {
    world: &'world CodexWorld,
    tmux: Tmux,
}

impl<'world> CodexTerminal<'world> {
    /// Starts Codex with a first prompt, in a mode in which it must ask before each write.
    #[track_caller]
    pub fn start(world: &'world CodexWorld, prompt: &str) -> CodexTerminal<'world> {
        let mut command = world.codex();
        command.env("TURNBRIDGE_SLACK_TIME_SCALE", "20");
        command.args(["-a", "on-request", "-s", "read-only", prompt]);
        let tmux = Tmux::start(&world.hermetic, &command);
        world.api.wait_for_requests(1, TIMEOUT);
        CodexTerminal { world, tmux }
    }

    /// Types and sends a prompt, with a pause: Codex treats an immediate Enter as a pasted line
    /// break.
    #[track_caller]
    fn submit(&self, prompt: &str) {
        self.tmux.send_text(prompt);
        self.tmux.wait_for_screen(TIMEOUT, &format!("`{prompt}` in the input line"), |screen| {
            let input = screen.lines().filter_map(|line| line.strip_prefix('›')).next_back();
            input.is_some_and(|input| input.trim() == prompt)
        });
        std::thread::sleep(Duration::from_millis(500));
        self.tmux.send_key("Enter");
    }

    /// Waits until the only live session has this state, and returns it.
    #[track_caller]
    pub fn wait_for_state(&self, state: &str) -> Value {
        self.world.wait_for_state(&self.tmux, state)
    }

    /// Waits for the dialog of a command, on the screen and in the session.
    #[track_caller]
    pub fn wait_for_dialog(&self) -> Value {
        self.tmux.wait_for(DIALOG, TIMEOUT);
        self.wait_for_state("waiting_user")
    }

    /// Presses a key. A new dialog ignores keys for a while, so the key is repeated until the
    /// dialog is gone.
    #[track_caller]
    pub fn press(&self, key: &str) {
        let has_dialog = || {
            let screen = self.tmux.screen();
            [DIALOG, QUESTION].iter().any(|text| screen.contains(text))
        };
        let is_dialog = has_dialog();
        self.tmux.send_key(key);
        wait_for("the end of the dialog", || {
            if !is_dialog || !has_dialog() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(500));
            if has_dialog() {
                self.tmux.send_key(key);
            }
            Err(self.tmux.screen())
        });
    }

    /// Exits by `/quit` and waits for the end of the process.
    #[track_caller]
    pub fn exit(&self) {
        self.submit("/quit");
        wait_for("the end of codex", || match self.tmux.is_running() {
            true => Err(self.tmux.screen()),
            false => Ok(()),
        });
    }
}

/// Returns a model's reply that runs a command for which Codex must ask.
pub fn asking(command: &str) -> ModelReply {
    let input = json!({
        "cmd": command,
        "yield_time_ms": AGES.as_millis() as u64,
        "sandbox_permissions": "require_escalated",
        "justification": "May I?",
    });
    ModelReply::tool("exec_command", input)
}

#[test]
fn an_approved_command_in_codex_s_terminal_is_told_from_start_to_exit() {
    let Some(codex) = gates::fast() else { return };
    let replies = vec![asking("touch made"), ModelReply::text("It is touched.").delayed(A_MOMENT)];
    let world = CodexWorld::with_plugin(codex, Script::new().on("touch it", replies));
    let terminal = CodexTerminal::start(&world, "touch it");
    let waiting = terminal.wait_for_dialog();
    let id = waiting["session_id"].as_str().expect("an id").to_owned();
    assert_eq!(id, world.only_thread());
    assert_eq!(waiting["tool"], "codex");
    assert_eq!(waiting["prompt"], "touch it");
    assert_eq!(waiting["waiting_for"], json!(["Bash"]));
    hosts_are_told(&world, "Waiting PermissionRequest", "waiting_user PermissionRequest");

    terminal.press("Enter");
    let working = terminal.wait_for_state("working");
    assert_eq!(working["last_event"], "PostToolUse");
    assert!(world.hermetic.project().join("made").exists());
    hosts_are_told(&world, "Busy PostToolUse", "working PostToolUse");

    terminal.wait_for_state("completed/ok");
    hosts_are_told(&world, "Idle Stop", "completed Stop");
    terminal.exit();
    assert_eq!(world.sessions(SessionSelection::Live), Vec::<Value>::new());
    let stopped = world.only_session(SessionSelection::All);
    assert_eq!(state_of(&stopped), "stopped");
    assert_eq!(stopped["session_id"], id);
    hosts_are_told(&world, "Idle SessionEnd", "stopped SessionEnd");

    let lines = world.kawaii.lines();
    assert_eq!(pairs(&lines, "event", "hook"), LINES_OF_ONE_DIALOG);
    assert!(lines.iter().all(|line| line["source"] == "codex"), "{lines:#?}");
    assert_eq!(
        pairs(&world.tvine.messages(), "status", "event"),
        [
            "Idle SessionStart",
            "Busy UserPromptSubmit",
            "Busy PreToolUse",
            "Waiting PermissionRequest",
            "Busy PostToolUse",
            "Idle Stop",
            "Idle SessionEnd",
        ]
    );
    let turn = world.only_turn(&stopped);
    let told = (&turn["prompt"], &turn["answer"]);
    assert_eq!(told, (&json!("touch it"), &json!("It is touched.")));
    world.assert_no_problems();
}

#[test]
fn esc_before_the_first_token_interrupts_the_turn_of_codex() {
    let Some(codex) = gates::fast() else { return };
    check_interruption(codex, ModelReply::text("too late").delayed(AGES), "Escape", |terminal| {
        terminal.tmux.wait_for("esc to interrupt", TIMEOUT);
        terminal.wait_for_state("working");
    });
}

#[test]
fn esc_while_the_answer_streams_interrupts_the_turn_of_codex() {
    let Some(codex) = gates::slow() else { return };
    let answer = ModelReply::text("The first paragraph.\n\nThe rest.").pausing(AGES);
    check_interruption(codex, answer, "Escape", |terminal| {
        terminal.tmux.wait_for("The first paragraph.", TIMEOUT);
    });
}

#[test]
fn esc_while_a_command_runs_interrupts_the_turn_of_codex() {
    let Some(codex) = gates::slow() else { return };
    let tool = asking("touch begun; exec sleep 20");
    check_interruption(codex, tool, "Escape", |terminal| {
        terminal.wait_for_dialog();
        terminal.press("Enter");
        let begun = terminal.world.hermetic.project().join("begun");
        wait_for("the command", || match begun.exists() {
            true => Ok(()),
            false => Err(terminal.tmux.screen()),
        });
    });
}

#[test]
fn esc_in_a_dialog_interrupts_the_turn_of_codex() {
    let Some(codex) = gates::slow() else { return };
    check_interruption(codex, asking("touch never"), "Escape", |terminal| {
        terminal.wait_for_dialog();
    });
}

#[test]
fn no_as_the_answer_to_a_dialog_interrupts_the_turn_of_codex() {
    let Some(codex) = gates::slow() else { return };
    check_interruption(codex, asking("touch never"), "3", |terminal| {
        terminal.wait_for_dialog();
        assert!(terminal.tmux.screen().contains("3. No"), "{}", terminal.tmux.screen());
    });
}

/// Begins a turn, waits for `arrive`, presses `key`, and begins another turn.
#[track_caller]
fn check_interruption(codex: Codex, reply: ModelReply, key: &str, arrive: impl Fn(&CodexTerminal)) {
    let second = ModelReply::text("The second answer.").delayed(A_MOMENT);
    let script = Script::new().on("first prompt", vec![reply, second]);
    let world = CodexWorld::with_plugin(codex, script);
    let terminal = CodexTerminal::start(&world, "first prompt");
    arrive(&terminal);
    let before = state_of(&world.only_session(SessionSelection::Live));
    assert!(["working", "waiting_user"].contains(&before.as_str()), "{before} before {key}");

    terminal.press(key);
    terminal.wait_for_state("completed/interrupted");
    // The rollout may report it before the hook.
    wait_for("the hook of the interruption", || match world.only_session(SessionSelection::Live) {
        session if session["last_event"] == "Interrupt" => Ok(()),
        other => Err(other.to_string()),
    });
    let thread = world.only_thread();
    wait_for("an aborted turn in the rollout", || match world.state(&thread) {
        state if state["state"] == "aborted" => Ok(()),
        other => Err(other.to_string()),
    });
    hosts_are_told(&world, "Idle Interrupt", "completed Interrupt");

    terminal.tmux.wait_for("? for shortcuts", TIMEOUT);
    terminal.submit("second prompt");
    terminal.wait_for_state("working");
    let completed = terminal.wait_for_state("completed/ok");
    assert_eq!(completed["prompt"], "second prompt");
    // An interrupted turn has no answer, so it has no record.
    let turn = world.only_turn(&completed);
    let told = (&turn["prompt"], &turn["answer"]);
    assert_eq!(told, (&json!("second prompt"), &json!("The second answer.")));
    terminal.exit();
    assert!(!world.hermetic.project().join("never").exists());
    world.assert_no_problems();
}

/// Only Plan mode has questions.
#[test]
fn a_question_of_codex_in_plan_mode_waits_until_it_is_answered() {
    let Some(codex) = gates::slow() else { return };
    let world = world_with_question(codex);
    let terminal = ask(&world);
    terminal.press("Enter");
    terminal.wait_for_state("working");
    hosts_are_told(&world, "Busy PostToolUse", "working PostToolUse");
    terminal.wait_for_state("completed/ok");
    terminal.exit();
    world.assert_no_problems();
}

#[test]
fn esc_in_a_question_of_codex_interrupts_the_turn() {
    let Some(codex) = gates::slow() else { return };
    let world = world_with_question(codex);
    let terminal = ask(&world);
    terminal.press("Escape");
    terminal.wait_for_state("completed/interrupted");
    // The rollout may report it before the hook.
    wait_for("the hook of the interruption", || match world.only_session(SessionSelection::Live) {
        session if session["last_event"] == "Interrupt" => Ok(()),
        other => Err(other.to_string()),
    });
    terminal.exit();
    world.assert_no_problems();
}

#[track_caller]
fn world_with_question(codex: Codex) -> CodexWorld {
    let option = |label: &str| json!({"label": label, "description": format!("{label} it is.")});
    let question = json!({"questions": [{
        "id": "colour",
        "header": "Colour",
        "question": "Which colour?",
        "options": [option("Red (Recommended)"), option("Blue")],
    }]});
    let replies = vec![
        ModelReply::text("Gladly."),
        ModelReply::tool("request_user_input", question),
        ModelReply::text("Red, then.").delayed(A_MOMENT),
    ];
    CodexWorld::with_plugin(codex, Script::new().on("paint it", replies))
}

/// Switches to Plan mode, and waits for the question on the screen and in the session.
#[track_caller]
fn ask(world: &CodexWorld) -> CodexTerminal<'_> {
    // A mode selected before the first turn may be lost when that begins.
    let terminal = CodexTerminal::start(world, "paint it");
    terminal.wait_for_state("completed/ok");
    terminal.tmux.wait_for("? for shortcuts", TIMEOUT);
    terminal.submit("/plan");
    terminal.tmux.wait_for("Plan mode", TIMEOUT);
    terminal.submit("ask me first");
    let screen = terminal.tmux.wait_for("Which colour?", TIMEOUT);
    assert!(screen.contains(QUESTION), "{screen}");
    let waiting = terminal.wait_for_state("waiting_user");
    assert_eq!(waiting["waiting_for"], json!(["request_user_input"]));
    hosts_are_told(world, "Waiting PreToolUse", "waiting_user PreToolUse");
    assert_eq!(world.state(&world.only_thread())["state"], "waiting_user");
    terminal
}

/// Codex calls the hook of a request, and its payload does not show that no user is asked.
#[test]
fn a_request_that_codex_s_own_reviewer_decides_about_waits_for_nobody() {
    let Some(codex) = gates::slow() else { return };
    let replies = vec![asking("touch made"), ModelReply::text("So be it.")];
    let world = CodexWorld::with_plugin(codex, Script::new().on("touch it", replies));
    let mut command = world.codex();
    command.args(["-c", "approvals_reviewer=\"auto_review\"", "-a", "on-request"]);
    command.args(["-s", "read-only", "touch it"]);
    let terminal = CodexTerminal { world: &world, tmux: Tmux::start(&world.hermetic, &command) };
    // The loopback model, asked for its judgement, returns no valid one.
    terminal.tmux.wait_for("Request denied", TIMEOUT);
    terminal.wait_for_state("completed/ok");
    let lines = world.kawaii.lines();
    assert!(lines.iter().all(|line| line["event"] != "waiting_user"), "{lines:#?}");
    terminal.exit();
}
