//! The `notify` program that the user had in Codex's config before Turnbridge took its place. Codex
//! runs one only, so ours runs it, with the same JSON (X1).

use std::io;

use turnbridge_core::codex_notify_wire::Chain;

use crate::bounded_file;
use crate::paths::StatePaths;

const LONGEST: u64 = 1 << 20;

/// `None`: the user had none.
pub fn read(paths: &StatePaths) -> io::Result<Option<Chain>> {
    let bytes = match bounded_file::read(&paths.codex_chain(), LONGEST) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes?,
    };
    let chain: Chain = serde_json::from_slice(&bytes)?;
    Ok(Some(chain).filter(|chain| !chain.argv.is_empty()))
}
