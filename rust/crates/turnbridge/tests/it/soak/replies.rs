//! Checks the replies of a soak: each ran once, on its machine and in order, or its thread contains
//! the reason. Compares each message in a thread with the events.

use super::agents::AgentLogEntry;
use super::ledger::{Ledger, PromptRun, ThreadAnswer};
use super::person::{PersonMessage, PersonMessageKind};
use super::victims::ProcessKind;

/// The messages about a reply's end, beside its turn.
const ENDS: [&str; 7] =
    ["failed", "uncertain", "interrupted", "stopped", "output", "refused", "no_route"];

/// Checks all replies of the soak.
pub fn check(ledger: &mut Ledger<'_>) {
    for said in &ledger.soak.said {
        let words = ledger.words_of(said);
        let noted = ledger.noted_of(&said.name);
        let began: Vec<_> =
            noted.iter().filter(|(_, it)| it.what == AgentLogEntry::Began).collect();
        let name = said.name.as_str();
        if began.len() > 1 {
            ledger.violate(name, format!("ran {} times", began.len()));
        }
        if began.iter().any(|(machine, _)| *machine != said.machine) {
            ledger.violate(name, "ran on another machine");
        }
        let run = PromptRun::of(&noted);
        match said.kind {
            PersonMessageKind::Prompt => check_prompt(ledger, said, run.as_ref(), &words),
            PersonMessageKind::Stop => {
                check_only(ledger, said, &words, &["receipt", "nothing_to_stop"])
            }
            PersonMessageKind::Refused => check_one(ledger, said, &words, "refused"),
            // No machine must receive it: its thread belongs to none.
            PersonMessageKind::Elsewhere => check_only(ledger, said, &words, &["no_route"]),
        }
        if said.kind != PersonMessageKind::Prompt && run.is_some() {
            ledger.violate(name, "ran, and it is no prompt");
        }
    }
    check_order(ledger);
}

fn check_only(
    ledger: &mut Ledger<'_>,
    said: &PersonMessage,
    words: &[ThreadAnswer],
    allowed: &[&str],
) {
    for word in words.iter().filter(|word| !allowed.contains(&word.told.as_str())) {
        ledger.violate(&said.name, format!("{:?} was told `{}`", said.kind, word.told));
    }
    ledger.count(&format!("{:?}", said.kind));
}

fn check_one(ledger: &mut Ledger<'_>, said: &PersonMessage, words: &[ThreadAnswer], wanted: &str) {
    check_only(ledger, said, words, &[wanted, "receipt"]);
    if !words.iter().any(|word| word.told == wanted) {
        ledger.violate(&said.name, format!("never told `{wanted}`"));
    }
}

fn check_prompt(
    ledger: &mut Ledger<'_>,
    said: &PersonMessage,
    run: Option<&PromptRun>,
    words: &[ThreadAnswer],
) {
    let name = said.name.as_str();
    let ends: Vec<_> = words.iter().filter(|word| ENDS.contains(&word.told.as_str())).collect();
    let is_whole = run.is_some_and(|run| run.did(&AgentLogEntry::Ended));
    match (run, ends.as_slice()) {
        (None, []) => ledger.violate(name, "neither ran nor was told why not"),
        (Some(_), []) if !is_whole => ledger.violate(name, "its run died, and nobody was told"),
        (_, [_, _, ..]) => {
            let told: Vec<_> = ends.iter().map(|word| word.told.as_str()).collect();
            ledger.violate(name, format!("told several ends: {told:?}"));
        }
        _ => {}
    }
    if let Some(run) = run {
        let receipt = words.iter().find(|word| word.told == "receipt");
        if receipt.is_none_or(|receipt| receipt.at > run.began_at) {
            ledger.violate(name, "ran before its receipt was in the thread");
        }
    }
    for word in words {
        if let Some(lie) = falsehood(ledger, said, run, word) {
            ledger.violate(name, format!("was told `{}`: {lie}", word.told));
        }
    }
    let how = if run.is_none() {
        "did not run"
    } else if is_whole {
        "ran"
    } else {
        "ran and died"
    };
    let end = ends.first().map_or(String::new(), |word| format!(", told {}", word.told));
    ledger.count(&format!("replies that {how}{end}"));
}

