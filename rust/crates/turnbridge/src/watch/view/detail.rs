//! Draws the selected session: its folder, its last prompt and answer, and the turns before.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use turnbridge_core::session::turn_record::TurnRecord;
use turnbridge_core::session::{Detail, Session};
use turnbridge_core::text::one_line::one_line;
use turnbridge_core::timestamp::Timestamp;

use super::wrap::wrap;
use super::{bold, put};
use crate::session_views::table::{age, fit, state_text};
use crate::watch::model::WatchModel;

/// The limit of a long prompt's lines, which leaves space for the answer.
const PROMPT_LINES: usize = 12;

const EARLIER_TURNS: usize = 20;

struct DetailLines {
    width: usize,
    /// The limit of lines that can be visible.
    limit: usize,
    lines: Vec<(String, Style)>,
}

/// Draws the session. Returns the effective scroll position.
pub fn draw(model: &WatchModel, now: Timestamp, area: Rect, buffer: &mut Buffer) -> usize {
    let Some(session) = model.chosen() else { return 0 };
    let rows = usize::from(area.height);
    let limit = model.scroll().saturating_add(rows);
    let mut lines = DetailLines { width: usize::from(area.width), limit, lines: Vec::new() };
    tell(session, model.turns(), now, &mut lines);
    let scroll = model.scroll().min(lines.lines.len().saturating_sub(rows));
    for (row, (line, style)) in lines.lines.iter().skip(scroll).take(rows).enumerate() {
        put(buffer, area, row, line, *style);
    }
    scroll
}

fn tell(session: &Session, turns: &[TurnRecord], now: Timestamp, lines: &mut DetailLines) {
    let name = session.project().unwrap_or("-");
    lines.heading(&format!(
        "{} ({}) {}",
        one_line(name),
        session.key.agent,
        state_text(session, now)
    ));
    lines.fact("folder", session.project_dir().unwrap_or_default());
    let cwd = session.cwd.as_deref().filter(|cwd| Some(*cwd) != session.project_dir());
    lines.fact("now in", cwd.unwrap_or_default());
    lines.fact("model", session.model.as_deref().unwrap_or_default());
    lines.fact("session", session.key.id.as_str());
    let run = session.current_run();
    for task in run.map_or(&[][..], |run| &run.background_tasks) {
        lines.fact("runs on", task);
    }
    let (last, earlier) = match turns.split_last() {
        Some((last, earlier)) => (Some(last), earlier),
        None => (None, turns),
    };
    // During a turn its prompt is newer than the last recorded one.
    let open = run.filter(|run| !run.turn.is_over).and_then(|run| run.turn.prompt.as_ref());
    if let Some(prompt) = open {
        lines.text("prompt", &prompt.text, PROMPT_LINES);
    }
    if let Some(turn) = last {
        if open.is_none() {
            lines.text("prompt", turn.prompt.as_deref().unwrap_or_default(), PROMPT_LINES);
        }
        let title = match turn.detail.known() {
            _ if open.is_some() => "answer before",
            Some(Detail::Ok) | None => "answer",
            Some(other) => other.as_str(),
        };
        let answers: Vec<_> =
            turn.earlier_answers.iter().chain(&turn.answer).map(String::as_str).collect();
        lines.text(title, &answers.join("\n\n"), usize::MAX);
    }
    if !earlier.is_empty() {
        lines.heading("earlier turns");
        for turn in earlier.iter().rev().take(EARLIER_TURNS) {
            lines.plain(&earlier_turn(turn, now));
        }
    }
}

fn earlier_turn(turn: &TurnRecord, now: Timestamp) -> String {
    let ago = turn.ended_at.map(|at| age(now.since(at)));
    let detail = match turn.detail.known() {
        Some(Detail::Ok) => String::new(),
        _ => format!(" ({})", one_line(turn.detail.as_str())),
    };
    let prompt = one_line(turn.prompt.as_deref().unwrap_or("-"));
    format!("{:>3}{detail} {prompt}", ago.unwrap_or_default())
}

impl DetailLines {
    fn heading(&mut self, text: &str) {
        if !self.lines.is_empty() {
            self.push(String::new(), Style::default());
        }
        self.push(fit(text, self.width), bold());
    }

    fn fact(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.plain(&format!("{name:<8} {}", one_line(value)));
        }
    }

    fn plain(&mut self, text: &str) {
        self.push(fit(text, self.width), Style::default());
    }

    fn text(&mut self, title: &str, text: &str, most: usize) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        self.heading(title);
        let room = self.limit.saturating_sub(self.lines.len()).min(most);
        let lines = wrap(text, self.width, room.saturating_add(1));
        let is_cut = lines.len() > most;
        for line in lines.into_iter().take(room) {
            self.push(line, Style::default());
        }
        if is_cut {
            self.push("…".to_owned(), Style::default());
        }
    }

    fn push(&mut self, line: String, style: Style) {
        if self.lines.len() < self.limit {
            self.lines.push((line, style));
        }
    }
}
