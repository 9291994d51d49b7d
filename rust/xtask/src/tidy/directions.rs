//! Counts dependencies against the order of the code, and fails if a count exceeds its limit:
//! modules that import from the commands, commands that use the daemon's crate, imports between
//! channels and delivery, and files directly in the core's `src`. The limits below may only shrink.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::{rust_files, shipped_lines};

/// The number of lines outside of `commands/` that import from it.
const UPWARD_IMPORTS: usize = 0;

/// The number of the command line's lines that name the daemon's crate: it runs the daemon,
/// delivers once in its place, and signs browsers in to its board.
const USES_OF_THE_DAEMON: usize = 6;

/// Lines of the daemon's `delivery/` that name the folder of a channel: it knows the trait alone.
const CHANNELS_IN_DELIVERY: usize = 0;

/// Lines of its channels that name `delivery/`, which calls them: the imports go one way.
const DELIVERY_IN_CHANNELS: usize = 0;

/// Files directly in the core's `src`.
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
    let daemon = crates.join("turnbridge-daemon/src");
    let in_delivery = lines_with("channels::slack", &daemon.join("delivery"))?;
    let in_channels = lines_with("crate::delivery", &daemon.join("channels"))?;
    let core = crates.join("turnbridge-core/src");
    let entries =
        fs::read_dir(&core).with_context(|| format!("could not read `{}`", core.display()))?;
    let in_core = entries.flatten().filter(|entry| entry.path().is_file()).count();
    let counted = [
        ("lines outside of `commands/` import from it", upward, UPWARD_IMPORTS),
        ("lines of the command line use the daemon's crate", of_daemon, USES_OF_THE_DAEMON),
        ("lines of `delivery/` name the folder of a channel", in_delivery, CHANNELS_IN_DELIVERY),
        ("lines of `channels/` name `delivery/`", in_channels, DELIVERY_IN_CHANNELS),
        ("files lie directly in the core's `src`", in_core, FILES_IN_CORE),
    ];
    Ok(counted.into_iter().filter_map(|(what, count, limit)| judge(what, count, limit)).collect())
}

fn lines_with(word: &str, folder: &Path) -> Result<usize> {
    let mut count = 0;
    for path in rust_files(folder)? {
        count += shipped_lines(&path)?.iter().filter(|(_, line)| line.contains(word)).count();
    }
    Ok(count)
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
