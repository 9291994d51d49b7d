//! Plans the registration of Turnbridge's hooks in Claude's `settings.json`; `removal` plans their
//! removal. A plan consists of splices of the file's text; other code reads and writes the file.
//!
//! Hooks of other programs are never changed: Turnbridge's are in separate groups after them. The
//! name of their program and `--origin settings` identify Turnbridge's entries, even if the user
//! has moved or reformatted them.

mod layout;
mod own;
mod registration;
mod removal;

use std::fmt;

use crate::agents::hook_table::HookEventName;
use crate::ids::Agent;
use crate::scan::byte_order_mark::split_mark;
use crate::scan::json_tree::{JsonSyntaxError, Member, Node, Value, parse, place};
use crate::scan::splice::{Splice, spliced};
use layout::{NewEntry, SettingsLayout};
pub use own::OwnCall;
use own::{own_call, program_of};
use registration::WantedEntry;
pub use registration::{Form, Registration, StopGate};
pub use removal::plan_remove;
use removal::{EmptiedContainer, Stripped, is_effective, strip};

/// Why a file is left unchanged. Lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsRefusal {
    pub reason: String,
    pub line: usize,
    pub column: usize,
}

impl SettingsRefusal {
    fn at(text: &str, node: &Node, reason: String) -> SettingsRefusal {
        let (line, column) = place(text, node.range.start);
        SettingsRefusal { reason, line, column }
    }
}

impl From<JsonSyntaxError> for SettingsRefusal {
    fn from(JsonSyntaxError { line, column, reason }: JsonSyntaxError) -> SettingsRefusal {
        SettingsRefusal { reason, line, column }
    }
}

impl fmt::Display for SettingsRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at line {}, column {}", self.reason, self.line, self.column)
    }
}

impl std::error::Error for SettingsRefusal {}

/// The changes to the file. Empty if the file needs none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsPlan {
    pub splices: Vec<Splice>,
}

impl SettingsPlan {
    pub fn is_empty(&self) -> bool {
        self.splices.is_empty()
    }

    pub fn applied_to(&self, text: &str) -> String {
        spliced(text, &self.splices)
    }
}

/// The state of one event's registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventRegistration {
    Yes,
    /// Turnbridge's hook exists, but calls another version, another place or another gate.
    Outdated,
    No,
}

/// Plans the registration of every missing event and the update of outdated ones (KT-7, KT-9,
/// KT-23, KT-24). The text of a missing file is empty.
pub fn plan_apply(
    text: &str,
    registration: &Registration,
) -> Result<SettingsPlan, SettingsRefusal> {
    if is_blank(text) {
        let layout = SettingsLayout::plain(text);
        let all = NewEntry::object(None, vec![new_hooks(events(), registration)]);
        let start = split_mark(text).0.len();
        let whole = layout.render(&all, "") + layout.line_end(start);
        return Ok(SettingsPlan { splices: vec![Splice::replace(start..text.len(), whole)] });
    }
    let root = parse_settings(text)?;
    let layout = SettingsLayout::of(text, &root);
    let Some(hooks) = root.get("hooks") else {
        let new = new_hooks(events(), registration);
        return Ok(SettingsPlan { splices: layout.edit_children(&root, &[], &[new], "", true) });
    };
    let mut splices = Vec::new();
    let mut dropped = Vec::new();
    let is_spread = layout.is_spread(&root);
    for (index, member) in hooks.members().iter().enumerate() {
        match wanted_event(hooks, index) {
            Some(event) => {
                let edit = EventEdit::of(text, &layout, &member.value, event, registration)?;
                splices.extend(edit.into_splices(&layout, hooks, &member.value));
            }
            // An event that an earlier version registered, and this one does not.
            None => {
                match strip(&layout, &member.value, EmptiedContainer::unless_hidden(hooks, index)) {
                    Stripped::Emptied => dropped.push(index),
                    Stripped::Untouched => {}
                    Stripped::Changed(changes) => splices.extend(changes),
                }
            }
        }
    }
    let missing: Vec<NewEntry> = events()
        .filter(|event| hooks.get(event.as_str()).is_none())
        .map(|event| new_event(event, registration))
        .collect();
    splices.extend(layout.edit_children(hooks, &dropped, &missing, "", is_spread));
    Ok(SettingsPlan { splices })
}

