//! Draws a model. It has no side effects: the same model, style, time and size give the same cells.
//!
//! Colour never carries a meaning alone (X27): every dot is beside its state in words, and the
//! selected row has a `>`.

mod detail;
mod list;
mod wrap;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use turnbridge_core::text::one_line::one_line;
use turnbridge_core::text::visible_text::visible_line;
use turnbridge_core::timestamp::Timestamp;
use unicode_width::UnicodeWidthStr;

use super::model::{SessionFilter, WatchMode, WatchModel};
use super::text_box::TextBox;
use crate::session_views::table::fit;
use wrap::wrap;

pub use list::next_change;

/// The width from which the selected session is beside the list.
const WIDE: u16 = 90;

/// The limit of the list's width; the text gets the rest.
const WIDEST_LIST: u16 = 60;

/// The height from which the selected session is below the list in a narrow terminal.
const HIGH: u16 = 14;

const FOOT: u16 = 4;

const KEYS: &str = "j/k move  / filter  a all  Enter focus  r reply  y copy  ? help  q quit";

const HELP_INDENT: usize = 13;

const HELP: [(&str, &str); 12] = [
    ("j k, arrows", "choose a session; g and G: the first, the last"),
    ("PgDn PgUp", "scroll what it said"),
    ("/", "filter by project, tool, state or words of the prompt; Esc ends it"),
    ("a", "all sessions, or only those that live"),
    ("Enter, f", "go to its terminal"),
    ("r", "reply: Enter sends, Alt-Enter or Ctrl-J begins a line, Esc cancels"),
    ("y", "copy the command that resumes it"),
    ("q, Ctrl-C", "quit"),
    ("green, *", "working"),
    ("orange, !", "waits for you"),
    ("blue, -", "completed"),
    ("○", "its terminal is not known"),
];

#[derive(Debug, Clone, Copy)]
pub struct ViewStyle {
    pub color: bool,
}

/// The results of a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawResult {
    /// The position of the text cursor.
    pub cursor: Option<Position>,
    /// The effective scroll position.
    pub scroll: usize,
    /// The number of the list's rows.
    pub rows: usize,
}

/// Draws the model into the buffer.
pub fn draw(
    model: &WatchModel,
    look: ViewStyle,
    now: Timestamp,
    area: Rect,
    buffer: &mut Buffer,
) -> DrawResult {
    let mut drawn = DrawResult { cursor: None, scroll: 0, rows: 0 };
    if area.width == 0 || area.height == 0 {
        return drawn;
    }
    let mut rest = area;
    if area.height > 3 {
        let head = take_top(&mut rest, 1);
        put(buffer, head, 0, &head_text(model), bold());
    }
    drawn.cursor = draw_foot(model, &mut rest, buffer);
    if matches!(model.mode(), WatchMode::Help) {
        draw_help(rest, buffer);
        return drawn;
    }
    if area.width >= WIDE {
        let list = Rect { width: (rest.width / 2).min(WIDEST_LIST), ..rest };
        let beside = Rect { x: list.right() + 2, width: rest.width - list.width - 2, ..rest };
        for y in rest.top()..rest.bottom() {
            buffer.set_string(list.right(), y, "│", dim());
        }
        drawn.rows = list::draw(model, look, now, list, buffer);
        drawn.scroll = detail::draw(model, now, beside, buffer);
    } else if rest.height >= HIGH {
        let wanted = u16::try_from(model.visible().len()).unwrap_or(u16::MAX).max(2);
        let half = rest.height / 2;
        let list = take_top(&mut rest, wanted.min(half));
        let line = take_top(&mut rest, 1);
        put(buffer, line, 0, &"─".repeat(usize::from(line.width)), dim());
        drawn.rows = list::draw(model, look, now, list, buffer);
        drawn.scroll = detail::draw(model, now, rest, buffer);
    } else {
        drawn.rows = list::draw(model, look, now, rest, buffer);
        drawn.scroll = model.scroll();
    }
    drawn
}

fn head_text(model: &WatchModel) -> String {
    let counts = model.counts();
    let mut text = format!(
        "{} waiting  {} working  {} completed",
        counts.waiting, counts.working, counts.completed
    );
    match model.shown() {
        SessionFilter::All => text.push_str(&format!("  {} stopped", counts.stopped)),
        SessionFilter::Live => {}
    }
    let is_typed = matches!(model.mode(), WatchMode::Filter);
    if !model.filter().is_empty() && !is_typed {
        text.push_str(&format!("  /{}", model.filter().typed()));
    }
    text
}

