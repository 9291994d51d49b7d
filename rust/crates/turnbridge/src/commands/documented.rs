//! Tests that this program accepts the `turnbridge` command lines in the documents: those in `sh`
//! and `powershell` blocks, and those in sentences, which may omit arguments. Each is split like a
//! shell would do it, and parsed but not run. Commands in sentences with `…`, `[` or `|` are
//! skipped.

use clap::Parser;
use clap::error::ErrorKind;
use testkit::{Document, documents};
use turnbridge_core::terminals::command_line::ShellSyntax;
use turnbridge_core::terminals::command_line::words::{Piece, pieces};

use super::Cli;

/// Returns the arguments of each call of `turnbridge` in a script.
fn calls(script: &str, syntax: ShellSyntax) -> Vec<Vec<String>> {
    let pieces = pieces(script, syntax);
    let commands = pieces.split(|piece| matches!(piece, Piece::Operator(_)));
    let words = commands.map(|command| {
        let words = command.iter().filter_map(|piece| match piece {
            Piece::Word(word) => Some(word.clone()),
            Piece::Operator(_) => None,
        });
        words.collect::<Vec<_>>()
    });
    let is_ours = |words: &Vec<String>| {
        words.first().is_some_and(|first| first.rsplit('/').next() == Some("turnbridge"))
    };
    words.filter(is_ours).collect()
}

/// Returns the calls in `sh` and `powershell` blocks.
fn shown(document: &Document) -> Vec<Vec<String>> {
    let blocks = document.blocks();
    let found = blocks.iter().flat_map(|block| match block.language.as_str() {
        "sh" => calls(&block.text, ShellSyntax::Posix),
        "powershell" => calls(&block.text, ShellSyntax::PowerShell),
        _ => Vec::new(),
    });
    found.collect()
}

/// Returns the calls within sentences, except those shortened by a bracket or an ellipsis.
fn mentioned(document: &Document) -> Vec<Vec<String>> {
    let prose = document.prose();
    // The text between each odd and each even backtick.
    let code = prose.split('`').skip(1).step_by(2).map(|code| code.replace('\n', " "));
    let code =
        code.filter(|code| code.starts_with("turnbridge ") && !code.contains(['…', '[', '|']));
    code.flat_map(|code| calls(&code, ShellSyntax::Posix)).collect()
}

fn is_help(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::DisplayHelp | ErrorKind::DisplayVersion)
}

/// Returns whether the error is acceptable: a sentence may omit a command's arguments.
fn is_short(kind: ErrorKind) -> bool {
    let lacks_command = ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    is_help(kind) || kind == ErrorKind::MissingRequiredArgument || kind == lacks_command
}

#[test]
fn every_command_line_in_a_document_is_understood() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for document in documents() {
        let mut check = |calls: Vec<Vec<String>>, is_allowed: fn(ErrorKind) -> bool| {
            count += calls.len();
            for call in calls {
                if let Err(error) = Cli::try_parse_from(&call)
                    && !is_allowed(error.kind())
                {
                    wrong.push(format!("{}: `{}`: {error}", document.name, call.join(" ")));
                }
            }
        };
        check(shown(&document), is_help);
        check(mentioned(&document), is_short);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "only {count} were found, so that they are looked for in a wrong way");
}

#[test]
fn calls_are_found_behind_pipes_comments_and_line_ends_and_nobody_elses() {
    let script = "# turnbridge no\ncd x && bin/turnbridge sessions --json | jq . # turnbridge no\n\
                  printf '%s\\n' \"$TOKEN\" |\n  turnbridge setup --user U1 \\\n  --no-test > log\n\
                  claude plugin install turnbridge@turnbridge\n";
    let found = calls(script, ShellSyntax::Posix);
    let found: Vec<_> = found.iter().map(|words| words.join(" ")).collect();
    assert_eq!(found, ["bin/turnbridge sessions --json", "turnbridge setup --user U1 --no-test"]);
}
