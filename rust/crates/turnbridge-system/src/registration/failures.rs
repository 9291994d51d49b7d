//! Makes the errors of a file of another program that could not be read or changed, each with a
//! hint.

use std::fmt;
use std::path::Path;

use turnbridge_store::foreign::foreign_file::Failure;

use crate::failure::hinted;

/// Returns the error for a plan that could not be made from the file's text.
pub fn refused(reason: &str, path: &Path) -> anyhow::Error {
    let error = format!("could not change `{}`: {reason}", path.display());
    hinted(error, "the file was left as it was; repair it, then run this again")
}

/// Returns the error for a failed change of the file.
pub fn explain<E: fmt::Display>(failure: Failure<E>, path: &Path) -> anyhow::Error {
    let hint = match &failure {
        Failure::Refused(reason) => return refused(&reason.to_string(), path),
        Failure::File { doing: "put back", .. } => {
            "what it was is in `<file>.bak`, and in the folder `foreign` of Turnbridge's state"
        }
        Failure::File { .. } => "nothing was changed; look at the owner, the mode and the disk",
        Failure::NotUtf8 { .. } => "nothing was changed; save it as UTF-8",
        Failure::HasOtherNames { .. } => {
            "nothing was changed; make it a file of its own or a symlink"
        }
        Failure::NoPeace { .. } => "nothing was changed; run this again when it has come to rest",
        Failure::NoBackup { .. } => {
            "Turnbridge has not changed the file, or the backup was removed"
        }
    };
    hinted(failure.to_string(), hint)
}
