//! Reads the logs of the hooks, the notifier and the daemon: their last lines, and the lines that
//! are added later.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;
use turnbridge_store::files::bounded_file::read_tail;
use turnbridge_store::paths::StatePaths;

/// The size of a log's end that is read for its last lines.
const TAIL: u64 = 1 << 20;

/// The logs of the hooks, the notifier and the daemon.
const NAMES: [&str; 3] = ["hooks", "notify", "daemon"];

pub struct Logs(Vec<LogFile>);

struct LogFile {
    name: &'static str,
    path: PathBuf,
    /// The position up to which `added` has read.
    seen: u64,
}

/// A line, and the name of its log.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    pub log: &'static str,
    pub text: String,
}

impl Logs {
    /// Returns the log of that name, or all logs without a name.
    pub fn of(paths: &StatePaths, name: Option<&str>) -> Logs {
        let files = [paths.hooks_log(), paths.notify_log(), paths.daemon_log()];
        let all = NAMES.into_iter().zip(files);
        let chosen = all.filter(|(own, _)| name.is_none_or(|name| name == *own));
        Logs(chosen.map(|(name, path)| LogFile { name, path, seen: 0 }).collect())
    }

    /// Returns the last lines. Those of several logs are in the order of their times.
    pub fn last(&self, count: usize) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        for LogFile { name, path, .. } in &self.0 {
            let (tail, length) = read_tail(path, TAIL).unwrap_or_default();
            let text = String::from_utf8_lossy(&tail).into_owned();
            let skipped = usize::from(length > tail.len() as u64);
            lines.extend(lines_of(name, &text).skip(skipped));
        }
        lines.sort_by_key(|line| time_of(&line.text));
        lines.split_off(lines.len().saturating_sub(count))
    }

    /// Makes `added` skip the lines that exist now.
    pub fn skip_to_end(&mut self) {
        self.0.iter_mut().for_each(|log| log.seen = length_of(&log.path));
    }

    /// Passes on the whole lines that have been added since the last call.
    pub fn added(&mut self, mut tell: impl FnMut(&Line) -> Result<()>) -> Result<()> {
        for log in &mut self.0 {
            let now = length_of(&log.path);
            // A shorter one was rotated away.
            if now < log.seen {
                log.seen = 0;
            }
            if now > log.seen {
                let mut bytes = read_from(&log.path, log.seen).context("could not read a log")?;
                let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
                bytes.truncate(whole);
                let text = String::from_utf8_lossy(&bytes);
                lines_of(log.name, &text).try_for_each(|line| tell(&line))?;
                log.seen += whole as u64;
            }
        }
        Ok(())
    }
}

fn lines_of(log: &'static str, text: &str) -> impl Iterator<Item = Line> {
    text.lines().map(move |line| Line { log, text: line.to_owned() })
}

fn time_of(line: &str) -> String {
    let entry: Value = serde_json::from_str(line).unwrap_or_default();
    entry["ts"].as_str().unwrap_or_default().to_owned()
}

fn length_of(path: &Path) -> u64 {
    path.metadata().map_or(0, |metadata| metadata.len())
}

fn read_from(path: &Path, start: u64) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    #[test]
    fn what_is_added_is_told_once_by_whole_lines_whatever_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        let path = paths.daemon_log();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "before\n").unwrap();
        let mut logs = Logs::of(&paths, Some("daemon"));
        logs.skip_to_end();
        let mut added = || {
            let mut lines = Vec::new();
            logs.added(|line| {
                lines.push(line.text.clone());
                Ok(())
            })
            .unwrap();
            lines
        };
        let append = |bytes: &[u8]| {
            fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(bytes).unwrap();
        };
        assert_eq!(added(), [""; 0]);
        append(b"a\xff\nb");
        assert_eq!(added(), ["a\u{fffd}"]);
        assert_eq!(added(), [""; 0]);
        append(b"c\n");
        assert_eq!(added(), ["bc"]);
        fs::write(&path, "new\n").unwrap();
        assert_eq!(added(), ["new"], "a file that was rotated away");
    }

    #[test]
    fn the_last_lines_of_several_logs_come_in_the_order_of_their_times() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        let line = |at: u32| format!("{{\"ts\":\"2026-11-15T00:00:0{at}Z\"}}\n");
        for (path, times) in [(paths.hooks_log(), [1, 4]), (paths.daemon_log(), [2, 3])] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, times.map(line).concat()).unwrap();
        }
        let last = Logs::of(&paths, None).last(3);
        let told: Vec<_> = last.iter().map(|line| (line.log, &line.text[24..26])).collect();
        assert_eq!(told, [("daemon", "02"), ("daemon", "03"), ("hooks", "04")]);
    }
}
