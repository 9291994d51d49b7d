//! Runs the interactive claude in a tmux pane: tests control it by keys, and observe it by
//! Turnbridge's output and the screen.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::Tmux;

use crate::support::timeouts::{TIMEOUT, wait_for};
use crate::support::world::{ApiWorld, SessionSelection};

/// Claude ignores keys for a moment after a dialog has appeared, to prevent accidental answers.
const DIALOG_GUARD: Duration = Duration::from_millis(1_500);

/// An interactive claude in a tmux pane.
pub struct AgentTerminal<'world> {
    pub world: &'world ApiWorld,
    pub tmux: Tmux,
}

impl<'world> AgentTerminal<'world> {
    /// Starts claude with the plugin and waits until it accepts input.
    #[track_caller]
    pub fn start(world: &'world ApiWorld) -> AgentTerminal<'world> {
        AgentTerminal::start_command(world, &world.claude())
    }

    /// Starts this command of claude and waits until it accepts input.
    #[track_caller]
    pub fn start_command(world: &'world ApiWorld, command: &Command) -> AgentTerminal<'world> {
        world.claude.accept_first_start(&world.hermetic, &world.hermetic.project());
        let tmux = Tmux::start(&world.hermetic, command);
        let terminal = AgentTerminal { world, tmux };
        terminal.wait_for_state("completed");
        terminal.wait_for_input_line();
        terminal
    }

    /// Waits for the line below the input, which differs by mode.
    #[track_caller]
    fn wait_for_input_line(&self) {
        self.tmux.wait_for_screen(TIMEOUT, "the input line", |screen| {
            screen.contains("? for shortcuts") || screen.contains("shift+tab to cycle")
        });
    }

    /// Types and sends a prompt in two steps: claude treats a line together with its Enter as a
    /// paste.
    #[track_caller]
    pub fn submit(&self, prompt: &str) {
        self.type_in(prompt);
        self.tmux.send_key("Enter");
    }

    /// Types a text without Enter, and waits until the input line contains it.
    #[track_caller]
    pub fn type_in(&self, prompt: &str) {
        self.tmux.send_text(prompt);
        self.wait_for_input(prompt);
    }

    /// Empties the input line: after Esc before the first token claude puts the prompt back.
    #[track_caller]
    pub fn clear_input(&self) {
        self.tmux.send_key("C-u");
        self.wait_for_input("");
    }

    /// Waits until the input line contains exactly this text.
    #[track_caller]
    pub fn wait_for_input(&self, wanted: &str) {
        self.tmux.wait_for_screen(TIMEOUT, &format!("`{wanted}` in the input line"), |screen| {
            // Earlier prompts begin with the same sign; the gap behind it is a no-break space.
            let input = screen.lines().filter_map(|line| line.strip_prefix('❯')).next_back();
            input.is_some_and(|input| input.trim() == wanted)
        });
    }

    /// Waits for the permission dialog of a tool call for which Claude calls no hook. Only a hook names
    /// the tool.
    #[track_caller]
    pub fn wait_for_unnamed_dialog(&self) {
        self.tmux.wait_for("Do you want to proceed?", TIMEOUT);
        self.wait_for_state("waiting_user");
        self.wait_for_keys();
    }

    /// Waits for the permission dialog of a tool call, on the screen and in the session.
    #[track_caller]
    pub fn wait_for_dialog(&self) -> Value {
        self.tmux.wait_for("Do you want to proceed?", TIMEOUT);
        self.wait_for_state("waiting_user");
        // Claude's own note of the process may report the dialog before the hook names the tool.
        let waiting = wait_for("the tool of the dialog", || {
            let session = self.world.only_session(SessionSelection::Live);
            match session["waiting_for"].as_array().is_some_and(|tools| !tools.is_empty()) {
                true => Ok(session),
                false => Err(format!("{session:#}")),
            }
        });
        self.wait_for_keys();
        waiting
    }

    /// Waits until a new dialog accepts keys, which the screen does not show.
    pub fn wait_for_keys(&self) {
        std::thread::sleep(DIALOG_GUARD);
    }

    /// Waits until the only live session has this state (`working`) or state and detail
    /// (`completed/ok`), and returns it.
    #[track_caller]
    pub fn wait_for_state(&self, state: &str) -> Value {
        self.world.wait_for_state(&self.tmux, state)
    }

    /// Presses a key and returns the time until the sessions had this state: from before the key
    /// was sent to the start of the call that showed it.
    #[track_caller]
    pub fn press_and_time(&self, key: &str, state: &str) -> Duration {
        let pressed = Instant::now();
        self.tmux.send_key(key);
        wait_for(&format!("a session that is {state} after {key}"), || {
            let asked = Instant::now();
            match self.world.sessions(SessionSelection::Live).as_slice() {
                [session] if state_of(session) == state => Ok(asked - pressed),
                others => Err(self.world.describe(others, &self.tmux)),
            }
        })
    }

    /// Asserts that the only live session keeps this state during the next second or so.
    #[track_caller]
    pub fn assert_stays(&self, state: &str) {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(1) {
            let sessions = self.world.sessions(SessionSelection::Live);
            let stays = matches!(sessions.as_slice(), [session] if state_of(session) == state);
            assert!(stays, "no longer {state}\n{}", self.world.describe(&sessions, &self.tmux));
        }
    }

    /// Exits by `/exit` and waits for the end of the process.
    #[track_caller]
    pub fn exit(&self) {
        self.submit("/exit");
        wait_for("the end of claude", || match self.tmux.is_running() {
            true => Err(self.tmux.screen()),
            false => Ok(()),
        });
    }
}

/// Returns `state`, or `state/detail` if there is one.
pub fn state_of(session: &Value) -> String {
    let state = session["state"].as_str().unwrap_or_default();
    match session["detail"].as_str() {
        Some(detail) => format!("{state}/{detail}"),
        None => state.to_owned(),
    }
}
