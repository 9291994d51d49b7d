//! Finds notices that wait, and drops replies that wait, by the part of their id that the user has
//! typed.

use std::path::Path;

use anyhow::{Context, Result};
use turnbridge_core::version_wire::NEWER;
use turnbridge_store::clock;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::inbox::{self, Dropped};
use turnbridge_store::state::newer_files;
use turnbridge_store::state::outbox::{self, OutboxEntry};

use crate::failure::hinted;

/// Returns the one notice whose id begins with `id`, or an error if it cannot be read.
pub fn find_notice(paths: &StatePaths, id: &str) -> Result<OutboxEntry> {
    let id = find_notice_id(paths, id)?;
    outbox::read(paths, &id).into_iter().next().ok_or_else(|| {
        let text = format!("the notice `{id}`, or how far it has come, cannot be read");
        hinted(
            text,
            "`turnbridge doctor` names the file, `turnbridge outbox drop` forgets the notice",
        )
    })
}

/// Returns the one notice id that begins with `id`, with or without the agent in front. Returns an
/// error for a notice that a newer version has written.
pub fn find_notice_id(paths: &StatePaths, id: &str) -> Result<String> {
    let folder = paths.outbox_dir();
    let mut found =
        outbox::ids(paths).with_context(|| format!("could not read `{}`", folder.display()))?;
    let newer = newer_files::find_in(&folder);
    found.retain(|known| known.starts_with(id) || tail(known).starts_with(id));
    match found.len() {
        1 if newer.iter().any(|path| is_file_of(path, &found[0])) => {
            let text = format!("the notice `{}` was {NEWER}", found[0]);
            Err(hinted(text, "`turnbridge doctor` says which version is needed"))
        }
        1 => Ok(found.remove(0)),
        0 => Err(hinted(format!("no notice `{id}`"), "`turnbridge outbox` lists them")),
        _ => Err(hinted(format!("several notices begin with `{id}`"), "give more of the id")),
    }
}

/// Returns whether it is the notice's file, or one of its progress.
fn is_file_of(path: &Path, id: &str) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    stem == id || stem.rsplit_once('.').is_some_and(|(notice, _)| notice == id)
}

/// Returns the id without the agent in front, because users type only the part that distinguishes
/// ids.
fn tail(id: &str) -> &str {
    id.split_once('-').map_or(id, |(_, tail)| tail)
}

/// Drops the one reply whose id begins with `id`, unless it is running. Returns its id.
pub fn drop_reply(paths: &StatePaths, id: &str) -> Result<String> {
    let entries = inbox::entries(paths).context("could not read the inbox")?;
    let ids = entries.into_iter().map(|entry| entry.reply.id);
    let mut found = ids.filter(|own| own.starts_with(id));
    let hint = "`turnbridge inbox` lists them";
    let id = match (found.next(), found.next()) {
        (None, _) => return Err(hinted(format!("no reply `{id}` waits"), hint)),
        (Some(id), None) => id,
        _ => {
            let hint = "give more of the id";
            return Err(hinted(format!("several replies begin with `{id}`"), hint));
        }
    };
    match inbox::drop(paths, &id, clock::now()).context("could not drop it")? {
        Dropped::Yes => Ok(id),
        Dropped::Unknown => Err(hinted(format!("no reply `{id}` waits"), hint)),
        Dropped::Running => {
            Err(hinted(format!("`{id}` is running"), "reply `stop` in its thread to end it"))
        }
    }
}
