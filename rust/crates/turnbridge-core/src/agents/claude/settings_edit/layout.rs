//! Renders added text in the layout of the settings file, and plans the splices that add members to
//! it and remove them.
//!
//! If members are on separate lines, added ones are too, with the indentation and line ends of
//! their neighbours; if they are on one line, added ones follow on it. An added group is one line:
//! a diff shows one line per hook, and a user can remove a hook by removing one line.

use std::ops::Range;

use crate::scan::byte_order_mark::split_mark;
use crate::scan::json_tree::{Node, Value};
use crate::scan::splice::Splice;

/// A value to be written, before its layout is known.
#[derive(Debug, Clone)]
pub struct NewEntry {
    key: Option<&'static str>,
    body: NewValue,
    is_on_one_line: bool,
}

#[derive(Debug, Clone)]
enum NewValue {
    Scalar(String),
    Container(char, Vec<NewEntry>, char),
}

impl NewEntry {
    fn of(key: Option<&'static str>, body: NewValue) -> NewEntry {
        NewEntry { key, body, is_on_one_line: false }
    }

    pub fn object(key: Option<&'static str>, members: Vec<NewEntry>) -> NewEntry {
        NewEntry::of(key, NewValue::Container('{', members, '}'))
    }

    pub fn array(key: Option<&'static str>, elements: Vec<NewEntry>) -> NewEntry {
        NewEntry::of(key, NewValue::Container('[', elements, ']'))
    }

    pub fn string(key: Option<&'static str>, text: &str) -> NewEntry {
        NewEntry::of(key, NewValue::Scalar(serde_json::Value::from(text).to_string()))
    }

    pub fn number(key: Option<&'static str>, number: u32) -> NewEntry {
        NewEntry::of(key, NewValue::Scalar(number.to_string()))
    }

    pub fn strings(key: Option<&'static str>, texts: &[String]) -> NewEntry {
        NewEntry::array(key, texts.iter().map(|text| NewEntry::string(None, text)).collect())
    }

    pub fn on_one_line(self) -> NewEntry {
        NewEntry { is_on_one_line: true, ..self }
    }
}

/// The layout of a settings file: how its members are indented and separated.
pub struct SettingsLayout<'a> {
    text: &'a str,
    /// One level of indentation.
    unit: String,
    /// Without any spaces, as a program writes it.
    is_tight: bool,
}

