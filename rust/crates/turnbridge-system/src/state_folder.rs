//! Returns the paths of this user's state folder, or an error with a hint if it must not be used.

use anyhow::Result;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::folder_trust::check_state;

use crate::failure::hinted;

/// Returns the paths. Returns an error with a hint if there is no home folder, or if other users
/// can write to the state folder.
pub fn state_paths() -> Result<StatePaths> {
    let hint = "set HOME (on Windows USERPROFILE)";
    let paths = StatePaths::from_env();
    let paths = paths.ok_or_else(|| hinted("could not find your home folder", hint))?;
    check_state(&paths).map_err(|untrusted| hinted(untrusted.to_string(), untrusted.hint()))?;
    Ok(paths)
}
