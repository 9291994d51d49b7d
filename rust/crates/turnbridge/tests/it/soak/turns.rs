//! Checks the turns of a soak: each ended turn has one complete notice under its own prompt.

use testkit::slack::{SlackMessage, SlackThread};
use turnbridge_store::paths::StatePaths;

use super::agents::{AgentLogEntry, PARAGRAPHS, name_in};
use super::ledger::{Ledger, PromptRun};

/// A turn, at the keyboard or by a reply.
struct SoakTurn {
    name: String,
    prompt: Option<String>,
}

/// Checks all turns of the soak.
pub fn check(ledger: &mut Ledger<'_>) {
    let soak = ledger.soak;
    let at_keyboard =
        soak.turns.iter().map(|turn| SoakTurn { name: turn.name.clone(), prompt: None });
    let by_reply = soak
        .said
        .iter()
        .map(|said| SoakTurn { name: said.name.clone(), prompt: Some(said.text.clone()) });
    for turn in at_keyboard.chain(by_reply).collect::<Vec<_>>() {
        check_turn(ledger, &turn);
    }
    let unknown: Vec<_> = ledger
        .threads
        .iter()
        .filter(|thread| thread.parent.bot_id.is_some() && name_of(thread).is_none())
        .map(|thread| format!("a thread of no turn: {thread:?}"))
        .collect();
    for what in unknown {
        ledger.violate("nobody", what);
    }
}

/// Returns the turn's name from its answer, which is unique.
fn name_of(thread: &SlackThread) -> Option<&str> {
    let answers = thread.replies.iter().filter(|it| is_part(it));
    let answered = answers.filter_map(|it| it.text.split_once("Answer to ")).next();
    answered.map_or_else(|| name_in(&thread.parent.text), |(_, rest)| name_in(rest))
}

fn is_part(message: &SlackMessage) -> bool {
    message.payload_id().is_some_and(|id| !id.starts_with("word-"))
}

fn check_turn(ledger: &mut Ledger<'_>, turn: &SoakTurn) {
    let name = turn.name.as_str();
    let told: Vec<_> =
        ledger.threads.iter().filter(|thread| name_of(thread) == Some(name)).cloned().collect();
    let Some(run) = PromptRun::of(&ledger.noted_of(name)) else {
        if !told.is_empty() {
            ledger.violate(name, "told, though no agent began it");
        }
        return;
    };
    let event = if run.did(&AgentLogEntry::Failed) { "StopFailure" } else { "Stop" };
    let has_ended = run.did(&AgentLogEntry::Ended) || run.did(&AgentLogEntry::Failed);
    let machine = &ledger.soak.machines[run.machine];
    let was_full = machine.was_full(run.began_at, run.last_at);
    let was_full_at_end = run.end_hook().is_some_and(|(from, to)| machine.was_full(from, to));
    let hook = run.hook(event);
    let is_recorded = has_ended && is_recorded(ledger, &run, name);
    match (told.len(), has_ended, hook) {
        (2.., _, _) => ledger.violate(name, format!("told {} times", told.len())),
        (1, false, _) => ledger.violate(name, "told as ended, and it has not"),
        (1, true, Some(0)) => ledger.count("turns told"),
        (1, true, _) => ledger.count("turns told though their hook was killed"),
        (_, false, _) => ledger.count("turns that never ended"),
        _ if was_full_at_end => ledger.count("turns lost to a full disk"),
        (_, true, None) if run.exit().is_some() => ledger.count("turns of agents without hooks"),
        (_, true, Some(0)) => {
            ledger.violate(name, "ended, its hook was well, and it was never told")
        }
        _ if is_recorded => ledger.violate(name, "recorded by a killed hook, and never told"),
        _ => ledger.count("turns whose hook was killed before it wrote"),
    }
    for thread in &told {
        check_prompt(ledger, turn, &run, thread, was_full);
        check_parts(ledger, name, thread);
    }
}

/// Returns whether the turn's record, with its answer, is on the machine's disk.
fn is_recorded(ledger: &Ledger<'_>, run: &PromptRun, name: &str) -> bool {
    let machine = &ledger.soak.machines[run.machine];
    let turns = StatePaths::below(&machine.world.hermetic.state_dir()).turns_dir();
    let files = std::fs::read_dir(turns).into_iter().flatten().flatten();
    let mut texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
    texts.any(|text| text.contains(&format!("\"Answer to {name}:")))
}

/// Checks that the parent is the turn's own prompt, or a message that it could not be read: then
/// its hook did not see it.
fn check_prompt(
    ledger: &mut Ledger<'_>,
    turn: &SoakTurn,
    run: &PromptRun,
    thread: &SlackThread,
    was_full: bool,
) {
    let above = thread.parent.text.as_str();
    let is_own = name_in(above) == Some(&turn.name)
        && turn.prompt.as_ref().is_none_or(|prompt| prompt == above);
    if is_own {
        return;
    }
    let is_missing = above == "(The user's message could not be read)";
    if !is_missing {
        ledger.violate(&turn.name, format!("told under another prompt: {above}"));
    } else if run.hook("UserPromptSubmit") == Some(0) && !was_full {
        ledger.violate(&turn.name, "its prompt was lost");
    } else {
        ledger.count("turns told without their prompt");
    }
}

/// Checks that the answer is complete and in order.
fn check_parts(ledger: &mut Ledger<'_>, name: &str, thread: &SlackThread) {
    let parts: Vec<_> = thread.replies.iter().filter(|it| is_part(it)).collect();
    let text: String = parts.iter().map(|part| format!("{}\n", part.text)).collect();
    let is_long = text.contains("paragraph 1,");
    let whole = if is_long { PARAGRAPHS } else { 1 };
    let count = text.matches(&format!("Answer to {name}:")).count();
    if count != whole {
        ledger.violate(name, format!("{count} of {whole} paragraphs arrived"));
    }
    let numbered = parts
        .iter()
        .enumerate()
        .all(|(index, part)| part.text.starts_with(&format!("({}/{})", index + 1, parts.len())));
    if is_long && !numbered {
        let heads: Vec<_> = parts.iter().map(|part| part.text.get(..8)).collect();
        ledger.violate(name, format!("its parts are not in order: {heads:?}"));
    }
}