/// Returns why a message is false, or `None` if it is true.
fn falsehood(
    ledger: &Ledger<'_>,
    said: &PersonMessage,
    run: Option<&PromptRun>,
    word: &ThreadAnswer,
) -> Option<String> {
    let kills = ledger.soak.kills.lock().unwrap();
    let id = said.id(&ledger.soak.channel);
    let was_killed = |kind: ProcessKind| {
        kills.iter().any(|it| it.victim.kind == kind && it.victim.reply.as_ref() == Some(&id))
    };
    let machine = &ledger.soak.machines[said.machine];
    let was_full = machine.was_full(said.at, word.at);
    let is_whole = run.is_some_and(|run| run.did(&AgentLogEntry::Ended));
    let stop_hook = run.and_then(|run| run.hook("Stop"));
    let is_stopped = ledger.soak.said.iter().any(|it| {
        it.kind == PersonMessageKind::Stop && it.session == said.session && it.at < word.at
    });
    let lie = match word.told.as_str() {
        "receipt" => None,
        "queued" => {
            let is_first = !ledger.soak.said.iter().any(|it| {
                it.session == said.session
                    && it.kind == PersonMessageKind::Prompt
                    && it.name != said.name
                    && it.at < word.at
            });
            is_first.then_some("no other reply was there")
        }
        "failed" => {
            let is_so = match (run, run.and_then(PromptRun::exit)) {
                (_, Some(0)) => false,
                (Some(run), Some(code)) => {
                    let names_code = word.text.contains(&format!("exit code: `{code}`"));
                    names_code || run.did(&AgentLogEntry::Failed)
                }
                // It was killed before it could log, perhaps before it became an agent.
                (None, _) => {
                    was_killed(ProcessKind::Agent) || was_killed(ProcessKind::Runner) || was_full
                }
                (Some(_), None) => was_killed(ProcessKind::Agent),
            };
            (!is_so).then_some("it has not failed so")
        }
        "uncertain" | "interrupted" => {
            let can_be =
                was_killed(ProcessKind::Runner) || was_killed(ProcessKind::Agent) || was_full;
            let is_known = is_whole && stop_hook == Some(0) && !was_full;
            if is_known {
                Some("its turn ended, and the hook was well")
            } else {
                (!can_be).then_some("neither its runner nor its agent was killed")
            }
        }
        "stopped" => (!is_stopped).then_some("nobody said `stop`"),
        "output" => {
            if !word.text.contains(&format!("Answer to {}:", said.name)) {
                Some("it is not the answer")
            } else {
                (stop_hook == Some(0) && !was_full)
                    .then_some("the answer is in a thread of its own")
            }
        }
        _ => Some("it is no word for this reply"),
    };
    lie.map(str::to_owned)
}

/// Checks the order: a reply whose receipt was in the thread when the session's next one was sent
/// ran before that one, unless its end is uncertain.
fn check_order(ledger: &mut Ledger<'_>) {
    let prompts: Vec<_> =
        ledger.soak.said.iter().filter(|said| said.kind == PersonMessageKind::Prompt).collect();
    let mut wrong = Vec::new();
    let mut compared = 0;
    for (index, earlier) in prompts.iter().enumerate() {
        let words = ledger.words_of(earlier);
        let Some(receipt) = words.iter().find(|word| word.told == "receipt") else { continue };
        let is_certain = !words.iter().any(|word| word.told == "uncertain");
        let Some(first) = PromptRun::of(&ledger.noted_of(&earlier.name)).filter(|_| is_certain)
        else {
            continue;
        };
        for later in prompts[index + 1..].iter().filter(|later| later.session == earlier.session) {
            let Some(second) = PromptRun::of(&ledger.noted_of(&later.name)) else { continue };
            if receipt.at < later.at {
                compared += 1;
                if second.began_at < first.began_at {
                    wrong.push((later.name.clone(), format!("ran before `{}`", earlier.name)));
                }
            }
        }
    }
    ledger.outcomes.insert("pairs of replies in order".to_owned(), compared);
    for (about, what) in wrong {
        ledger.violate(&about, what);
    }
}
