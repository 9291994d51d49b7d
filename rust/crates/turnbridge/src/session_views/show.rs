//! Formats one session as text, with its runs and last turns, for `turnbridge sessions show ID`.

use std::fmt::Write;

use turnbridge_core::session::{Run, Session};
use turnbridge_core::text::one_line::one_line;
use turnbridge_core::text::visible_text::visible_line;
use turnbridge_core::timestamp::{Timestamp, time_text};
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::turn_store::read_turns;

use super::table::{age, state_text};

const TURNS: usize = 5;

pub fn render(session: &Session, paths: &StatePaths, now: Timestamp) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "{name:<12} {}", one_line(value));
        }
    };
    line("session", session.key.id.as_str());
    line("tool", session.key.agent.as_str());
    line("state", &state_text(session, now));
    line("project", session.project_dir().unwrap_or_default());
    line("cwd", session.cwd.as_deref().unwrap_or_default());
    line("model", session.model.as_deref().unwrap_or_default());
    line("permissions", session.permission_mode.as_deref().unwrap_or_default());
    line("transcript", session.transcript_path.as_deref().unwrap_or_default());
    let run = session.current_run();
    let prompt = run.and_then(|run| run.turn.prompt.as_ref());
    line("prompt", prompt.map_or("", |prompt| &prompt.text));
    for addition in run.map_or(&[][..], |run| &run.turn.additions) {
        line("addition", &addition.prompt.text);
    }
    for task in run.map_or(&[][..], |run| &run.background_tasks) {
        line("background", task);
    }
    for run in &session.runs {
        line("run", &run_text(run, now));
    }
    let turns = read_turns(paths, &session.key);
    for turn in turns.iter().rev().take(TURNS).rev() {
        let _ = writeln!(text);
        let error = turn.error().map(|error| format!(": {error}")).unwrap_or_default();
        let detail = turn.detail.as_str();
        let head = format!("turn of {} ({detail}{error})", time_text(turn.ended_at));
        let _ = writeln!(text, "{}", one_line(&head));
        let prompt = turn.prompt.as_deref().map_or_else(|| "-".to_owned(), one_line);
        let _ = writeln!(text, "  > {prompt}");
        for addition in &turn.additions {
            let _ = writeln!(text, "  + {}", one_line(addition));
        }
        let answers = turn.earlier_answers.iter().chain(&turn.answer);
        for line in answers.flat_map(|answer| answer.lines()) {
            let _ = writeln!(text, "  {}", visible_line(line));
        }
    }
    text
}

fn run_text(run: &Run, now: Timestamp) -> String {
    let mut text = format!("pid {}, {}", run.process.pid, run.state().as_str());
    if run.host.entrypoint.is_some() {
        text.push_str(if run.host.is_interactive() { ", interactive" } else { ", headless" });
    }
    let _ = write!(text, ", hooks from {}", run.host.origin);
    let _ = write!(text, ", last event {} {} ago", run.last_event, age(now.since(run.last_at)));
    if let Some(ended) = &run.ended {
        let _ = write!(text, ", ended: {}", ended.reason);
    }
    text
}