/// Returns the state of each event, in the order in which they are registered.
pub fn inspect(
    text: &str,
    registration: &Registration,
) -> Result<Vec<(HookEventName, EventRegistration)>, SettingsRefusal> {
    if is_blank(text) {
        return Ok(events().map(|event| (event, EventRegistration::No)).collect());
    }
    let root = parse_settings(text)?;
    let layout = SettingsLayout::of(text, &root);
    let state_of = |event: HookEventName| {
        let Some(node) = root.get("hooks").and_then(|hooks| hooks.get(event.as_str())) else {
            return Ok((event, EventRegistration::No));
        };
        let edit = EventEdit::of(text, &layout, node, event, registration)?;
        let is_same = edit.changes.is_empty() && edit.removed.is_empty() && !edit.wraps;
        let state = match (edit.found, edit.appended.is_empty() && is_same) {
            (0, _) => EventRegistration::No,
            (_, true) => EventRegistration::Yes,
            (_, false) => EventRegistration::Outdated,
        };
        Ok((event, state))
    };
    events().map(state_of).collect()
}

/// Returns Turnbridge's calls in the file, of any version and at any path.
pub fn own_calls(text: &str) -> Result<Vec<OwnCall>, SettingsRefusal> {
    if is_blank(text) {
        return Ok(Vec::new());
    }
    let root = parse_settings(text)?;
    let Some(hooks) = root.get("hooks") else { return Ok(Vec::new()) };
    let events = hooks.members().iter().enumerate();
    let events = events.filter(|(index, _)| is_effective(hooks, *index));
    let groups = events.flat_map(|(_, event)| match &event.value.value {
        Value::Array(groups) => groups.as_slice(),
        _ => std::slice::from_ref(&event.value),
    });
    let handlers =
        groups.flat_map(|group| group.get("hooks").map(Node::elements).unwrap_or_default());
    Ok(handlers.filter_map(own_call).collect())
}

/// Returns whether the user has disabled all hooks (`disableAllHooks`), Turnbridge's too.
pub fn all_hooks_are_off(text: &str) -> bool {
    parse(text).is_ok_and(|root| {
        root.get("disableAllHooks").map(|it| &it.value) == Some(&Value::Bool(true))
    })
}

fn events() -> impl Iterator<Item = HookEventName> {
    HookEventName::of(Agent::Claude)
}

fn is_blank(text: &str) -> bool {
    split_mark(text).1.trim_matches([' ', '\t', '\r', '\n']).is_empty()
}

fn parse_settings(text: &str) -> Result<Node, SettingsRefusal> {
    let root = parse(text)?;
    let is_object = |node: &Node| matches!(node.value, Value::Object(_));
    if !is_object(&root) {
        let reason = format!("the settings should be an object, not {}", root.kind());
        return Err(SettingsRefusal::at(text, &root, reason));
    }
    match root.get("hooks").filter(|hooks| !is_object(hooks)) {
        Some(hooks) => {
            let reason = format!("`hooks` should be an object, not {}", hooks.kind());
            Err(SettingsRefusal::at(text, hooks, reason))
        }
        None => Ok(root),
    }
}

fn wanted_event(hooks: &Node, index: usize) -> Option<HookEventName> {
    let event = HookEventName::parse(&hooks.members()[index].key, Agent::Claude)?;
    is_effective(hooks, index).then_some(event)
}

fn new_hooks(events: impl Iterator<Item = HookEventName>, registration: &Registration) -> NewEntry {
    NewEntry::object(Some("hooks"), events.map(|event| new_event(event, registration)).collect())
}

fn new_event(event: HookEventName, registration: &Registration) -> NewEntry {
    let groups = registration.wanted(event).iter().map(WantedEntry::group).collect();
    NewEntry::array(Some(event.as_str()), groups)
}

/// The changes to the value of one event.
struct EventEdit {
    /// Inside groups that stay.
    changes: Vec<Splice>,
    /// Groups that are removed.
    removed: Vec<usize>,
    appended: Vec<NewEntry>,
    /// The number of wanted programs that exist, in any version.
    found: usize,
    /// The value is one group where Claude Code expects a list of them (X38).
    wraps: bool,
}

