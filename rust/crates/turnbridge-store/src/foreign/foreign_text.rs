//! Reads a text or JSON file of another program, up to a limit.

use std::path::Path;

use serde_json::Value;
use turnbridge_core::scan::byte_order_mark::split_mark;

use crate::files::bounded_file;

/// The limit of a settings file.
const LONGEST: u64 = 16 << 20;

/// Reads a text file. Returns `None` if it does not exist.
pub fn read_text(path: &Path) -> Result<Option<String>, String> {
    let bytes = bounded_file::read_if_there(path, LONGEST).map_err(|error| error.to_string())?;
    bytes.map(String::from_utf8).transpose().map_err(|_| "it is no UTF-8".to_owned())
}

/// Reads a JSON file. Returns null if it is missing or is no JSON. Claude Code allows a byte order
/// mark in front.
pub fn read_json(path: &Path) -> Value {
    let text = read_text(path).ok().flatten().unwrap_or_default();
    serde_json::from_str(split_mark(&text).1).unwrap_or_default()
}