impl<'a> SettingsLayout<'a> {
    /// Returns the layout for a text that has none yet: two spaces, separate lines.
    pub fn plain(text: &'a str) -> SettingsLayout<'a> {
        SettingsLayout { text, unit: "  ".to_owned(), is_tight: false }
    }

    /// Reads the layout of a parsed text.
    pub fn of(text: &'a str, root: &Node) -> SettingsLayout<'a> {
        let mut layout = SettingsLayout::plain(text);
        if let Some(member) = root.members().first() {
            let between = &text[member.key_range.end..member.value.range.start];
            layout.is_tight = between == ":" && !layout.is_spread(root);
        }
        if let Some(unit) = layout.find_unit(root) {
            layout.unit = unit;
        }
        layout
    }

    /// Returns the indentation of the first container whose content is indented.
    fn find_unit(&self, node: &Node) -> Option<String> {
        if let Some(first) = node.child_ranges().first().filter(|_| self.is_spread(node)) {
            let outer = self.line_indent(node.range.start);
            let inner = self.line_indent(first.start).strip_prefix(outer);
            if let Some(unit) = inner.filter(|unit| !unit.is_empty()) {
                return Some(unit.to_owned());
            }
        }
        match &node.value {
            Value::Array(elements) => elements.iter().find_map(|node| self.find_unit(node)),
            Value::Object(members) => {
                members.iter().find_map(|member| self.find_unit(&member.value))
            }
            _ => None,
        }
    }

    /// Returns whether the container's content is on separate lines.
    pub fn is_spread(&self, container: &Node) -> bool {
        let inside = self.inside(container);
        let first = container.child_ranges().first().map_or(inside.end, |first| first.start);
        self.text[inside.start..first].contains('\n')
    }

    fn inside(&self, container: &Node) -> Range<usize> {
        container.range.start + 1..container.range.end - 1
    }

    /// Returns the white space at the start of the line that contains `at`.
    pub fn line_indent(&self, at: usize) -> &'a str {
        let start = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let line = split_mark(&self.text[start..]).1;
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    /// Returns the nearest line end: the one before, else the first of all.
    pub fn line_end(&self, at: usize) -> &'static str {
        let before = self.text[..at].rfind('\n');
        match before.or_else(|| self.text.find('\n')) {
            Some(end) if self.text[..end].ends_with('\r') => "\r\n",
            _ => "\n",
        }
    }

    pub fn comma(&self) -> String {
        if self.is_tight { ",".to_owned() } else { ", ".to_owned() }
    }

    /// Returns the text between two members of this object.
    pub fn separator(&self, object: &Node, near: usize) -> String {
        if self.is_spread(object) {
            format!(",{}{}", self.line_end(near), self.line_indent(near))
        } else {
            self.comma()
        }
    }

    /// Renders the value on one line.
    pub fn inline(&self, new: &NewEntry) -> String {
        let body = match &new.body {
            NewValue::Scalar(text) => text.clone(),
            NewValue::Container(open, children, close) => {
                let children: Vec<String> = children.iter().map(|it| self.inline(it)).collect();
                format!("{open}{}{close}", children.join(&self.comma()))
            }
        };
        self.key(new) + &body
    }

    /// Renders the value on separate lines, of which the first is already indented.
    pub fn render(&self, new: &NewEntry, indent: &str) -> String {
        self.render_with(new, indent, self.line_end(self.text.len()))
    }

    fn render_with(&self, new: &NewEntry, indent: &str, line_end: &str) -> String {
        match &new.body {
            NewValue::Container(open, children, close)
                if !new.is_on_one_line && !children.is_empty() =>
            {
                let inner = format!("{indent}{}", self.unit);
                let children: Vec<String> = children
                    .iter()
                    .map(|child| inner.clone() + &self.render_with(child, &inner, line_end))
                    .collect();
                let children = children.join(&format!(",{line_end}"));
                format!("{}{open}{line_end}{children}{line_end}{indent}{close}", self.key(new))
            }
            _ => self.inline(new),
        }
    }

    fn key(&self, new: &NewEntry) -> String {
        let colon = if self.is_tight { ":" } else { ": " };
        new.key.map(|key| format!("\"{key}\"{colon}")).unwrap_or_default()
    }

    /// Plans the removal of children from a container and the addition of others behind them.
    /// `when_empty` is the text between the brackets if no child is left; with `spreads` an empty
    /// container is filled on separate lines.
    pub fn edit_children(
        &self,
        container: &Node,
        removed: &[usize],
        appended: &[NewEntry],
        when_empty: &str,
        spreads: bool,
    ) -> Vec<Splice> {
        let children = container.child_ranges();
        let kept: Vec<usize> =
            (0..children.len()).filter(|index| !removed.contains(index)).collect();
        let Some(last) = kept.last().map(|index| &children[*index]) else {
            return self.fill(container, removed, appended, when_empty, spreads);
        };
        let mut splices = Vec::new();
        if !appended.is_empty() {
            splices.push(Splice::insert(last.end, self.behind(container, last, appended)));
        }
        // Children before the first kept one are removed with the white space after them; all
        // others with the comma and the white space before them.
        if kept[0] > 0 {
            splices.push(Splice::delete(children[0].start..children[kept[0]].start));
        }
        for (position, index) in kept.iter().enumerate() {
            let next = kept.get(position + 1).copied().unwrap_or(children.len());
            if next > index + 1 {
                splices.push(Splice::delete(children[*index].end..children[next - 1].end));
            }
        }
        splices
    }

    fn behind(&self, container: &Node, last: &Range<usize>, appended: &[NewEntry]) -> String {
        let separator = self.separator(container, last.start);
        let is_spread = self.is_spread(container);
        let written = appended.iter().map(|new| {
            let indent = self.line_indent(last.start);
            let line_end = self.line_end(last.start);
            let new = match is_spread {
                true => self.render_with(new, indent, line_end),
                false => self.inline(new),
            };
            separator.clone() + &new
        });
        written.collect()
    }

    /// Fills a container that keeps none of its children.
    fn fill(
        &self,
        container: &Node,
        removed: &[usize],
        appended: &[NewEntry],
        when_empty: &str,
        spreads: bool,
    ) -> Vec<Splice> {
        let inside = self.inside(container);
        if appended.is_empty() {
            let is_changed = !removed.is_empty() && self.text[inside.clone()] != *when_empty;
            return is_changed.then(|| Splice::replace(inside, when_empty)).into_iter().collect();
        }
        if !spreads && !self.is_spread(container) {
            let new: Vec<String> = appended.iter().map(|new| self.inline(new)).collect();
            return vec![Splice::replace(inside, new.join(&self.comma()))];
        }
        let indent = self.line_indent(container.range.start);
        let line_end = self.line_end(container.range.end);
        let inner = format!("{indent}{}", self.unit);
        let mut text = String::new();
        for (index, new) in appended.iter().enumerate() {
            text += if index > 0 { "," } else { "" };
            text += &format!("{line_end}{inner}{}", self.render_with(new, &inner, line_end));
        }
        vec![Splice::replace(inside, format!("{text}{line_end}{indent}"))]
    }
}
