//! Plans edits of the root key `notify` in Codex's `config.toml`: the program that Codex runs when
//! a turn has ended. Codex accepts only one program, so an existing one stays unless the user
//! decides otherwise (X1).
//!
//! A plan consists of splices, so that comments, line ends and all other text stay byte for byte. A
//! `notify` inside a table is another key, and stays. Other code reads and writes the file.

use std::ops::Range;

use toml_edit::{Array, Document, Item, Table, Value};
use turnbridge_core::scan::byte_order_mark::split_mark;
use turnbridge_core::scan::splice::{Splice, spliced};

use crate::problem::Problem;

/// How the registration treats a `notify` of another program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotifyMode {
    LeaveExisting,
    /// Turnbridge's entry takes its place and runs it with the same JSON.
    Chain,
    Replace,
}

/// The planned changes of the text, and their outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifyPlan {
    pub splices: Vec<Splice>,
    pub outcome: NotifyOutcome,
}

/// The effect of a plan on the `notify` entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotifyOutcome {
    /// The entry is already the wanted one.
    Unchanged,
    Registered,
    /// Turnbridge's entry existed with another command line.
    Updated,
    /// The entry of another program stays.
    Left(Vec<String>),
    /// Turnbridge's entry replaces that of another program. The caller stores the old one, so that
    /// it still runs.
    Chained(Vec<String>),
    Replaced,
    /// Turnbridge's entry is removed.
    Removed,
    /// Turnbridge's entry is removed, and the earlier one is back.
    Restored,
}

/// The state of the `notify` entry, compared with the wanted command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotifyKeyStatus {
    Absent,
    Registered,
    /// Turnbridge's entry for another version or another place.
    Outdated(Vec<String>),
    Foreign(Vec<String>),
    /// Codex does not accept the value.
    Unusable,
}

impl NotifyPlan {
    pub fn applied_to(&self, text: &str) -> String {
        spliced(text, &self.splices)
    }
}

/// Returns Turnbridge's entry, the command line for Codex: `PROGRAM notify --tool codex`.
pub fn our_argv(program: &str) -> Vec<String> {
    [program, "notify", "--tool", "codex"].map(str::to_owned).to_vec()
}

/// Plans the registration of `argv` as `notify`. Returns an error if the text is no TOML, or if
/// Codex does not accept the existing value, unless `mode` replaces it and it is no table.
pub fn plan_apply(text: &str, argv: &[String], mode: NotifyMode) -> Result<NotifyPlan, Problem> {
    let found = NotifyEntry::in_text(text)?;
    let wanted = render(argv);
    let (splices, outcome) = match &found {
        NotifyEntry::Nothing { last_value } => {
            (vec![insertion(text, *last_value, &wanted)], NotifyOutcome::Registered)
        }
        NotifyEntry::Argv { argv: existing, .. } if existing == argv => {
            (vec![], NotifyOutcome::Unchanged)
        }
        NotifyEntry::Argv { argv: existing, value, .. } if is_ours(existing) => {
            (vec![Splice::replace(value.clone(), wanted)], NotifyOutcome::Updated)
        }
        // An empty list runs no program.
        NotifyEntry::Argv { argv: existing, value, .. } if existing.is_empty() => {
            (vec![Splice::replace(value.clone(), wanted)], NotifyOutcome::Registered)
        }
        NotifyEntry::Argv { argv: existing, value, .. } => match mode {
            NotifyMode::LeaveExisting => (vec![], NotifyOutcome::Left(existing.clone())),
            NotifyMode::Chain => {
                let splice = Splice::replace(value.clone(), wanted);
                (vec![splice], NotifyOutcome::Chained(existing.clone()))
            }
            NotifyMode::Replace => {
                (vec![Splice::replace(value.clone(), wanted)], NotifyOutcome::Replaced)
            }
        },
        NotifyEntry::Other { value, is_table: false } if mode == NotifyMode::Replace => {
            (vec![Splice::replace(value.clone(), wanted)], NotifyOutcome::Replaced)
        }
        NotifyEntry::Other { value, .. } => {
            let message = "`notify` should be a list of words; Codex does not start with this";
            return Err(Problem::at(text, value.clone(), message));
        }
    };
    checked(text, NotifyPlan { splices, outcome }, |status| match status {
        NotifyEntry::Argv { argv: after, .. } => after == argv,
        _ => false,
    })
}

