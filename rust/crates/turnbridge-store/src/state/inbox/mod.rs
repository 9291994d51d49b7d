//! Stores the replies that have arrived, and the progress of each. A reply is `<id>.json`, written
//! whole and to the disk before its arrival is acknowledged. When all work on it is done, it
//! becomes `<id>.done`. Beside it are its claim, lock, result and other files; `run` names their
//! writers.
//!
//! The same message may be reported many times, by a restarted daemon's second socket as well as by
//! Slack's retries. `accept` deduplicates them.

mod run;
mod seen;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use turnbridge_core::ids::SessionKey;
use turnbridge_core::replies::reply::{Reply, is_reply_id};
use turnbridge_core::replies::reply_plan::PendingReply;
use turnbridge_core::replies::reply_wire::{read_finished, read_reply, write_reply};
use turnbridge_core::replies::run_result::{RunOutcome, RunResult};
use turnbridge_core::replies::thread_message::ThreadMessage;
use turnbridge_core::timestamp::Timestamp;

use crate::files::append::append_line;
use crate::files::atomic_file::write_durably;
use crate::files::file_lock::FileLock;
use crate::paths::StatePaths;
use crate::state::folder_trust;

pub use run::{
    Acks, REPLY_ID, RunClaim, Streams, acknowledge, acks, claim, claimed_at, has_ended,
    is_hook_running, is_running, is_stop_requested, lock, read_result, request_stop, save_agent,
    save_result, way,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    New,
    /// It has arrived before.
    Known,
}

/// How long finished replies can still be listed.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The timeout of the lock. Two processes accept at the same time only while a daemon is replaced.
const LOCK_TIMEOUT: Duration = Duration::from_secs(3);

/// Stores a reply. When it returns, the reply is on the disk, or was before.
///
/// The reply is written before the mark that it was seen. After a kill in between, its file
/// identifies the same message.
pub fn accept(paths: &StatePaths, reply: &Reply, now: Timestamp) -> io::Result<Accepted> {
    let place = place(paths, &reply.id)?;
    let _lock = FileLock::acquire(&paths.inbox_dir().join("accept.lock"), LOCK_TIMEOUT)?;
    if place.exists() || place.with_extension("done").exists() {
        return Ok(Accepted::Known);
    }
    if seen::contains(paths, reply)? {
        return Ok(Accepted::Known);
    }
    write_durably(&place, &write_reply(reply))?;
    seen::add(paths, reply, now)?;
    Ok(Accepted::New)
}

/// Returns all unfinished replies, in the order in which they were sent. Leaves files that cannot
/// be read, or are for a newer version, as they are.
pub fn entries(paths: &StatePaths) -> io::Result<Vec<PendingReply>> {
    folder_trust::check_state(paths)?;
    let mut entries = Vec::new();
    for path in files_with(paths, "json")? {
        entries.extend(read_file(paths, &path).map(|reply| read_entry(paths, reply)));
    }
    entries.sort_by(|a, b| a.reply.order().cmp(&b.reply.order()));
    Ok(entries)
}

/// Returns one unfinished reply.
pub fn entry(paths: &StatePaths, id: &str) -> io::Result<Option<PendingReply>> {
    folder_trust::check_state(paths)?;
    let reply = read_file(paths, &place(paths, id)?);
    Ok(reply.map(|reply| read_entry(paths, reply)))
}

/// Returns whether an unfinished reply by this id is for this session.
fn is_for(paths: &StatePaths, id: &str, session: &SessionKey) -> bool {
    let reply = place(paths, id).ok().and_then(|place| read_file(paths, &place));
    reply.is_some_and(|reply| reply.session() == Some(session))
}

/// Returns the finished replies of the last week, in the order in which they were sent.
pub fn finished(paths: &StatePaths) -> io::Result<Vec<(Reply, Option<RunResult>)>> {
    let mut finished = Vec::new();
    for path in files_with(paths, "done")? {
        let reply = fs::read(&path).ok().and_then(|bytes| read_finished(&bytes));
        if let Some(reply) = reply.filter(|reply: &Reply| is_file_of(&path, &reply.id)) {
            let result = read_result(paths, &reply.id);
            finished.push((reply, result));
        }
    }
    finished.sort_by(|(a, _), (b, _)| a.order().cmp(&b.order()));
    Ok(finished)
}

