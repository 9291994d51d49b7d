//! Finds the places where a text is cut into messages: at blank lines, else at line ends, else at
//! white space, else between characters; outside of fenced code if possible.
//!
//! A unit that does not fit any more moves to the next message whole, if it fits there; only a unit
//! longer than a message is cut at the next worse kind of place. So two neighbouring messages are
//! together longer than one message, and there are at most twice as many as necessary.

use super::fence::Fence;

/// The lines of a text, parsed once.
pub(super) struct TextLayout<'a> {
    pub text: &'a str,
    lines: Vec<TextLine>,
    fences: Vec<Fence>,
}

struct TextLine {
    start: usize,
    /// Characters as sent, its end included.
    cost: usize,
    is_blank: bool,
    is_row: bool,
    /// A heading, or the blank lines after one: the next block belongs to it.
    is_heading: bool,
    /// The index of the fence that is open before it.
    fence: Option<usize>,
}

/// How full a message has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filling {
    /// A short message is allowed if that keeps a block whole.
    Blocks,
    /// At least half full.
    Most,
}

/// The places between lines, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BreakPoint {
    BlankLine,
    OutsideFence,
    LineEnd,
}

const BREAK_POINTS: [BreakPoint; 3] =
    [BreakPoint::BlankLine, BreakPoint::OutsideFence, BreakPoint::LineEnd];

impl<'a> TextLayout<'a> {
    pub fn new(text: &'a str) -> TextLayout<'a> {
        let mut layout = TextLayout { text, lines: Vec::new(), fences: Vec::new() };
        let mut start = 0;
        let mut open: Option<usize> = None;
        for line in text.split_inclusive('\n') {
            let bare = line.trim_end_matches(['\n', '\r']);
            let is_blank = bare.trim().is_empty();
            let is_under_heading = layout.lines.last().is_some_and(|line| line.is_heading);
            layout.lines.push(TextLine {
                start,
                cost: line.chars().map(cost).sum(),
                is_blank,
                is_row: open.is_none() && bare.trim_start().starts_with('|'),
                is_heading: open.is_none() && (is_heading(bare) || (is_blank && is_under_heading)),
                fence: open,
            });
            start += line.len();
            match open {
                Some(fence) if layout.fences[fence].is_closed_by(bare) => open = None,
                Some(_) => {}
                None => {
                    if let Some(fence) = Fence::opened_by(bare) {
                        layout.fences.push(fence);
                        open = Some(layout.fences.len() - 1);
                    }
                }
            }
        }
        layout
    }

    /// Returns the end of the message that begins at `start`. `room` is the limit in characters,
    /// the fences at both ends included.
    pub fn cut(&self, start: usize, room: usize, filling: Filling) -> usize {
        if start == self.text.len() {
            return start;
        }
        let room = room - characters(self.reopening(start));
        let first = self.line_at(start);
        let mut used = 0;
        let mut has_text = false;
        let mut best: [Option<(usize, usize)>; 3] = [None; 3];
        for index in first..self.lines.len() {
            // For a line that began before `start`, only count up to the limit: it may be huge.
            used += match &self.lines[index] {
                line if line.start >= start => line.cost,
                _ => cost_up_to(&self.text[start..self.end(index)], room),
            };
            has_text |= !self.lines[index].is_blank;
            if used > room {
                break;
            }
            if index + 1 == self.lines.len() {
                return self.text.len();
            }
            if used + self.closing_cost(index + 1) <= room {
                for (place, best) in BREAK_POINTS.iter().zip(&mut best) {
                    if self.is_place(*place, index + 1)
                        && (has_text || *place == BreakPoint::LineEnd)
                    {
                        *best = Some((index + 1, used));
                    }
                }
            }
        }
        for (place, best) in BREAK_POINTS.into_iter().zip(&best) {
            let Some((next, used)) = *best else { continue };
            let may_be_short = filling == Filling::Blocks || self.lines[next].is_row;
            if used >= room / 2 || (may_be_short && self.next_unit_fits(place, next, room)) {
                return self.lines[next].start;
            }
        }
        let [.., last_that_fits] = best;
        self.cut_inside(start, last_that_fits.map_or(first, |(next, _)| next), room)
    }

    /// Returns the line that reopens the fence in which a piece begins; empty if it begins in none.
    pub fn reopening(&self, start: usize) -> &str {
        self.fence_at(start).map_or("", |fence| &fence.opening)
    }

    /// Returns the text that closes the fence in which a piece ends. At the end of the text it is
    /// empty: a fence that its author left open stays open.
    pub fn closing(&self, end: usize) -> String {
        match self.fence_at(end) {
            Some(fence) if self.text[..end].ends_with('\n') => fence.closing.clone(),
            Some(fence) => format!("\n{}", fence.closing),
            None => String::new(),
        }
    }

    /// Cuts after white space, else between letters, in the line that does not fit although it
    /// could begin in this message.
    fn cut_inside(&self, start: usize, line: usize, room: usize) -> usize {
        let from = start.max(self.lines[line].start);
        let mut used = cost_up_to(&self.text[start..from], room);
        // The closing fence needs a line of its own.
        let room = room - self.closing_cost(line) - usize::from(self.lines[line].fence.is_some());
        let mut after_blank = None;
        let mut between_letters = (from > start).then_some(from);
        let mut anywhere = from;
        let mut previous = CutContext::default();
        for (index, c) in self.text[from..self.end(line)].char_indices() {
            let at = from + index;
            if used > room {
                break;
            }
            if at > start {
                anywhere = at;
                if !previous.belong_together_with(c) {
                    between_letters = Some(at);
                    if used >= room / 2 && previous.end_a_word_before(c) {
                        after_blank = Some(at);
                    }
                }
            }
            previous.pass(c);
            used += cost(c);
        }
        after_blank.or(between_letters).unwrap_or(anywhere)
    }

    fn is_place(&self, place: BreakPoint, next: usize) -> bool {
        let (line, next) = (&self.lines[next - 1], &self.lines[next]);
        let is_between_blocks = next.fence.is_none() && !line.is_heading;
        match place {
            BreakPoint::BlankLine => is_between_blocks && line.is_blank && !next.is_blank,
            BreakPoint::OutsideFence => is_between_blocks,
            BreakPoint::LineEnd => true,
        }
    }

    /// Returns whether the text from `next` to the next place of its kind fits in one message.
    fn next_unit_fits(&self, place: BreakPoint, next: usize, room: usize) -> bool {
        let mut used =
            self.lines[next].fence.map_or(0, |fence| characters(&self.fences[fence].opening));
        for index in next..self.lines.len() {
            used += self.lines[index].cost;
            if used > room {
                return false;
            }
            if index + 1 == self.lines.len() || self.is_place(place, index + 1) {
                return index + 1 == self.lines.len()
                    || used + self.closing_cost(index + 1) <= room;
            }
        }
        true
    }

    fn line_at(&self, position: usize) -> usize {
        self.lines.partition_point(|line| line.start <= position).saturating_sub(1)
    }

    fn end(&self, line: usize) -> usize {
        self.lines.get(line + 1).map_or(self.text.len(), |next| next.start)
    }

    fn fence_at(&self, position: usize) -> Option<&Fence> {
        let is_inside = position < self.text.len();
        let fence = self.lines.get(self.line_at(position)).filter(|_| is_inside)?.fence?;
        Some(&self.fences[fence])
    }

    fn closing_cost(&self, line: usize) -> usize {
        self.lines[line].fence.map_or(0, |fence| characters(&self.fences[fence].closing))
    }
}

fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - rest.len())) && rest.starts_with(' ')
}

