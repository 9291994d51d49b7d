//! Stores the `notify` program that the user had in Codex's config before Turnbridge replaced it.
//! Codex runs only one, so Turnbridge's program runs the stored one, with the same JSON (X1).

use std::io;

use turnbridge_core::agents::codex::codex_notify_wire::PreviousNotify;
use turnbridge_core::version_wire::{VERSION, is_newer};

use crate::files::atomic_file::write_durably;
use crate::files::bounded_file;
use crate::paths::StatePaths;
use crate::state::newer_files;

const LONGEST: u64 = 1 << 20;

/// Returns the stored program, or `None` if the user had none.
pub fn read(paths: &StatePaths) -> io::Result<Option<PreviousNotify>> {
    let bytes = match bounded_file::read(&paths.previous_notify(), LONGEST) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes?,
    };
    if is_newer(&bytes) {
        return Err(newer_files::error());
    }
    let chain: PreviousNotify = serde_json::from_slice(&bytes)?;
    Ok(Some(chain).filter(|chain| !chain.argv.is_empty()))
}

/// Stores the program that runs after Turnbridge's from now on.
pub fn write(paths: &StatePaths, argv: &[String]) -> io::Result<()> {
    if newer_files::is_newer_file(&paths.previous_notify()) {
        return Err(newer_files::error());
    }
    let chain = PreviousNotify { version: VERSION, argv: argv.to_vec() };
    write_durably(&paths.previous_notify(), &serde_json::to_vec(&chain)?)
}

pub fn forget(paths: &StatePaths) -> io::Result<()> {
    match std::fs::remove_file(paths.previous_notify()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_that_was_there_is_kept_until_it_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        let argv = ["a b".to_owned(), "\"".to_owned()];
        write(&paths, &argv).unwrap();
        assert_eq!(read(&paths).unwrap().unwrap().argv, argv);
        forget(&paths).unwrap();
        forget(&paths).unwrap();
        assert_eq!(read(&paths).unwrap(), None);
        std::fs::write(paths.previous_notify(), r#"{"version":2,"argv":{}}"#).unwrap();
        let errors = [read(&paths).unwrap_err(), write(&paths, &argv).unwrap_err()];
        assert!(errors.iter().all(newer_files::is_newer_error));
    }
}
