//! Stores messages of the configured user that could not be judged immediately (`heard/`), because
//! the direct message or the owner of the thread was not known yet. Each is on the disk before
//! Slack gets its ack, and is removed when it has been judged: stored in the inbox, or dropped.

use std::fs;
use std::io;
use std::path::PathBuf;

use turnbridge_core::replies::reply::is_reply_id;
use turnbridge_core::replies::reply_wire::{Reported, UnjudgedEvent};
use turnbridge_core::slack::slack_ts::SlackTs;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_core::version_wire::VERSION;

use crate::files::atomic_file::write_durably;
use crate::paths::StatePaths;
use crate::state::folder_trust::read_own;

/// The limit of stored messages, more than a user writes. Beyond it Slack has to keep the rest.
pub const MOST: usize = 1_000;

/// Stores a message. `id` is that of the reply that `reported` becomes. A second write of the same
/// one leaves one.
pub fn keep(paths: &StatePaths, id: &str, reported: &Reported, now: Timestamp) -> io::Result<()> {
    let place = place(paths, id)?;
    if files(paths)?.len() >= MOST {
        return Err(io::Error::other("too many Slack messages wait to be processed"));
    }
    let heard =
        UnjudgedEvent { version: 1, received_at: now.to_string(), reported: reported.clone() };
    write_durably(&place, &serde_json::to_vec(&heard)?)
}

/// Returns all messages with their ids, in the order in which they were written in Slack. Skips
/// files that cannot be read, are another user's, or are for a newer version.
pub fn all(paths: &StatePaths) -> io::Result<Vec<(String, UnjudgedEvent)>> {
    let mut all = Vec::new();
    for path in files(paths)? {
        let Some(id) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
        let heard = read_own(&path).and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let heard =
            heard.filter(|heard: &UnjudgedEvent| heard.version <= VERSION && is_reply_id(id));
        all.extend(heard.map(|heard| (id.to_owned(), heard)));
    }
    all.sort_by_key(|(id, heard)| {
        (heard.reported.ts.as_deref().and_then(SlackTs::parse), id.clone())
    });
    Ok(all)
}

/// Removes a message that has been judged.
pub fn remove(paths: &StatePaths, id: &str) -> io::Result<()> {
    match fs::remove_file(place(paths, id)?) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn files(paths: &StatePaths) -> io::Result<Vec<PathBuf>> {
    let files = match fs::read_dir(paths.heard_dir()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        files => files?,
    };
    let paths = files.map(|file| file.map(|file| file.path()));
    let paths: io::Result<Vec<_>> = paths.collect();
    let is_one = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
    Ok(paths?.into_iter().filter(is_one).collect())
}

fn place(paths: &StatePaths, id: &str) -> io::Result<PathBuf> {
    if !is_reply_id(id) {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    Ok(paths.heard_dir().join(format!("{id}.json")))
}

#[cfg(test)]
mod tests {
    use turnbridge_core::replies::reply::slack_reply_id;

    use super::*;

    #[test]
    fn what_was_heard_comes_back_in_slacks_order_once() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        let say = |ts: &str, text: &str| {
            let id = slack_reply_id("D1", ts);
            let (ts, text) = (Some(ts.to_owned()), Some(text.to_owned()));
            let reported = Reported { ts, text, ..Reported::default() };
            keep(&paths, &id, &reported, Timestamp::from_micros(0)).unwrap();
        };
        assert!(all(&paths).unwrap().is_empty());
        say("10.000200", "second");
        say("9.000100", "first");
        say("10.000200", "second");
        fs::write(paths.heard_dir().join("broken.json"), "{").unwrap();
        let texts = |all: Vec<(String, UnjudgedEvent)>| -> Vec<String> {
            all.into_iter().filter_map(|(_, heard)| heard.reported.text).collect()
        };
        assert_eq!(texts(all(&paths).unwrap()), ["first", "second"]);
        remove(&paths, "slack-D1-9.000100").unwrap();
        remove(&paths, "slack-D1-9.000100").unwrap();
        assert_eq!(texts(all(&paths).unwrap()), ["second"]);
        assert!(remove(&paths, "../x").is_err());
    }
}
