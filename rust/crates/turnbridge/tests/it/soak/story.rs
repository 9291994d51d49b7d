//! Formats the result of a soak: a table of counts, and for every violation the log lines about its
//! turn or reply.

use std::fmt::Write;

use super::agents::AgentLogEntry;
use super::driver::Soak;
use super::ledger::{Ledger, Violation};
use super::victims::ProcessKind;

/// The limit of stories; further violations are one line each.
const STORIES: usize = 4;
const LOGS: [&str; 3] = ["logs/daemon.log", "logs/notify.log", "logs/hooks.log"];

/// Returns the table of a soak.
pub fn table(soak: &Soak, ledger: &Ledger<'_>) -> String {
    let mut text = format!("soak with seed {}, {} machines\n", soak.plan.seed, soak.machines.len());
    let mut section = |title: &str, rows: Vec<(String, usize)>| {
        let _ = writeln!(text, "  {title}: {}", rows.iter().map(|(_, count)| count).sum::<usize>());
        for (name, count) in rows {
            let _ = writeln!(text, "    {count:>5}  {name}");
        }
    };
    section("kills", kills(soak, ledger));
    let faults = soak.faults.counts.iter().map(|(name, count)| (name.clone(), *count));
    section("faults", faults.chain(calls(soak)).collect());
    let outcomes = ledger.outcomes.iter().map(|(name, count)| (name.clone(), *count)).collect();
    section("outcomes", outcomes);
    let _ = writeln!(
        text,
        "  {} turns at the keyboard, {} messages of the owner, {} violations",
        soak.turns.len(),
        soak.said.len(),
        ledger.violations.len()
    );
    text
}

fn kills(soak: &Soak, ledger: &Ledger<'_>) -> Vec<(String, usize)> {
    let kills = soak.kills.lock().unwrap();
    let of_kind = |kind| kills.iter().filter(|kill| kill.victim.kind == kind).count();
    let noted = ledger.noted.iter().flatten();
    let hooks = noted.filter(|noted| matches!(noted.what, AgentLogEntry::Hook(_, 137))).count();
    let kinds =
        [ProcessKind::Daemon, ProcessKind::Notifier, ProcessKind::Runner, ProcessKind::Agent];
    let mut rows: Vec<_> = kinds.map(|kind| (format!("{kind:?}"), of_kind(kind))).into();
    rows.push(("Hook".to_owned(), hooks));
    rows
}

/// Returns the counts of Slack's calls, and of those that failed.
fn calls(soak: &Soak) -> Vec<(String, usize)> {
    let calls = soak.slack.calls();
    let failed = calls.iter().filter(|call| call.fault != testkit::slack::SlackFault::Pass).count();
    vec![(format!("calls of {} to Slack failed", calls.len()), failed)]
}

/// Returns all violations, the first ones with their stories.
pub fn violations(soak: &Soak, ledger: &Ledger<'_>) -> String {
    let mut text = String::new();
    for (index, Violation { about, what }) in ledger.violations.iter().enumerate() {
        let _ = writeln!(text, "violation: {about}: {what}");
        if index < STORIES {
            text += &story(soak, ledger, about);
        }
    }
    text
}

/// Returns every line with its name, in the journal, in the agents' logs, in Turnbridge's, and in
/// Slack.
fn story(soak: &Soak, ledger: &Ledger<'_>, about: &str) -> String {
    let said = soak.said.iter().find(|said| said.name == about);
    let id = said.map_or_else(|| about.to_owned(), |said| said.id(&soak.channel));
    let ts = said.map_or_else(|| about.to_owned(), |said| said.ts.clone());
    let is_named = |line: &str| {
        let at_end = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_digit());
        let by_name = line.match_indices(about).any(|(at, it)| at_end(&line[at + it.len()..]));
        by_name || line.contains(&id) || line.contains(&ts)
    };
    let mut lines: Vec<(u64, String)> = Vec::new();
    lines.extend(soak.journal.iter().filter(|(_, line)| is_named(line)).cloned());
    for kill in soak.kills.lock().unwrap().iter() {
        if kill.victim.reply.as_ref() == Some(&id) {
            lines.push((kill.at, format!("{:?} killed", kill.victim.kind)));
        }
    }
    for (machine, noted) in ledger.noted_of(about) {
        lines.push((noted.at, format!("agent on machine {machine}: {:?}", noted.what)));
    }
    for message in
        ledger.threads.iter().flat_map(|it| std::iter::once(&it.parent).chain(&it.replies))
    {
        let shown = format!("{} {:?} {:.100}", message.ts, message.payload_id(), message.text);
        if is_named(&shown) {
            lines.push((soak.slack_clock.real(micros_of(&message.ts)), format!("Slack: {shown}")));
        }
    }
    lines.sort();
    let mut text = String::new();
    for (at, line) in lines {
        let _ = writeln!(text, "    {}.{:06} {line}", at / 1_000_000, at % 1_000_000);
    }
    for (number, machine) in soak.machines.iter().enumerate() {
        for log in LOGS {
            let log_text = std::fs::read_to_string(machine.state(log)).unwrap_or_default();
            for line in log_text.lines().filter(|line| is_named(line)) {
                let _ = writeln!(text, "    machine {number}, {log}: {line}");
            }
        }
        for name in machine.files("inbox").iter().filter(|name| name.starts_with(&id)) {
            let content = std::fs::read_to_string(machine.state("inbox").join(name));
            let content = content.unwrap_or_default();
            let _ = writeln!(text, "    machine {number}, inbox/{name}: {content:.300}");
        }
    }
    text
}

fn micros_of(ts: &str) -> u64 {
    let (seconds, micros) = ts.split_once('.').unwrap_or((ts, "0"));
    seconds.parse::<u64>().unwrap_or(0) * 1_000_000 + micros.parse::<u64>().unwrap_or(0)
}
