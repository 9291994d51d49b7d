//! Runs the development commands of the workspace: `cargo xtask tidy`, `manifests`, `mutants`,
//! `words` and `bench`.

#[cfg(unix)]
mod bench;
#[cfg(not(unix))]
#[path = "no_bench.rs"]
mod bench;
mod manifests;
mod metadata;
mod mutants;
mod tidy;
mod words;

use std::process::ExitCode;

const USAGE: &str = "\
Chores of the Turnbridge workspace

Usage: cargo xtask <COMMAND>

Commands:
  tidy                         check the dependency rules, the purity of the core, and what is written down twice
  manifests                    write hooks/ anew from the table of hook events, and packaging/archive/ from all manifests
  mutants [--shard K/N]        plant faults and name those that no test notices; see `mutants --help`
  words FOLDER...              the words of our comments that the code of others does not use; see `words --help`
  bench hooks [--against BIN] [--runs N]
                               what a hook costs, against `/bin/true`, a shell script and another build
  bench dispatcher [--runs N]  what the script before the marketplace's executables adds to a hook
  bench slack [--runs N]       what a Stop hook costs with Slack up, refusing and silent
  bench codex [--runs N]       what `turnbridge notify --tool codex` costs with a short and a long rollout
  bench daemon [--quick]       the daemon beside Slack's own clients, and with many old rollouts; minutes
  bench board                  the board and `watch` with 500 sessions, and how soon a card follows a hook
";

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command for developers")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["tidy"] => tidy::run(),
        ["manifests"] => manifests::run(),
        ["mutants", options @ ..] => mutants::run(options),
        ["words", options @ ..] => words::run(options),
        ["bench", "hooks", options @ ..] => bench::hooks(options),
        ["bench", "dispatcher", options @ ..] => bench::dispatcher(options),
        ["bench", "slack", options @ ..] => bench::slack(options),
        ["bench", "codex", options @ ..] => bench::codex(options),
        ["bench", "daemon", options @ ..] => bench::daemon(options),
        ["bench", "board", options @ ..] => bench::board(options),
        ["-h" | "--help"] => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(report) => {
            print!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
