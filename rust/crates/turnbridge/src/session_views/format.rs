//! Parses and fills the templates of `turnbridge sessions --format` and `--format-each`, for status
//! lines: names in braces, all other text unchanged. They are deliberately small; `--json` serves
//! other needs.
//!
//! An unknown name is an error even if no session would show it, since a status line must not fail
//! only once sessions run.

use std::fmt::Write;

use anyhow::Result;
use turnbridge_core::session::{Session, State};
use turnbridge_core::text::one_line::one_line;
use turnbridge_core::timestamp::Timestamp;

use super::table::{age, dot, state_words};
use crate::failure::hinted;

/// A template whose names are valid.
pub struct Template<'a, Name> {
    parts: Vec<FormatPart<'a, Name>>,
}

enum FormatPart<'a, Name> {
    Text(&'a str),
    Name(Name),
}

/// The names for all sessions together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfAll {
    /// The dot of the most urgent session.
    Dot,
    Working,
    Waiting,
    Completed,
    Total,
}

/// The names for one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfEach {
    Dot,
    Agent,
    Project,
    State,
    Age,
    SessionId,
    Prompt,
}

/// A set of names.
pub trait NameSet: Copy + 'static {
    const ALL: &'static [(&'static str, Self)];
}

impl NameSet for OfAll {
    const ALL: &'static [(&'static str, OfAll)] = &[
        ("dot", OfAll::Dot),
        ("working", OfAll::Working),
        ("waiting", OfAll::Waiting),
        ("completed", OfAll::Completed),
        ("total", OfAll::Total),
    ];
}

impl NameSet for OfEach {
    const ALL: &'static [(&'static str, OfEach)] = &[
        ("dot", OfEach::Dot),
        ("tool", OfEach::Agent),
        ("project", OfEach::Project),
        ("state", OfEach::State),
        ("age", OfEach::Age),
        ("session_id", OfEach::SessionId),
        ("prompt", OfEach::Prompt),
    ];
}

impl<'a, Name: NameSet> Template<'a, Name> {
    /// Parses a template. `{{` and `}}` are braces.
    pub fn parse(template: &'a str) -> Result<Template<'a, Name>> {
        let mut parts = Vec::new();
        let mut rest = template;
        while let Some(at) = rest.find(['{', '}']) {
            let (text, from) = rest.split_at(at);
            parts.push(FormatPart::Text(text));
            if from.starts_with("{{") || from.starts_with("}}") {
                parts.push(FormatPart::Text(&from[..1]));
                rest = &from[2..];
                continue;
            }
            let Some((name, after)) = from.strip_prefix('{').and_then(|name| name.split_once('}'))
            else {
                let hint = "write `{{` and `}}` for braces that are meant as such";
                return Err(hinted(format!("`{from}` has a brace without its other one"), hint));
            };
            let known = Name::ALL.iter().find(|(own, _)| *own == name);
            let Some((_, name)) = known else { return Err(unknown::<Name>(name)) };
            parts.push(FormatPart::Name(*name));
            rest = after;
        }
        parts.push(FormatPart::Text(rest));
        Ok(Template { parts })
    }

    fn fill(&self, mut value: impl FnMut(&mut String, Name)) -> String {
        let mut line = String::new();
        for part in &self.parts {
            match part {
                FormatPart::Text(text) => line.push_str(text),
                FormatPart::Name(name) => value(&mut line, *name),
            }
        }
        line
    }
}

fn unknown<Name: NameSet>(name: &str) -> anyhow::Error {
    let names: Vec<_> = Name::ALL.iter().map(|(name, _)| format!("{{{name}}}")).collect();
    hinted(format!("there is no `{{{name}}}` here"), format!("there are {}", names.join(" ")))
}

/// Fills a template about all sessions.
pub fn of_all(template: &Template<'_, OfAll>, sessions: &[&Session], color: bool) -> String {
    let count = |state| sessions.iter().filter(|session| session.state() == state).count();
    let urgent = [State::WaitingUser, State::Working, State::Completed];
    template.fill(|line, name| {
        let _ = match name {
            OfAll::Dot => match urgent.into_iter().find(|state| count(*state) > 0) {
                Some(state) => write!(line, "{}", dot(state, color)),
                None => Ok(()),
            },
            OfAll::Working => write!(line, "{}", count(State::Working)),
            OfAll::Waiting => write!(line, "{}", count(State::WaitingUser)),
            OfAll::Completed => write!(line, "{}", count(State::Completed)),
            OfAll::Total => write!(line, "{}", sessions.len()),
        };
    })
}

/// Fills a template for one session.
pub fn of_each(
    template: &Template<'_, OfEach>,
    session: &Session,
    now: Timestamp,
    color: bool,
) -> String {
    template.fill(|line, name| match name {
        OfEach::Dot => line.push_str(&dot(session.state(), color)),
        OfEach::Agent => line.push_str(session.key.agent.as_str()),
        OfEach::Project => line.push_str(&one_line(session.project().unwrap_or("-"))),
        OfEach::State => line.push_str(&state_words(session)),
        OfEach::Age => line.push_str(&age(now.since(session.since()))),
        OfEach::SessionId => line.push_str(session.key.id.as_str()),
        OfEach::Prompt => {
            let prompt = session.current_run().and_then(|run| run.turn.prompt.as_ref());
            line.push_str(&prompt.map(|prompt| one_line(&prompt.text)).unwrap_or_default());
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str) -> String {
        let parsed = Template::<OfAll>::parse(template);
        match parsed {
            Ok(parsed) => of_all(&parsed, &[], false),
            Err(error) => format!("error: {error}"),
        }
    }

    #[test]
    fn text_is_kept_and_doubled_braces_are_braces() {
        assert_eq!(filled(""), "");
        assert_eq!(filled("日本 #[fg=red]{total}% "), "日本 #[fg=red]0% ");
        assert_eq!(filled("{{working}} {working}}}"), "{working} 0}");
        assert_eq!(filled("{dot}|"), "|");
    }

    #[test]
    fn what_is_no_name_is_an_error() {
        insta::assert_snapshot!(filled("{tool}"), @"error: there is no `{tool}` here");
        insta::assert_snapshot!(filled("{}"), @"error: there is no `{}` here");
        insta::assert_snapshot!(filled("a {working"), @"error: `{working` has a brace without its other one");
        insta::assert_snapshot!(filled("a } b"), @"error: `} b` has a brace without its other one");
    }
}
