//! Tests replies to a Codex terminal whose last turn was interrupted: they wait. `codex queue`
//! would accept them with exit code 0, and Codex would start them unasked after the next prompt
//! from the keyboard.

use std::time::Duration;

use testkit::{Codex, ModelReply, Script, Tmux};

use crate::codex_terminal::asking;
use crate::daemon_terminal::asked;
use crate::service::{DaemonService, FOR_TERMINAL, RECEIVED};
use crate::slack::texts;
use crate::support::codex_world::CodexWorld;
use crate::support::gates;
use crate::support::timeouts::{TIMEOUT, wait_for};

/// A delay longer than any of these tests.
const AGES: Duration = Duration::from_secs(60);

/// The message in the reply's thread about the wait.
const AFTER_ABORT: &str = "its last turn there was interrupted";

/// Types and sends a prompt, with a pause: Codex treats an immediate Enter as a pasted line break.
#[track_caller]
fn submit(tmux: &Tmux, prompt: &str) {
    tmux.send_text(prompt);
    tmux.wait_for(prompt, TIMEOUT);
    std::thread::sleep(Duration::from_millis(500));
    tmux.send_key("Enter");
}

/// Returns whether a user's thread contains an aborted turn.
fn has_aborted(world: &CodexWorld) -> bool {
    let rollouts = world.codex.rollouts(&world.hermetic);
    let mut records = rollouts.iter().flat_map(|path| testkit::read_rollout(path));
    records.any(|record| record["payload"]["type"] == "turn_aborted")
}

/// Starts Codex, which asks before each write, and interrupts its second turn by Esc.
#[track_caller]
fn interrupt<'world>(
    world: &'world CodexWorld,
    is_under_way: impl Fn(&Tmux) -> bool,
) -> (DaemonService<'world>, Tmux) {
    let service = DaemonService::with_codex(world);
    let mut command = world.codex();
    command.args(["-a", "on-request", "-s", "read-only", "first of all"]);
    let tmux = Tmux::start(&world.hermetic, &command);
    tmux.wait_for("One.", TIMEOUT);
    service.thread_of("first of all");
    submit(&tmux, "now the second");
    wait_for("a turn to interrupt", || match is_under_way(&tmux) {
        true => Ok(()),
        false => Err(tmux.screen()),
    });
    wait_for("the end of the turn", || {
        // A new dialog ignores keys for a while.
        tmux.send_key("Escape");
        std::thread::sleep(Duration::from_millis(500));
        if has_aborted(world) { Ok(()) } else { Err(tmux.screen()) }
    });
    (service, tmux)
}

#[test]
fn a_reply_after_esc_in_codex_waits_for_the_next_prompt_and_its_thread_is_told_why() {
    let Some(codex) = gates::slow::<Codex>() else { return };
    check_that_it_waits(&CodexWorld::bare(codex, script()));
}

/// Returns a model's answers, the second of which arrives too late.
pub fn script() -> Script {
    let [one, two, three] = ["One.", "Two.", "Three."].map(ModelReply::text);
    let late = ModelReply::text("too late").delayed(AGES);
    Script::new().on("first of all", vec![one, late, two, three])
}

/// Checks that a reply after Esc waits for the next prompt, and that its thread is told so.
#[track_caller]
pub fn check_that_it_waits(world: &CodexWorld) {
    let is_asked = |_: &Tmux| asked(world).len() == 2;
    let (service, tmux) = interrupt(world, is_asked);
    let first = service.thread_of("first of all");
    service.slack.say(Some(&first.parent.ts), "-x from Slack");
    service.wait_for_words(&first, &[FOR_TERMINAL, AFTER_ABORT]);
    // Waits for several poll intervals of the daemon.
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(asked(world), ["first of all", "now the second"]);
    assert!(service.runs().is_empty(), "`codex queue` was called: {:?}", service.runs());
    // Codex puts an interrupted prompt back into its input line.
    tmux.send_key("C-u");
    submit(&tmux, "and the third");
    tmux.wait_for("Three.", TIMEOUT);
    service.wait_for_ends(&["handed_over"]);
    let expected = ["first of all", "now the second", "and the third", "-x from Slack"];
    assert_eq!(asked(world), expected);
    assert_eq!(texts(&service.thread_of("-x from Slack")), ["Three."]);
    service.assert_no_problems();
}

#[test]
fn a_reply_after_a_refused_request_of_codex_runs_when_its_terminal_has_been_closed() {
    let Some(codex) = gates::slow::<Codex>() else { return };
    let [one, two] = ["One.", "Two."].map(ModelReply::text);
    let script = Script::new().on("first of all", vec![one, asking("touch refused"), two]);
    let world = CodexWorld::bare(codex, script);
    let has_dialog = |tmux: &Tmux| tmux.screen().contains("Would you like to run");
    let (service, tmux) = interrupt(&world, has_dialog);
    let first = service.thread_of("first of all");
    service.slack.say(Some(&first.parent.ts), "-x from Slack");
    service.wait_for_words(&first, &[FOR_TERMINAL, AFTER_ABORT]);
    tmux.send_key("C-u");
    submit(&tmux, "/quit");
    assert_eq!(texts(&service.thread_of("-x from Slack")), ["Two."]);
    // The reply takes another path than first announced.
    service.wait_for_words(&first, &[FOR_TERMINAL, AFTER_ABORT, RECEIVED]);
    service.wait_for_ends(&["done"]);
    assert_eq!(asked(&world).last().map(String::as_str), Some("-x from Slack"));
    assert_eq!(service.runs(), [world.hermetic.project()]);
    service.assert_no_problems();
}
