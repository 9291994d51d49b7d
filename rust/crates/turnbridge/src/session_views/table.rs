//! Formats the table of `turnbridge sessions`, for a given width, with or without colour.

use std::fmt::Write;
use std::time::Duration;

use turnbridge_core::session::{Detail, Session, State};
use turnbridge_core::text::one_line::one_line;
use turnbridge_core::timestamp::Timestamp;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::json::waiting_for;
use crate::output;

#[derive(Debug, Clone, Copy)]
pub struct TableStyle {
    pub width: usize,
    pub color: bool,
}

/// The width limit without a terminal.
const NO_TERMINAL: usize = 200;

impl TableStyle {
    /// Returns colour and width of the terminal; respects `NO_COLOR`, `TERM=dumb` and `COLUMNS`.
    pub fn of_stdout() -> TableStyle {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let is_terminal = output::is_terminal();
        let is_dumb = variable("TERM").is_some_and(|term| term == "dumb");
        let columns = variable("COLUMNS").and_then(|columns| columns.parse().ok());
        let measured = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let width = columns
            .or_else(|| is_terminal.then(measured).flatten())
            .unwrap_or(if is_terminal { 80 } else { NO_TERMINAL });
        TableStyle { width, color: is_terminal && !is_dumb && variable("NO_COLOR").is_none() }
    }
}

/// Formats the sessions. `hidden` is the number of stopped sessions that are not shown.
pub fn render(sessions: &[&Session], hidden: usize, now: Timestamp, look: &TableStyle) -> String {
    if sessions.is_empty() {
        let stopped = match hidden {
            0 => String::new(),
            1 => "; 1 stopped (`turnbridge sessions --all`)".to_owned(),
            many => format!("; {many} stopped (`turnbridge sessions --all`)"),
        };
        return format!("no live sessions{stopped}\n");
    }
    let rows: Vec<[String; 4]> = sessions.iter().map(|session| row(session, now)).collect();
    let mut widths = ["TOOL".width(), "PROJECT".width(), "STATE".width()];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    // A long project name must not move the state off the screen.
    widths[1] = widths[1].min((look.width / 4).max(8));
    let mut text = String::new();
    let header = ["TOOL", "PROJECT", "STATE", "PROMPT"].map(str::to_owned);
    push_row(&mut text, " ", &header, widths, look);
    for (session, row) in sessions.iter().zip(&rows) {
        push_row(&mut text, &dot(session.state(), look.color), row, widths, look);
    }
    text
}

fn row(session: &Session, now: Timestamp) -> [String; 4] {
    let prompt = session.current_run().and_then(|run| run.turn.prompt.as_ref());
    [
        session.key.agent.as_str().to_owned(),
        one_line(session.project().unwrap_or("-")),
        state_text(session, now),
        prompt.map_or_else(String::new, |prompt| one_line(&prompt.text)),
    ]
}

/// Returns `waiting (Bash) 2m`, `failed: rate_limit 5s`.
pub fn state_text(session: &Session, now: Timestamp) -> String {
    format!("{} {}", state_words(session), age(now.since(session.since())))
}

/// Returns `waiting (Bash)`, `failed: rate_limit`.
pub fn state_words(session: &Session) -> String {
    let run = session.current_run();
    let mut text = match (session.state(), session.detail()) {
        (State::Working, _) => "working".to_owned(),
        (State::WaitingUser, _) => {
            let tools = run.map_or_else(Vec::new, waiting_for).join(", ");
            if tools.is_empty() { "waiting".to_owned() } else { format!("waiting ({tools})") }
        }
        (State::Completed, Some(Detail::Failed { error })) => format!("failed: {error}"),
        (State::Completed, Some(Detail::Interrupted)) => "interrupted".to_owned(),
        (State::Completed, _) => "completed".to_owned(),
        (State::Stopped, _) => "stopped".to_owned(),
    };
    let tasks = run.map_or(0, |run| run.background_tasks.len());
    if session.state() == State::Completed && tasks > 0 {
        let _ = write!(text, " +{tasks} in background");
    }
    one_line(&text)
}

fn push_row(
    text: &mut String,
    dot: &str,
    cells: &[String; 4],
    widths: [usize; 3],
    look: &TableStyle,
) {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        let cell = fit(cell, width);
        let padding = " ".repeat(width - cell.width());
        let _ = write!(line, " {cell}{padding} ");
    }
    let room = look.width.saturating_sub(1 + line.width() + 1);
    let _ = write!(line, " {}", fit(&cells[3], room));
    let line = fit(line.trim_end(), look.width.saturating_sub(1));
    let _ = writeln!(text, "{dot}{line}");
}

/// Returns the dot of a state (KT-77..80): green, orange, blue, or a blank for a stopped session.
pub fn dot(state: State, color: bool) -> String {
    let (code, plain) = match state {
        State::Working => ("32", "*"),
        State::WaitingUser => ("38;5;208", "!"),
        State::Completed => ("34", "-"),
        State::Stopped => return " ".to_owned(),
    };
    if color { format!("\u{1b}[{code}m●\u{1b}[0m") } else { plain.to_owned() }
}

/// Cuts a text to a width in columns, with an ellipsis, and never splits a wide character.
pub fn fit(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut used = 0;
    for character in text.chars() {
        let columns = character.width().unwrap_or(0);
        if used + columns + 1 > width {
            break;
        }
        used += columns;
        cut.push(character);
    }
    if width > 0 {
        cut.push('…');
    }
    cut
}

/// Formats an age in its largest unit, such as `2h`.
pub fn age(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_by_columns_not_by_characters() {
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(fit("abcd", 3), "ab…");
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(fit("abc", 0), "");
    }

    #[test]
    fn ages_are_short() {
        let check = |seconds, expected: &str| {
            assert_eq!(age(Duration::from_secs(seconds)), expected);
        };
        check(0, "0s");
        check(59, "59s");
        check(60, "1m");
        check(3_599, "59m");
        check(7_200, "2h");
        check(200_000, "2d");
    }
}
