//! What waits in the outbox, without reading more of it than is asked for.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use turnbridge_core::notices::notice_wire::{Progress, created_at_in, is_notice_id};
use turnbridge_core::version_wire::is_newer;

use super::{Entry, Place, read_notice};
use crate::paths::StatePaths;
use crate::state::folder_trust::read_own;

/// The time of a notice stands in its first bytes.
const HEAD: u64 = 1_024;

/// A notice that waits, and how far it has come, without any of its texts.
#[derive(Debug, Clone)]
pub struct Waiting {
    pub id: String,
    pub progress: Progress,
}

/// The ids of all notices that wait, in no order, from the names of the files alone.
pub fn ids(paths: &StatePaths) -> io::Result<Vec<String>> {
    Ok(list(paths)?.waiting.into_iter().collect())
}

/// How far each has come. Reads the progress files only; those of a newer version are left out.
pub fn schedules(paths: &StatePaths) -> io::Result<Vec<Waiting>> {
    let names = list(paths)?;
    let waiting = names.waiting.into_iter().filter_map(|id| {
        let progress = match names.progress.contains(&id) {
            true => read_progress(&Place::of(paths, &id).ok()?)?,
            false => Progress::default(),
        };
        Some(Waiting { id, progress: Progress { messages: Vec::new(), ..progress } })
    });
    Ok(waiting.collect())
}

/// Sorts ids by the time of their notices, oldest first. Reads the first bytes of each file.
pub fn in_order(paths: &StatePaths, ids: Vec<String>) -> Vec<String> {
    let created = |id: &String| created_at(paths, id).unwrap_or_default();
    let mut times: Vec<_> = ids.into_iter().map(|id| (created(&id), id)).collect();
    times.sort();
    times.into_iter().map(|(_, id)| id).collect()
}

/// All that wait, oldest first, read one at a time. Files that cannot be read, or are for a newer
/// version, are left out.
pub fn oldest_first(paths: &StatePaths) -> io::Result<impl Iterator<Item = Entry>> {
    let ids = in_order(paths, ids(paths)?);
    Ok(ids.into_iter().filter_map(|id| read(paths, &id)))
}

/// One notice with all of its texts. Returns `None` if it has arrived, cannot be read, is another
/// user's, or is for a newer version.
pub fn read(paths: &StatePaths, id: &str) -> Option<Entry> {
    let place = Place::of(paths, id).ok()?;
    let notice = read_notice(&read_own(&place.notice)?).filter(|notice| notice.id == id)?;
    if place.done.exists() {
        return None;
    }
    Some(Entry { notice, progress: read_progress(&place)? })
}

/// Returns `None` if a newer version has written it.
fn read_progress(place: &Place) -> Option<Progress> {
    let bytes = read_own(&place.progress).unwrap_or_default();
    (!is_newer(&bytes)).then(|| serde_json::from_slice(&bytes).unwrap_or_default())
}

fn created_at(paths: &StatePaths, id: &str) -> Option<String> {
    let path = Place::of(paths, id).ok()?.notice;
    match created_at_in(&head_of(&path).ok()?) {
        Some(created_at) => Some(created_at.to_owned()),
        None => read_notice(&fs::read(path).ok()?).map(|notice| notice.created_at),
    }
}

fn head_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD).read_to_end(&mut head)?;
    Ok(head)
}

#[derive(Default)]
struct Names {
    waiting: BTreeSet<String>,
    progress: BTreeSet<String>,
}

fn list(paths: &StatePaths) -> io::Result<Names> {
    let files = match fs::read_dir(paths.outbox_dir()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Names::default()),
        files => files?,
    };
    let mut names = Names::default();
    let mut done = Vec::new();
    for file in files {
        let name = file?.file_name();
        let Some((id, extension)) = name.to_str().and_then(|name| name.rsplit_once('.')) else {
            continue;
        };
        match extension {
            _ if !is_notice_id(id) => {}
            "json" => drop(names.waiting.insert(id.to_owned())),
            "progress" => drop(names.progress.insert(id.to_owned())),
            "done" => done.push(id.to_owned()),
            _ => {}
        }
    }
    for id in done {
        if names.waiting.remove(&id) {
            // It has arrived, and whoever brought it was killed before the last step.
            let _ = Place::of(paths, &id).and_then(|place| place.clear());
        }
    }
    Ok(names)
}
