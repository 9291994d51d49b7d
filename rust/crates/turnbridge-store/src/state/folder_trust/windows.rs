//! Windows: a profile belongs to the user, the system and the administrators, so there is no check
//! of its rights.

use std::fs::Metadata;
use std::path::Path;

use turnbridge_core::system::folder_trust::{Danger, Role};

pub fn judge(_path: &Path, _role: Role) -> Option<Danger> {
    None
}

pub fn is_own(_metadata: &Metadata) -> bool {
    true
}