/// Returns the length of a character as sent.
fn cost(c: char) -> usize {
    match c {
        '&' => "&amp;".len(),
        '<' | '>' => "&lt;".len(),
        _ => 1,
    }
}

fn characters(text: &str) -> usize {
    text.chars().map(cost).sum()
}

/// Returns the length as sent; exact if within the limit.
fn cost_up_to(text: &str, limit: usize) -> usize {
    let mut used = 0;
    for c in text.chars() {
        used += cost(c);
        if used > limit {
            break;
        }
    }
    used
}

/// The characters before a possible cut, as far as they decide whether it is allowed.
#[derive(Default)]
struct CutContext {
    last: Option<char>,
    /// Flags are pairs of letters.
    has_half_a_flag: bool,
}

impl CutContext {
    fn pass(&mut self, c: char) {
        self.has_half_a_flag = is_flag_letter(c) && !self.has_half_a_flag;
        self.last = Some(c);
    }

    /// Returns whether a cut before `next` would split a letter or an emoji, by the standard
    /// library's tables. They lack only the vowel signs of some Indic scripts, which write spaces
    /// between words.
    fn belong_together_with(&self, next: char) -> bool {
        let is_modifier = matches!(next, '\u{1f3fb}'..='\u{1f3ff}' | '\u{e33}' | '\u{eb3}');
        let is_syllable_part = matches!(next, '\u{1160}'..='\u{11ff}');
        match self.last {
            Some('\r') if next == '\n' => true,
            Some('\u{200d}') => true,
            Some(_) if is_flag_letter(next) => self.has_half_a_flag,
            Some(_) => is_modifier || is_syllable_part || extends_the_one_before(next),
            None => false,
        }
    }

    fn end_a_word_before(&self, next: char) -> bool {
        self.last.is_some_and(|last| {
            (last.is_whitespace() || "。、．，！？」』）".contains(last))
                && !next.is_whitespace()
                && !"。、．，！？」』）".contains(next)
        })
    }
}

fn is_flag_letter(c: char) -> bool {
    matches!(c, '\u{1f1e6}'..='\u{1f1ff}')
}

/// Returns whether it is an accent, variation selector, joiner or similar. `escape_debug` escapes
/// these, because alone they are invisible; it also escapes white space, which is excluded here.
fn extends_the_one_before(c: char) -> bool {
    !c.is_ascii() && !c.is_whitespace() && c.escape_debug().len() > 1
}
