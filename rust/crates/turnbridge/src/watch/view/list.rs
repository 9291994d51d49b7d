//! Draws the rows of the list: dot, tool, project, age, state.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use turnbridge_core::session::{Session, State};
use turnbridge_core::terminals::panes::PaneView;
use turnbridge_core::text::one_line::one_line;
use turnbridge_core::timestamp::Timestamp;
use unicode_width::UnicodeWidthStr;

use super::{ViewStyle, dim, put};
use crate::session_views::table::{age, fit, state_words};
use crate::watch::model::{BLINK, SessionFilter, WatchModel, age_holds, is_lit};

const TOOL: usize = 6;
const AGE: usize = 3;

/// Below these widths the tool is left out, then the age.
const ROOM_FOR_TOOL: usize = 40;
const ROOM_FOR_AGE: usize = 30;

/// Orange from the 256 colours; the sixteen have none.
const ORANGE: Color = Color::Indexed(208);

/// Draws the list. Returns the number of drawn rows.
pub fn draw(
    model: &WatchModel,
    look: ViewStyle,
    now: Timestamp,
    area: Rect,
    buffer: &mut Buffer,
) -> usize {
    if model.visible().len() == 0 {
        put(buffer, area, 0, nothing(model), dim());
        return 0;
    }
    let rows = usize::from(area.height);
    let first = first_row(model, rows);
    let sessions: Vec<_> = model.visible().skip(first).take(rows).collect();
    let names: Vec<_> = sessions.iter().map(|s| one_line(s.project().unwrap_or("-"))).collect();
    let width = usize::from(area.width);
    let widest = names.iter().map(|name| name.width()).max().unwrap_or(0);
    let project = widest.clamp(4, (width / 3).max(4));
    let chosen = model.chosen_row();
    for (row, (session, name)) in sessions.iter().zip(&names).enumerate() {
        let is_chosen = chosen == Some(first + row);
        let mut line = format!("{}   ", if is_chosen { '>' } else { ' ' });
        if width >= ROOM_FOR_TOOL {
            line.push_str(&format!("{:<TOOL$} ", session.key.agent.as_str()));
        }
        let name = fit(name, project);
        line.push_str(&format!("{name}{} ", " ".repeat(project - name.width())));
        if width >= ROOM_FOR_AGE {
            line.push_str(&format!("{:>AGE$} ", age(now.since(session.since()))));
        }
        line.push_str(&state_words(session));
        let line = fit(&line, width);
        let line = format!("{line}{}", " ".repeat(width - line.width()));
        let style = match is_chosen {
            true => Style::default().add_modifier(Modifier::REVERSED),
            false if session.state() == State::Stopped => dim(),
            false => Style::default(),
        };
        put(buffer, area, row, &line, style);
        draw_dot(session, model.pane_view(session), look, now, area, row, style, buffer);
    }
    sessions.len()
}

/// Draws the dot in the second column, the stop mark in the third (KT-77..82, X27).
#[expect(clippy::too_many_arguments, reason = "what is drawn, how, and where")]
fn draw_dot(
    session: &Session,
    pane: PaneView,
    look: ViewStyle,
    now: Timestamp,
    area: Rect,
    row: usize,
    style: Style,
    buffer: &mut Buffer,
) {
    let (color, plain) = match session.state() {
        State::Working => (Color::Green, "*"),
        State::WaitingUser => (ORANGE, "!"),
        State::Completed => (Color::Blue, "-"),
        State::Stopped => return,
    };
    let area = Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area };
    if !look.color {
        put(buffer, Rect { width: area.width.min(1), ..area }, row, plain, style);
        return;
    }
    let dot = match session.state() {
        State::Working if !is_lit(now) => " ",
        _ if pane.is_shown => "●",
        _ => "○",
    };
    let is_marked = session.state() == State::WaitingUser || pane.has_fallen_silent;
    let mark = if is_marked { "■" } else { " " };
    let area = Rect { width: area.width.min(2), ..area };
    put(buffer, area, row, &format!("{dot}{mark}"), style.fg(color));
}

fn nothing(model: &WatchModel) -> &'static str {
    let is_filtered = !model.filter().is_empty();
    match model.shown() {
        _ if is_filtered => "no session matches (Esc shows all again)",
        SessionFilter::Live if model.counts().stopped > 0 => {
            "no live sessions (a: the stopped ones too)"
        }
        SessionFilter::Live | SessionFilter::All => "no sessions yet",
    }
}

/// Returns the first row: the selected one stays near the middle, without empty rows at the end.
fn first_row(model: &WatchModel, rows: usize) -> usize {
    let chosen = model.chosen_row().unwrap_or(0);
    chosen.saturating_sub(rows / 2).min(model.visible().len().saturating_sub(rows))
}

/// Returns how long the list stays the same if no session changes.
pub fn next_change(
    model: &WatchModel,
    look: ViewStyle,
    now: Timestamp,
    rows: usize,
) -> Option<Duration> {
    let shown = || model.visible().skip(first_row(model, rows)).take(rows);
    let ages = shown().map(|session| age_holds(session.since(), now)).min();
    let is_blinking = look.color && shown().any(|session| session.state() == State::Working);
    let half = i64::try_from(BLINK.as_micros()).unwrap_or(i64::MAX);
    let left = half - now.as_micros().rem_euclid(half);
    let blink = is_blinking.then(|| Duration::from_micros(left.unsigned_abs()));
    [ages, blink].into_iter().flatten().min()
}
