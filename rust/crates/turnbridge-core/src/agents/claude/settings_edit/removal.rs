//! Plans the removal of Turnbridge's entries from the settings.
//!
//! Containers that held only these entries are removed with them. If the text before the
//! registration is known, a container that was empty in it stays, with the same text between its
//! brackets.

use super::layout::SettingsLayout;
use super::own::program_of;
use super::{SettingsPlan, SettingsRefusal, is_blank, parse_settings};
use crate::scan::json_tree::{Node, Value};
use crate::scan::splice::Splice;

/// Plans the removal of Turnbridge's entries, and of the containers that exist only for them.
/// `before` is the text before the registration, if known: a container that was empty in it stays
/// as it was written.
pub fn plan_remove(text: &str, before: Option<&str>) -> Result<SettingsPlan, SettingsRefusal> {
    if is_blank(text) {
        return Ok(SettingsPlan::default());
    }
    let root = parse_settings(text)?;
    let layout = SettingsLayout::of(text, &root);
    let before = before.map(without_ours);
    let origin = EntryOrigin::of(before.as_deref());
    let mut splices = Vec::new();
    let mut dropped = Vec::new();
    for (index, member) in root.members().iter().enumerate().filter(|(_, it)| it.key == "hooks") {
        let origin = origin.as_ref().filter(|_| is_effective(&root, index));
        let emptied = EmptiedContainer::unless_hidden(&root, index);
        match remove_from_hooks(&layout, &member.value, origin, emptied) {
            Stripped::Emptied => dropped.push(index),
            Stripped::Untouched => {}
            Stripped::Changed(changes) => splices.extend(changes),
        }
    }
    if dropped.is_empty() {
        return Ok(SettingsPlan { splices });
    }
    let is_alone = dropped.len() == root.members().len();
    match (&origin, is_alone) {
        (Some(EntryOrigin { root: None, text: blank, .. }), true) => {
            Ok(SettingsPlan { splices: vec![Splice::replace(0..text.len(), *blank)] })
        }
        _ => {
            let when_empty = origin.as_ref().map_or("", |origin| origin.inside(|root| Some(root)));
            splices.extend(layout.edit_children(&root, &dropped, &[], when_empty, true));
            Ok(SettingsPlan { splices })
        }
    }
}

/// Returns whether the member counts: of members with the same key only the last does.
pub(super) fn is_effective(object: &Node, index: usize) -> bool {
    let members = object.members();
    members[index + 1..].iter().all(|later| later.key != members[index].key)
}

/// The change of a container by the removal of Turnbridge's entries.
pub(super) enum Stripped {
    Untouched,
    Changed(Vec<Splice>),
    /// No entry is left, and the container is to be removed.
    Emptied,
}

/// The treatment of a container that held only Turnbridge's entries.
#[derive(Clone, Copy)]
pub(super) enum EmptiedContainer<'a> {
    Drop,
    /// It was empty before the registration; this was the text between its brackets.
    Keep(&'a str),
}

impl EmptiedContainer<'_> {
    /// Keeps a member that hides an earlier one with the same key: without it, the earlier one
    /// would count.
    pub fn unless_hidden(object: &Node, index: usize) -> EmptiedContainer<'static> {
        let members = object.members();
        let same_key = members.iter().filter(|member| member.key == members[index].key);
        if same_key.count() == 1 { EmptiedContainer::Drop } else { EmptiedContainer::Keep("") }
    }
}

/// Plans the removal of Turnbridge's entries from the value of one event.
pub(super) fn strip(
    layout: &SettingsLayout<'_>,
    event: &Node,
    emptied: EmptiedContainer<'_>,
) -> Stripped {
    let (mut changes, mut removed) = (Vec::new(), Vec::new());
    for (index, group) in event.elements().iter().enumerate() {
        let Some(handlers) = group.get("hooks") else { continue };
        let ours: Vec<usize> = (0..handlers.elements().len())
            .filter(|position| program_of(&handlers.elements()[*position]).is_some())
            .collect();
        if ours.is_empty() {
            continue;
        }
        if ours.len() == handlers.elements().len() {
            removed.push(index);
        } else {
            changes.extend(layout.edit_children(handlers, &ours, &[], "", false));
        }
    }
    if removed.is_empty() && changes.is_empty() {
        return Stripped::Untouched;
    }
    let is_empty = removed.len() == event.elements().len();
    let when_empty = match emptied {
        EmptiedContainer::Drop if is_empty => return Stripped::Emptied,
        EmptiedContainer::Drop => "",
        EmptiedContainer::Keep(inside) => inside,
    };
    changes.extend(layout.edit_children(event, &removed, &[], when_empty, false));
    Stripped::Changed(changes)
}