/// Records that a message will be sent, so that a kill while it is being sent is visible.
pub fn mark_message_begun(paths: &StatePaths, id: &str, told: ThreadMessage) -> io::Result<()> {
    add_thread_message(paths, id, &format!("{}?\n", told.as_str()))
}

/// Records that a message has been sent.
pub fn mark_message_sent(paths: &StatePaths, id: &str, told: ThreadMessage) -> io::Result<()> {
    add_thread_message(paths, id, &format!("{}\n", told.as_str()))
}

fn add_thread_message(paths: &StatePaths, id: &str, line: &str) -> io::Result<()> {
    append_line(&place(paths, id)?.with_extension("told"), line.as_bytes()).map(|_| ())
}

/// Finishes a reply, because no work is left. The claim stays for as long as the reply can be
/// listed: a runner that was started twice must not find it free.
pub fn finish(paths: &StatePaths, id: &str) -> io::Result<()> {
    let place = place(paths, id)?;
    match fs::rename(&place, place.with_extension("done")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    for extension in ["told", "ack", "agent", "stop", "in", "out", "err"] {
        remove(&place.with_extension(extension))?;
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dropped {
    Yes,
    /// It is running; it can only be stopped.
    Running,
    Unknown,
}

/// Drops a reply that the user no longer wants. Claims it first, so that no process begins it
/// meanwhile.
pub fn drop(paths: &StatePaths, id: &str, now: Timestamp) -> io::Result<Dropped> {
    if !place(paths, id)?.exists() {
        return Ok(Dropped::Unknown);
    }
    let Some(_lock) = lock(paths, id)?.filter(|_| !run::is_agent_alive(paths, id)) else {
        return Ok(Dropped::Running);
    };
    claim(paths, id, now)?;
    if read_result(paths, id).is_none() {
        save_result(paths, id, &RunResult::new(RunOutcome::Dropped, now))?;
    }
    finish(paths, id).map(|()| Dropped::Yes)
}

/// Removes replies that were finished a week ago, and files that belong to no reply.
pub fn prune(paths: &StatePaths, now: SystemTime) -> io::Result<()> {
    let Ok(files) = fs::read_dir(paths.inbox_dir()) else { return Ok(()) };
    for file in files {
        let path = file?.path();
        let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        let is_own = ["json", "jsonl"].contains(&extension.as_str())
            || path.with_extension("json").exists()
            || path.file_name().is_some_and(|name| name == "accept.lock");
        let modified = path.metadata().and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|at| now.duration_since(at).ok());
        if !is_own && age.is_some_and(|age| age > KEPT) {
            remove(&path)?;
        }
    }
    Ok(())
}

/// Reads a reply. Ignores a file of another user.
fn read_file(paths: &StatePaths, path: &Path) -> Option<Reply> {
    let reply = read_reply(&folder_trust::read_own(path)?)?;
    let is_own = place(paths, &reply.id).is_ok_and(|place| place == path);
    is_own.then_some(reply)
}

fn read_entry(paths: &StatePaths, reply: Reply) -> PendingReply {
    let progress = run::progress(paths, &reply.id);
    let (told, telling) = read_sent_messages(paths, &reply.id);
    PendingReply { reply, progress, told, telling }
}

fn read_sent_messages(paths: &StatePaths, id: &str) -> (Vec<ThreadMessage>, Option<ThreadMessage>) {
    let path = place(paths, id).map(|place| place.with_extension("told"));
    let text = path.and_then(fs::read_to_string).unwrap_or_default();
    let told: Vec<_> = text.lines().filter_map(ThreadMessage::parse).collect();
    let mut begun = text.lines().filter_map(|line| ThreadMessage::parse(line.strip_suffix('?')?));
    let telling = begun.next_back().filter(|begun| !told.contains(begun));
    (told, telling)
}

fn files_with(paths: &StatePaths, extension: &str) -> io::Result<Vec<PathBuf>> {
    let files = match fs::read_dir(paths.inbox_dir()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        files => files?,
    };
    let mut found = Vec::new();
    for file in files {
        let path = file?.path();
        if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
    Ok(found)
}

fn is_file_of(path: &Path, id: &str) -> bool {
    path.file_stem().is_some_and(|stem| stem == id)
}

/// Returns the path of the reply's file, after a check of its id. The files beside it have other
/// extensions. Ids have dots in them, but the last dot always begins the extension.
fn place(paths: &StatePaths, id: &str) -> io::Result<PathBuf> {
    if !is_reply_id(id) {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    Ok(paths.inbox_dir().join(format!("{id}.json")))
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
