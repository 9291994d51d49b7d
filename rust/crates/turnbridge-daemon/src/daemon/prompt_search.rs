//! Looks for a reply in the agent's own record of the session.

use std::path::{Path, PathBuf};

use turnbridge_core::ids::{SessionId, Tool};
use turnbridge_core::prompt_trace::holds_prompt;
use turnbridge_core::reply_wire::Reply;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::paths::{StatePaths, codex_home};
use turnbridge_store::{bounded_file, codex_rollouts, session_store};

/// A turn that has just begun is not longer.
const TAIL: u64 = 16 << 20;

pub fn was_prompted(paths: &StatePaths, reply: &Reply, since: Option<Timestamp>) -> bool {
    let Some((tool, id)) = reply.session() else { return false };
    let Some(path) = record_of(paths, tool, &id) else { return false };
    let Ok((tail, _)) = bounded_file::read_tail(&path, TAIL) else { return false };
    holds_prompt(tool, &tail, &reply.text, since)
}

fn record_of(paths: &StatePaths, tool: Tool, id: &SessionId) -> Option<PathBuf> {
    let known = session_store::read(paths, tool, id).and_then(|session| session.transcript_path);
    let known = known.map(PathBuf::from).filter(|path| Path::exists(path));
    match tool {
        Tool::Claude => known,
        Tool::Codex => known.or_else(|| codex_rollouts::find(&codex_home()?, id.as_str())),
    }
}
