//! Judges the owner and the mode of a path on Unix.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{getegid, geteuid};
use turnbridge_core::system::folder_trust::{self, Access, Danger, OVERFLOW_ID, OwnIdentity, Role};

/// Returns the danger of a path. Returns `None` if it is good or missing, or if its role is a link
/// and it is none.
pub fn judge(path: &Path, role: Role) -> Option<Danger> {
    let metadata = match role {
        Role::Link => path.symlink_metadata().ok().filter(Metadata::is_symlink)?,
        Role::Own | Role::Above => path.metadata().ok()?,
    };
    let is_in_namespace = metadata.uid() == OVERFLOW_ID && is_in_namespace();
    let own = OwnIdentity { user: geteuid().as_raw(), group: getegid().as_raw(), is_in_namespace };
    folder_trust::judge(access(&metadata), own, role)
}

/// Returns whether some users of the system are unknown in this namespace.
fn is_in_namespace() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let words: Vec<_> = map.split_whitespace().collect();
    // This map covers all users, from the first one, with their outside numbers. Other systems have
    // no such file.
    !words.is_empty() && words != ["0", "0", "4294967295"]
}

/// Returns whether this user, or root, owns a file that is acted on.
pub fn is_own(metadata: &Metadata) -> bool {
    [geteuid().as_raw(), 0].contains(&metadata.uid())
}

fn access(metadata: &Metadata) -> Access {
    Access { owner: metadata.uid(), group: metadata.gid(), mode: metadata.mode() & 0o7777 }
}