/// Draws the foot: a message, the typed text, or the keys, as high as needed.
fn draw_foot(model: &WatchModel, rest: &mut Rect, buffer: &mut Buffer) -> Option<Position> {
    if let WatchMode::Reply { to, text } = model.mode() {
        let project = model.session(to).and_then(|session| session.project()).unwrap_or("-");
        return draw_reply(text, &one_line(project), model.message(), rest, buffer);
    }
    if let WatchMode::Filter = model.mode() {
        let line = take_bottom(rest, 1);
        let typed = format!("/{}", model.filter().typed());
        put(buffer, line, 0, &typed, Style::default());
        let column = u16::try_from(typed.width()).unwrap_or(u16::MAX);
        let column = column.min(line.width.saturating_sub(1));
        return Some(Position::new(line.x + column, line.y));
    }
    let width = usize::from(rest.width);
    // The list keeps at least half of a small terminal.
    let most = usize::from((rest.height / 2).clamp(1, FOOT));
    let (lines, style) = match model.message() {
        Some(message) => (wrap(message, width, most), bold()),
        None => (vec![fit(KEYS, width)], dim()),
    };
    let height = u16::try_from(lines.len()).unwrap_or(FOOT);
    let foot = take_bottom(rest, height.max(1));
    for (row, line) in lines.iter().take(usize::from(foot.height)).enumerate() {
        put(buffer, foot, row, line, style);
    }
    None
}

fn draw_reply(
    text: &TextBox,
    project: &str,
    message: Option<&str>,
    rest: &mut Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let width = usize::from(rest.width).max(1);
    let lines = wrap::typed_lines(text.as_str(), width);
    let (row, column) = wrap::cursor_of(text.before_cursor(), width);
    let most = (rest.height / 2).max(2).min(rest.height);
    let height =
        u16::try_from(lines.len().max(row + 1)).unwrap_or(most).saturating_add(1).min(most);
    let mut area = take_bottom(rest, height);
    let head = take_top(&mut area, 1);
    let title = match message {
        Some(message) => message.to_owned(),
        None => {
            format!("reply to {project}: Enter sends, Alt-Enter a new line, Esc cancels")
        }
    };
    put(buffer, head, 0, &title, bold());
    let room = usize::from(area.height).max(1);
    let above = (row + 1).saturating_sub(room);
    for (at, line) in lines.iter().skip(above).take(room).enumerate() {
        put(buffer, area, at, line, Style::default());
    }
    let offset = |value: usize| u16::try_from(value).unwrap_or(u16::MAX);
    let column = offset(column).min(area.width.saturating_sub(1));
    let y = area.y.saturating_add(offset(row - above)).min(area.bottom().saturating_sub(1));
    Some(Position::new(area.x + column, y))
}

fn draw_help(area: Rect, buffer: &mut Buffer) {
    let width = usize::from(area.width).saturating_sub(HELP_INDENT);
    let mut row = 0;
    for (keys, meaning) in HELP {
        for (index, line) in wrap(meaning, width, usize::MAX).iter().enumerate() {
            let keys = if index == 0 { keys } else { "" };
            put(buffer, area, row, &format!("{keys:<HELP_INDENT$}{line}"), Style::default());
            row += 1;
        }
    }
}

/// Draws one line, cut to the area's width.
fn put(buffer: &mut Buffer, area: Rect, row: usize, text: &str, style: Style) {
    let y = area.y.saturating_add(u16::try_from(row).unwrap_or(u16::MAX));
    if y < area.bottom() {
        let text = visible_line(text);
        buffer.set_string(area.x, y, fit(&text, usize::from(area.width)), style);
    }
}

fn take_top(area: &mut Rect, height: u16) -> Rect {
    let height = height.min(area.height);
    let top = Rect { height, ..*area };
    *area = Rect { y: area.y + height, height: area.height - height, ..*area };
    top
}

fn take_bottom(area: &mut Rect, height: u16) -> Rect {
    let height = height.min(area.height);
    *area = Rect { height: area.height - height, ..*area };
    Rect { y: area.bottom(), height, ..*area }
}

fn bold() -> Style {
    Style::default().add_modifier(Modifier::BOLD)
}

fn dim() -> Style {
    Style::default().add_modifier(Modifier::DIM)
}

#[cfg(test)]
mod tests;