/// Plans the removal of Turnbridge's entry, and the return of the earlier one. That is taken from
/// `before`, the text before the registration, else it is `chained`, the program that Turnbridge
/// ran besides.
pub fn plan_remove(
    text: &str,
    before: Option<&str>,
    chained: Option<&[String]>,
) -> Result<NotifyPlan, Problem> {
    let NotifyEntry::Argv { argv, entry, value } = NotifyEntry::in_text(text)? else {
        return Ok(NotifyPlan { splices: Vec::new(), outcome: NotifyOutcome::Unchanged });
    };
    if !is_ours(&argv) {
        return Ok(NotifyPlan { splices: Vec::new(), outcome: NotifyOutcome::Left(argv) });
    }
    let previous = before.and_then(previous_value).or_else(|| chained.map(render));
    let plan = match previous {
        Some(previous) => NotifyPlan {
            splices: vec![Splice::replace(value, previous)],
            outcome: NotifyOutcome::Restored,
        },
        None => NotifyPlan { splices: vec![removal(text, entry)], outcome: NotifyOutcome::Removed },
    };
    checked(text, plan, |after| !matches!(after, NotifyEntry::Argv { argv, .. } if is_ours(argv)))
}

/// Returns the state of the `notify` entry. `argv` is the wanted command line.
pub fn status(text: &str, argv: &[String]) -> Result<NotifyKeyStatus, Problem> {
    Ok(match NotifyEntry::in_text(text)? {
        NotifyEntry::Nothing { .. } => NotifyKeyStatus::Absent,
        NotifyEntry::Argv { argv: existing, .. } if existing == argv => NotifyKeyStatus::Registered,
        NotifyEntry::Argv { argv: existing, .. } if is_ours(&existing) => {
            NotifyKeyStatus::Outdated(existing)
        }
        NotifyEntry::Argv { argv: existing, .. } if existing.is_empty() => NotifyKeyStatus::Absent,
        NotifyEntry::Argv { argv: existing, .. } => NotifyKeyStatus::Foreign(existing),
        NotifyEntry::Other { .. } => NotifyKeyStatus::Unusable,
    })
}

/// Returns whether the command line is Turnbridge's, in whatever folder: it may have been moved.
fn is_ours(argv: &[String]) -> bool {
    let [program, command, rest @ ..] = argv else { return false };
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    name.strip_suffix(".exe").unwrap_or(name) == "turnbridge"
        && command == "notify"
        && rest.windows(2).any(|pair| pair == ["--tool", "codex"])
}

fn render(argv: &[String]) -> String {
    argv.iter().map(String::as_str).collect::<Array>().to_string().trim().to_owned()
}

/// The `notify` of the root. All places are byte offsets in the text.
enum NotifyEntry {
    Nothing {
        /// The end of the root's last value. A new key belongs behind it, before the tables.
        last_value: Option<usize>,
    },
    Argv {
        argv: Vec<String>,
        /// The place of key and value.
        entry: Range<usize>,
        value: Range<usize>,
    },
    /// A value that Codex does not accept.
    Other { value: Range<usize>, is_table: bool },
}

impl NotifyEntry {
    fn in_text(text: &str) -> Result<NotifyEntry, Problem> {
        Problem::check_mark(text)?;
        let (mark, body) = split_mark(text);
        let mark = mark.len();
        let document = Document::parse(body).map_err(|error| Problem::of_syntax(body, &error))?;
        let in_whole = |range: Range<usize>| range.start + mark..range.end + mark;
        let Some((key, item)) = document.get_key_value("notify") else {
            let last_value = last_value_end(&document).map(|end| end + mark);
            return Ok(NotifyEntry::Nothing { last_value });
        };
        let key = key.span().unwrap_or_default();
        let value = item.span().unwrap_or(key.clone());
        Ok(match words(item) {
            Some(argv) => NotifyEntry::Argv {
                argv,
                entry: in_whole(key.start..value.end),
                value: in_whole(value),
            },
            None => NotifyEntry::Other {
                value: in_whole(value),
                is_table: !matches!(item, Item::Value(_)),
            },
        })
    }
}

