//! Owners and modes.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{getegid, geteuid};
use turnbridge_core::folder_trust::{self, Access, Danger, Identity, Role};

/// Returns `None` for what is good or missing, and for what is no link if one is asked about.
pub fn judge(path: &Path, role: Role) -> Option<Danger> {
    let metadata = match role {
        Role::Link => path.symlink_metadata().ok().filter(Metadata::is_symlink)?,
        Role::Own | Role::Above => path.metadata().ok()?,
    };
    folder_trust::judge(access(&metadata), identity(), role)
}

/// Whether a file that is acted on was written by this user, or root.
pub fn is_own(metadata: &Metadata) -> bool {
    [identity().user, 0].contains(&metadata.uid())
}

fn identity() -> Identity {
    Identity { user: geteuid().as_raw(), group: getegid().as_raw() }
}

fn access(metadata: &Metadata) -> Access {
    Access { owner: metadata.uid(), group: metadata.gid(), mode: metadata.mode() & 0o7777 }
}
