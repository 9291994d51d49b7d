//! Counts violations of the code's order: modules that import from the commands, commands that use
//! the daemon's crate, and files directly in the core. A limit below may only shrink.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::{rust_files, shipped_lines};

/// The number of lines outside of `commands/` that import from it.
const UPWARD_IMPORTS: usize = 0;

/// The number of the command line's lines that name the daemon's crate: it runs the daemon,
/// delivers once in its place, and signs browsers in to its board.
const USES_OF_THE_DAEMON: usize = 6;

/// The number of files directly in the core's `src`.
const FILES_IN_CORE: usize = 6;

pub fn problems(repository: &Path) -> Result<Vec<String>> {
    let crates = repository.join("rust/crates");
    let command_line = crates.join("turnbridge/src");
    let commands = command_line.join("commands");
    let (mut upward, mut of_daemon) = (0, 0);
    for path in rust_files(&command_line)? {
        for (_, line) in shipped_lines(&path)? {
            upward += usize::from(line.contains("crate::commands") && !path.starts_with(&commands));
            of_daemon += usize::from(line.contains("turnbridge_daemon::"));
        }
    }
    let core = crates.join("turnbridge-core/src");
    let entries =
        fs::read_dir(&core).with_context(|| format!("could not read `{}`", core.display()))?;
    let in_core = entries.flatten().filter(|entry| entry.path().is_file()).count();
    let counted = [
        ("lines outside of `commands/` import from it", upward, UPWARD_IMPORTS),
        ("lines of the command line use the daemon's crate", of_daemon, USES_OF_THE_DAEMON),
        ("files lie directly in the core's `src`", in_core, FILES_IN_CORE),
    ];
    Ok(counted.into_iter().filter_map(|(what, count, limit)| judge(what, count, limit)).collect())
}

fn judge(what: &str, count: usize, limit: usize) -> Option<String> {
    let problem = || format!("{count} {what}; at most {limit} may (xtask/src/tidy/directions.rs)");
    (count > limit).then(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_may_reach_its_limit_and_not_pass_it() {
        assert_eq!(judge("files", 6, 6), None);
        let problem = judge("files", 7, 6).unwrap();
        assert_eq!(problem, "7 files; at most 6 may (xtask/src/tidy/directions.rs)");
    }
}