impl EventEdit {
    fn of(
        text: &str,
        layout: &SettingsLayout<'_>,
        node: &Node,
        event: HookEventName,
        registration: &Registration,
    ) -> Result<EventEdit, SettingsRefusal> {
        let groups = match &node.value {
            Value::Array(groups) => groups.as_slice(),
            Value::Object(_) => std::slice::from_ref(node),
            _ => {
                let (event, kind) = (event.as_str(), node.kind());
                let reason = format!("`hooks.{event}` should be an array, not {kind}");
                return Err(SettingsRefusal::at(text, node, reason));
            }
        };
        let mut missing = registration.wanted(event);
        let wanted = missing.len();
        let (mut changes, mut removed) = (Vec::new(), Vec::new());
        for (index, group) in groups.iter().enumerate() {
            let handlers = group.get("hooks").map(Node::elements).unwrap_or_default();
            let mut superfluous = Vec::new();
            for (position, handler) in handlers.iter().enumerate() {
                let Some(program) = program_of(handler) else { continue };
                match missing.iter().position(|wanted| wanted.program == program) {
                    Some(at) => changes.extend(update(layout, handler, &missing.remove(at))),
                    None => superfluous.push(position),
                }
            }
            if superfluous.len() == handlers.len() && !handlers.is_empty() {
                removed.push(index);
            } else if let (Some(handlers), false) = (group.get("hooks"), superfluous.is_empty()) {
                changes.extend(layout.edit_children(handlers, &superfluous, &[], "", false));
            }
        }
        let found = wanted - missing.len();
        let appended = missing.iter().map(WantedEntry::group).collect();
        let wraps = matches!(node.value, Value::Object(_));
        Ok(EventEdit { changes, removed, appended, found, wraps })
    }

    fn into_splices(self, layout: &SettingsLayout<'_>, hooks: &Node, node: &Node) -> Vec<Splice> {
        let EventEdit { changes: mut splices, removed, appended, wraps, .. } = self;
        let is_spread = layout.is_spread(hooks);
        if !wraps {
            splices.extend(layout.edit_children(node, &removed, &appended, "", is_spread));
            return splices;
        }
        if !removed.is_empty() {
            let list = NewEntry::array(None, appended);
            let indent = layout.line_indent(node.range.start);
            let list = if is_spread { layout.render(&list, indent) } else { layout.inline(&list) };
            return vec![Splice::replace(node.range.clone(), list)];
        }
        let more: String =
            appended.iter().map(|new| layout.comma() + &layout.inline(new)).collect();
        splices.push(Splice::insert(node.range.start, "["));
        splices.push(Splice::insert(node.range.end, more + "]"));
        splices
    }
}

/// Makes a handler call the wanted program; the user's other members in it stay.
fn update(layout: &SettingsLayout<'_>, handler: &Node, wanted: &WantedEntry) -> Vec<Splice> {
    let mut splices = Vec::new();
    let Some(command) = handler.get("command") else { return splices };
    if command.as_str() != Some(&wanted.command) {
        let new = NewEntry::string(None, &wanted.command);
        splices.push(Splice::replace(command.range.clone(), layout.inline(&new)));
    }
    let is_args = |member: &&Member| member.key == "args";
    match (&wanted.args, handler.get("args")) {
        (None, None) => {}
        (Some(args), Some(node)) => {
            let found = node.elements().iter().map(Node::as_str);
            if !found.eq(args.iter().map(|arg| Some(arg.as_str()))) {
                let new = layout.inline(&NewEntry::strings(None, args));
                splices.push(Splice::replace(node.range.clone(), new));
            }
        }
        (Some(args), None) => {
            let new = layout.inline(&NewEntry::strings(Some("args"), args));
            let between = layout.separator(handler, command.range.start);
            splices.push(Splice::insert(command.range.end, between + &new));
        }
        (None, Some(_)) => {
            let members = handler.members().iter();
            let gone: Vec<usize> =
                members.enumerate().filter(|(_, it)| is_args(it)).map(|(index, _)| index).collect();
            splices.extend(layout.edit_children(handler, &gone, &[], "", false));
        }
    }
    splices
}

#[cfg(test)]
mod tests;
