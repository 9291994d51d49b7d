//! Splits Markdown into the blocks that are spoken: paragraphs, headings, list items and rows of
//! tables. Code blocks and comments are dropped. `inline` converts the marks inside a line.

/// A part of the text that is spoken with a pause after it.
pub(super) enum SpokenBlock {
    Prose(String),
    /// The cells of a table's row.
    Row(Vec<String>),
}

pub(super) fn blocks(markdown: &str) -> Vec<SpokenBlock> {
    let mut reader = BlockReader::default();
    let mut lines = markdown.lines().peekable();
    while let Some(line) = lines.next() {
        reader.read(line, lines.peek().copied());
    }
    reader.end_paragraph();
    reader.blocks
}

#[derive(Default)]
struct BlockReader {
    blocks: Vec<SpokenBlock>,
    paragraph: String,
    inside: BlockContext,
    /// The column at which the text of the current list item begins; code is indented from there.
    item_column: usize,
    after_text: bool,
}

#[derive(Default)]
enum BlockContext {
    #[default]
    Text,
    Fence {
        mark: char,
        length: usize,
    },
    Comment,
    Table,
}

impl BlockReader {
    fn read(&mut self, line: &str, next: Option<&str>) {
        let line = without_quote_marks(line);
        let text = line.trim();
        match self.inside {
            BlockContext::Fence { mark, length } => {
                if text.chars().count() >= length && text.chars().all(|c| c == mark) {
                    self.inside = BlockContext::Text;
                }
                return;
            }
            BlockContext::Comment => {
                if text.contains("-->") {
                    self.inside = BlockContext::Text;
                }
                return;
            }
            BlockContext::Table if text.contains('|') => return self.read_row(text),
            BlockContext::Table => self.inside = BlockContext::Text,
            BlockContext::Text => {}
        }
        if text.is_empty() {
            self.end_paragraph();
            return;
        }
        let indent = indent_of(line);
        if indent == 0 && !self.after_text && list_mark(text).is_none() {
            self.item_column = 0;
        }
        if indent >= self.item_column + 4 && !self.after_text {
            return;
        }
        if let Some((mark, length)) = opened_fence(text) {
            self.end_paragraph();
            self.inside = BlockContext::Fence { mark, length };
        } else if text.starts_with("<!--") && !text.contains("-->") {
            self.end_paragraph();
            self.inside = BlockContext::Comment;
        } else if is_rule(text) || is_link_definition(text) {
            self.end_paragraph();
        } else if text.starts_with('|') || (text.contains('|') && next.is_some_and(is_table_rule)) {
            self.end_paragraph();
            self.inside = BlockContext::Table;
            self.read_row(text);
        } else {
            self.read_prose(text, indent);
        }
    }

    fn read_prose(&mut self, text: &str, indent: usize) {
        if let Some(heading) = heading(text) {
            self.end_paragraph();
            self.add(heading);
            self.end_paragraph();
        } else if let Some(mark) = list_mark(text) {
            self.end_paragraph();
            self.item_column = indent + mark.width;
            let item = text[mark.width..].trim_start();
            let item = ["[ ] ", "[x] ", "[X] "]
                .iter()
                .find_map(|task_box| item.strip_prefix(task_box))
                .unwrap_or(item);
            match (mark.number, opened_fence(item)) {
                (_, Some((mark, length))) => self.inside = BlockContext::Fence { mark, length },
                (Some(number), None) => {
                    self.add(&format!("{number}. {}", heading(item).unwrap_or(item)))
                }
                (None, None) => self.add(heading(item).unwrap_or(item)),
            }
        } else {
            self.add(text);
        }
    }

    fn read_row(&mut self, text: &str) {
        if !is_table_rule(text) {
            self.blocks.push(SpokenBlock::Row(cells(text)));
        }
    }

    fn add(&mut self, text: &str) {
        let both_japanese =
            self.paragraph.ends_with(joins_without_blank) && text.starts_with(joins_without_blank);
        if !self.paragraph.is_empty() && !both_japanese {
            self.paragraph.push(' ');
        }
        self.paragraph.push_str(text);
        self.after_text = true;
    }

    fn end_paragraph(&mut self) {
        self.after_text = false;
        if !self.paragraph.is_empty() {
            self.blocks.push(SpokenBlock::Prose(std::mem::take(&mut self.paragraph)));
        }
    }
}

/// Matches Japanese letters, and punctuation of the same width.
fn joins_without_blank(c: char) -> bool {
    super::is_japanese(c) || matches!(c, '\u{3001}'..='\u{301f}' | '\u{ff01}'..='\u{ff60}')
}

fn without_quote_marks(mut line: &str) -> &str {
    while let Some(rest) = line.trim_start().strip_prefix('>') {
        line = rest.strip_prefix(' ').unwrap_or(rest);
    }
    line
}

fn indent_of(line: &str) -> usize {
    let blanks = line.chars().take_while(|c| matches!(c, ' ' | '\t'));
    blanks.fold(0, |column, c| if c == '\t' { column / 4 * 4 + 4 } else { column + 1 })
}

fn opened_fence(text: &str) -> Option<(char, usize)> {
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = text.trim_start_matches(mark);
    let length = text.len() - rest.len();
    (length >= 3 && !(mark == '`' && rest.contains('`'))).then_some((mark, length))
}

/// Matches a thematic break, the underline of a heading, or a table's rule.
fn is_rule(text: &str) -> bool {
    let marks = || text.chars().filter(|c| !c.is_whitespace());
    let is_of = |mark: char| marks().all(|c| c == mark);
    (marks().count() >= 3 && (is_of('*') || is_of('_'))) || is_of('=') || is_table_rule(text)
}

fn is_table_rule(text: &str) -> bool {
    text.contains("--") && text.chars().all(|c| matches!(c, '|' | '-' | ':' | '+' | ' '))
        || is_spaced_break(text)
}

fn is_spaced_break(text: &str) -> bool {
    text.matches('-').count() >= 3 && text.chars().all(|c| matches!(c, '-' | ' '))
}

fn is_link_definition(text: &str) -> bool {
    text.starts_with('[')
        && !text.starts_with("[^")
        && text.split_once("]:").is_some_and(|(name, target)| {
            !name.contains(']') && target.split_whitespace().next().is_some_and(is_target)
        })
}

fn is_target(text: &str) -> bool {
    text.contains("://") || text.starts_with(['/', '.', '#', '<']) || text.starts_with("mailto:")
}

fn heading(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches('#');
    let level = text.len() - rest.len();
    let is_heading = (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with(' '));
    is_heading.then(|| rest.trim_end_matches('#').trim())
}

struct ListMark<'a> {
    /// With its blank.
    width: usize,
    number: Option<&'a str>,
}

fn list_mark(text: &str) -> Option<ListMark<'_>> {
    if text.starts_with(['-', '*', '+', '•']) {
        let width = text.chars().next()?.len_utf8();
        return text[width..]
            .starts_with([' ', '\t'])
            .then_some(ListMark { width: width + 1, number: None });
    }
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = text.len() - rest.len();
    let is_mark = (1..=9).contains(&digits) && (rest.starts_with(". ") || rest.starts_with(") "));
    is_mark.then(|| ListMark { width: digits + 2, number: Some(&text[..digits]) })
}

/// Splits a row into cells. A backslash escapes a bar; the outer bars are the table's edge.
fn cells(row: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut characters = row.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\\' if characters.peek() == Some(&'|') => {
                characters.next();
                cells.last_mut().expect("never empty").push('|');
            }
            '|' => cells.push(String::new()),
            other => cells.last_mut().expect("never empty").push(other),
        }
    }
    cells
}