fn remove_from_hooks(
    layout: &SettingsLayout<'_>,
    hooks: &Node,
    origin: Option<&EntryOrigin<'_>>,
    emptied: EmptiedContainer<'_>,
) -> Stripped {
    let (mut changes, mut dropped) = (Vec::new(), Vec::new());
    for (index, member) in hooks.members().iter().enumerate() {
        let event_before = |root: &'_ Node| root.get("hooks")?.get(&member.key).cloned();
        let event_before = origin.and_then(|origin| origin.root.as_ref()).and_then(event_before);
        let emptied = match (origin, &event_before) {
            (Some(origin), Some(event)) if is_effective(hooks, index) => {
                EmptiedContainer::Keep(origin.inside_of(event))
            }
            _ => EmptiedContainer::unless_hidden(hooks, index),
        };
        match strip(layout, &member.value, emptied) {
            Stripped::Untouched => {}
            Stripped::Emptied => dropped.push(index),
            Stripped::Changed(stripped) => {
                let was_one = event_before.is_some_and(|it| matches!(it.value, Value::Object(_)));
                changes.extend(match unwrap(&member.value).filter(|_| was_one) {
                    Some(unwrapped) => unwrapped,
                    None => stripped,
                });
            }
        }
    }
    if changes.is_empty() && dropped.is_empty() {
        return Stripped::Untouched;
    }
    let hooks_before = origin.and_then(|origin| origin.root.as_ref()?.get("hooks"));
    let is_emptied = dropped.len() == hooks.members().len();
    let when_empty = match (origin, hooks_before, emptied) {
        (Some(origin), Some(before), _) => origin.inside_of(before),
        (_, _, EmptiedContainer::Drop) if is_emptied => return Stripped::Emptied,
        (_, _, EmptiedContainer::Drop) => "",
        (_, _, EmptiedContainer::Keep(inside)) => inside,
    };
    changes.extend(layout.edit_children(hooks, &dropped, &[], when_empty, false));
    Stripped::Changed(changes)
}

/// Undoes the change of X38: the list of one group, before Turnbridge's, becomes that group again.
/// Returns `None` if the user has changed the list since.
fn unwrap(event: &Node) -> Option<Vec<Splice>> {
    let is_ours = |group: &Node| {
        let handlers = group.get("hooks").map(Node::elements).unwrap_or_default();
        !handlers.is_empty() && handlers.iter().all(|handler| program_of(handler).is_some())
    };
    let (first, rest) = event.elements().split_first()?;
    let is_as_we_left_it = !is_ours(first) && rest.iter().all(is_ours);
    is_as_we_left_it.then(|| {
        vec![
            Splice::delete(event.range.start..first.range.start),
            Splice::delete(first.range.end..event.range.end),
        ]
    })
}

/// Returns the file before the registration. It may contain entries of an earlier version.
fn without_ours(before: &str) -> String {
    plan_remove(before, None).map_or_else(|_| before.to_owned(), |plan| plan.applied_to(before))
}

struct EntryOrigin<'a> {
    text: &'a str,
    /// `None`: the file was empty.
    root: Option<Node>,
}

impl<'a> EntryOrigin<'a> {
    /// Returns `None` if the text before is not known, or cannot be parsed.
    fn of(before: Option<&'a str>) -> Option<EntryOrigin<'a>> {
        let text = before?;
        if is_blank(text) {
            return Some(EntryOrigin { text, root: None });
        }
        Some(EntryOrigin { text, root: Some(parse_settings(text).ok()?) })
    }

    /// Returns the text between the brackets of a container that was empty.
    fn inside_of(&self, node: &Node) -> &'a str {
        let range = node.range.start + 1..node.range.end.saturating_sub(1);
        let is_container = matches!(node.value, Value::Array(_) | Value::Object(_));
        if is_container && node.child_ranges().is_empty() { &self.text[range] } else { "" }
    }

    fn inside(&self, choose: impl Fn(&Node) -> Option<&Node>) -> &'a str {
        self.root.as_ref().and_then(choose).map_or("", |node| self.inside_of(node))
    }
}
