//! Accepts every path on Windows: a profile belongs to the user, the system and the administrators,
//! so its rights are not checked.

use std::fs::Metadata;
use std::path::Path;

use turnbridge_core::system::folder_trust::{Danger, Role};

pub fn judge(_path: &Path, _role: Role) -> Option<Danger> {
    None
}

pub fn is_own(_metadata: &Metadata) -> bool {
    true
}
