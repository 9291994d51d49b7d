//! Stores which messages have arrived (`seen.jsonl`), by Slack's event and by channel and time.
//! Slack delivers at least once, its last retry comes after some five minutes, and a daemon may be
//! restarted in between.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use turnbridge_core::replies::reply::Reply;
use turnbridge_core::timestamp::Timestamp;

use crate::files::append::append_line;
use crate::files::atomic_file::{open_making_folders, write_durably};
use crate::paths::StatePaths;

/// The least time for which a line is kept, and the least number of lines.
const KEPT: Duration = Duration::from_secs(15 * 60);
const KEPT_COUNT: usize = 4_096;

/// The number of lines above which the file is rewritten: once for thousands of replies.
const MOST: usize = 2 * KEPT_COUNT;

#[derive(Serialize, Deserialize)]
struct SeenLine {
    at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    event_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl SeenLine {
    fn of(reply: &Reply, now: Timestamp) -> SeenLine {
        let channel = reply.thread.as_ref().map(|thread| &thread.channel);
        SeenLine {
            at: now.as_micros(),
            event_id: reply.event_id.clone(),
            message: channel.map(|channel| format!("{channel}:{}", reply.ts)),
        }
    }

    fn is_same(&self, other: &SeenLine) -> bool {
        let is_same = |a: &Option<String>, b: &Option<String>| a.is_some() && a == b;
        is_same(&self.event_id, &other.event_id) || is_same(&self.message, &other.message)
    }
}

fn file(paths: &StatePaths) -> PathBuf {
    paths.inbox_dir().join("seen.jsonl")
}

/// Returns whether the reply's message has arrived before.
pub fn contains(paths: &StatePaths, reply: &Reply) -> io::Result<bool> {
    let wanted = SeenLine::of(reply, Timestamp::from_micros(0));
    Ok(read(paths)?.iter().any(|line| line.is_same(&wanted)))
}

/// Adds a message. The caller holds the inbox's lock.
pub fn add(paths: &StatePaths, reply: &Reply, now: Timestamp) -> io::Result<()> {
    let path = file(paths);
    append_line(&path, &in_file(&[SeenLine::of(reply, now)])?)?;
    let mut options = OpenOptions::new();
    open_making_folders(&path, options.append(true).create(true))?.sync_all()?;
    prune(paths, now)
}

fn prune(paths: &StatePaths, now: Timestamp) -> io::Result<()> {
    let lines = read(paths)?;
    if lines.len() <= MOST {
        return Ok(());
    }
    let since = now.minus(KEPT).as_micros();
    let first_kept = lines.len() - KEPT_COUNT;
    let kept = lines.into_iter().enumerate();
    let kept = kept.filter(|(index, line)| *index >= first_kept || line.at >= since);
    let kept: Vec<_> = kept.map(|(_, line)| line).collect();
    write_durably(&file(paths), &in_file(&kept)?)
}

/// Reads the lines. Skips those that were cut off, because their replies have files.
fn read(paths: &StatePaths) -> io::Result<Vec<SeenLine>> {
    let bytes = match fs::read(file(paths)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        bytes => bytes?,
    };
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

fn in_file(lines: &[SeenLine]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for line in lines {
        bytes.extend(serde_json::to_vec(line)?);
        bytes.push(b'\n');
    }
    Ok(bytes)
}