fn words(item: &Item) -> Option<Vec<String>> {
    let array = item.as_value()?.as_array()?;
    array.iter().map(|word| word.as_str().map(str::to_owned)).collect()
}

/// Returns the end of the last value in front of the first table header, dotted keys included.
fn last_value_end(table: &Table) -> Option<usize> {
    let ends = table.iter().filter_map(|(_, item)| match item {
        Item::Value(value) => value_end(value),
        Item::Table(table) if table.is_dotted() => last_value_end(table),
        _ => None,
    });
    ends.max()
}

fn value_end(value: &Value) -> Option<usize> {
    match value.span() {
        Some(span) => Some(span.end),
        None => value.as_inline_table()?.iter().filter_map(|(_, value)| value_end(value)).max(),
    }
}

/// Inserts the key as a separate line.
fn insertion(text: &str, last_value: Option<usize>, wanted: &str) -> Splice {
    let at = match last_value {
        Some(end) => text[end..].find('\n').map_or(text.len(), |offset| end + offset + 1),
        None => before_first_table(text),
    };
    let line_end = line_end(text, at);
    let is_behind_open_line = !split_mark(&text[..at]).1.is_empty() && !text[..at].ends_with('\n');
    match is_behind_open_line {
        true => Splice::insert(at, format!("{line_end}notify = {wanted}")),
        false => Splice::insert(at, format!("notify = {wanted}{line_end}")),
    }
}

/// Returns the place for a key in a root without values. Comments that touch the first table header
/// belong to it.
fn before_first_table(text: &str) -> usize {
    let mark = split_mark(text).0.len();
    let (mut at, mut start_of_block) = (mark, mark);
    for line in text[mark..].split_inclusive('\n') {
        match line.trim_start().chars().next() {
            Some('[') => return start_of_block,
            Some(_) => {}
            None => start_of_block = at + line.len(),
        }
        at += line.len();
    }
    text.len()
}

/// Returns the line end of the line before, else that of the first line.
fn line_end(text: &str, at: usize) -> &'static str {
    match text[..at].rfind('\n').or_else(|| text.find('\n')) {
        Some(end) if text[..end].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Deletes the whole line, or only the entry if the line has a comment, which belongs to the user.
fn removal(text: &str, entry: Range<usize>) -> Splice {
    let start = text[..entry.start].rfind('\n').map_or(0, |end| end + 1);
    let start = start + split_mark(&text[start..]).0.len();
    let end = text[entry.end..].find('\n').map_or(text.len(), |offset| entry.end + offset + 1);
    let (in_front, behind) = (&text[start..entry.start], &text[entry.end..end]);
    if !in_front.trim().is_empty() || !behind.trim().is_empty() {
        return Splice::delete(entry.start..end - behind.trim_start().len());
    }
    // The entry is the last line and has no line end. Before the registration, the line above had
    // none either.
    let is_last = !text[start..end].ends_with('\n');
    match text[..start].strip_suffix('\n').filter(|_| is_last) {
        Some(before) => Splice::delete(before.strip_suffix('\r').unwrap_or(before).len()..end),
        None => Splice::delete(start..end),
    }
}

/// Returns the earlier value as it was written, unless it was already Turnbridge's.
fn previous_value(before: &str) -> Option<String> {
    match NotifyEntry::in_text(before).ok()? {
        NotifyEntry::Argv { argv, value, .. } if !is_ours(&argv) => Some(before[value].to_owned()),
        NotifyEntry::Other { value, is_table: false } => Some(before[value].to_owned()),
        _ => None,
    }
}

/// Returns the plan only if the text that results from it reads as expected.
fn checked(
    text: &str,
    plan: NotifyPlan,
    holds: impl Fn(&NotifyEntry) -> bool,
) -> Result<NotifyPlan, Problem> {
    if plan.splices.is_empty() {
        return Ok(plan);
    }
    match NotifyEntry::in_text(&plan.applied_to(text)) {
        Ok(found) if holds(&found) => Ok(plan),
        _ => Err(Problem::at(text, 0..0, "could not find a place for `notify`")),
    }
}

#[cfg(test)]
mod tests;
