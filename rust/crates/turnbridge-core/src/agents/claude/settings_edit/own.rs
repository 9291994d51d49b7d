//! Recognises Turnbridge's entries among the hooks in Claude's settings, by the program's name and
//! `--origin settings`.

use crate::agents::hook_table::HookProgram;
use crate::scan::json_tree::Node;

/// An entry of Turnbridge as written: the path of its program, and the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnCall {
    pub program: String,
    pub arguments: Vec<String>,
}

impl OwnCall {
    pub fn is_stop_gate(&self) -> bool {
        program_named(&self.program) == Some(HookProgram::StopGate)
    }

    /// Returns whether the call has `--no-gate`: the Stop gate then only records, so that every
    /// turn ends.
    pub fn has_no_gate(&self) -> bool {
        self.arguments.iter().any(|argument| argument == "--no-gate")
    }
}

/// Returns the hook program that a handler calls from the settings, or `None` if it is not
/// Turnbridge's. The program's folder does not matter, because it may have been moved.
pub fn program_of(handler: &Node) -> Option<HookProgram> {
    program_named(&own_call(handler)?.program)
}

/// Returns the call of a handler, or `None` if it is not Turnbridge's.
pub fn own_call(handler: &Node) -> Option<OwnCall> {
    let kind = handler.get("type").map_or(Some("command"), Node::as_str);
    let command = handler.get("command")?.as_str()?;
    if kind != Some("command") {
        return None;
    }
    let call = match handler.get("args") {
        Some(args) => {
            let arguments = args.elements().iter().filter_map(Node::as_str);
            let arguments = arguments.map(str::to_owned).collect();
            OwnCall { program: command.to_owned(), arguments }
        }
        None => {
            let mut words = words(command).into_iter();
            OwnCall { program: words.next()?, arguments: words.collect() }
        }
    };
    let is_ours = program_named(&call.program).is_some() && names_settings(&call.arguments);
    is_ours.then_some(call)
}

fn program_named(path: &str) -> Option<HookProgram> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    HookProgram::parse(name.strip_suffix(".exe").unwrap_or(name))
}

fn names_settings(arguments: &[String]) -> bool {
    arguments.windows(2).any(|pair| pair == ["--origin", "settings"])
}

/// Splits a simple command line into words, as far as Turnbridge's need it. A backslash is literal
/// where it can only be part of a Windows path.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted_by = None;
    let mut characters = command.chars().peekable();
    while let Some(c) = characters.next() {
        match (quoted_by, c) {
            (Some(quote), _) if c == quote => quoted_by = None,
            (None, '\'' | '"') => {
                quoted_by = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ' | '\t') => words.extend(word.take()),
            (None | Some('"'), '\\') => {
                let escaped = characters.next_if(|next| "'\"\\ ".contains(*next));
                word.get_or_insert_default().push(escaped.unwrap_or('\\'));
            }
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::json_tree::parse;
    use crate::text::shell_words::shell_word;

    #[test]
    fn our_programs_are_known_wherever_they_lie() {
        for (handler, expected) in [
            (r#"{"command":"/a b/turnbridge-status","args":["--origin","settings"]}"#, true),
            (r#"{"type":"command","command":"turnbridge-status --origin settings"}"#, true),
            (r#"{"command":"'/it'\\''s/turnbridge-status' --origin settings"}"#, true),
            (r#"{"command":"\"C:\\a b\\turnbridge-status.exe\" --origin settings"}"#, true),
            (r#"{"command":"C:\\a\\turnbridge-status.exe --no-gate --origin settings"}"#, true),
            (r#"{"command":"/a\\ b/turnbridge-status --origin settings"}"#, true),
            (r#"{"command":"/a/turnbridge-status","args":["--origin","plugin"]}"#, false),
            (r#"{"command":"/a/turnbridge-status"}"#, false),
            (r#"{"command":"/a/turnbridge-status-2 --origin settings"}"#, false),
            (r#"{"command":"echo turnbridge-status --origin settings"}"#, false),
            (r#"{"type":"prompt","command":"turnbridge-status --origin settings"}"#, false),
            (r#"{"type":1,"command":"turnbridge-status --origin settings"}"#, false),
            (r#"{"command":["turnbridge-status"]}"#, false),
            (r#"{"command":""}"#, false),
            ("7", false),
        ] {
            let program = program_of(&parse(handler).unwrap());
            assert_eq!(program, expected.then_some(HookProgram::Status), "{handler}");
        }
    }

    #[test]
    fn a_quoted_path_is_one_word_again() {
        for path in
            ["/usr/bin/x", "/a b/x", "/it's/x", r"C:\Program Files\x.exe", "/$HOME/`x`;&", ""]
        {
            assert_eq!(words(&format!("{} -a", shell_word(path))), [path, "-a"]);
        }
    }
}
