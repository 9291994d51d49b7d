//! Reads the payload from stdin while it arrives. It keeps only the needed parts of it, and
//! computes its hash.

use std::io::{self, Read};

use turnbridge_core::agents::hook_wire::{HookPayload, HookReader};
use turnbridge_core::scan::utf8_check::Utf8Check;
use xxhash_rust::xxh3::Xxh3;

/// The size of one read. Claude sends the payload over a socket; a larger read returns no more.
const CHUNK: usize = 128 << 10;

pub struct HookInput {
    pub payload: Result<HookPayload, String>,
    pub bytes: u64,
    pub is_utf8: bool,
    /// The identity of the payload: two registrations of one event get the same bytes.
    pub hash: u64,
    /// The input as it came, if the caller wants it.
    pub raw: Option<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RawInput {
    Keep,
    Drop,
}

/// Reads stdin to the end, even if the beginning is no JSON, because the agent is still writing.
pub fn read(mut source: impl Read, raw: RawInput) -> HookInput {
    let mut chunk = vec![0; CHUNK];
    let mut reader = HookReader::new();
    let mut utf8 = Utf8Check::default();
    let mut hash = Xxh3::new();
    let mut kept = (raw == RawInput::Keep).then(Vec::new);
    let mut problem = None;
    let mut bytes = 0;
    loop {
        let length = match source.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                problem.get_or_insert_with(|| format!("cannot read standard input: {error}"));
                break;
            }
        };
        let piece = &chunk[..length];
        bytes += length as u64;
        hash.update(piece);
        utf8.feed(piece);
        if let Some(kept) = &mut kept {
            kept.extend_from_slice(piece);
        }
        if problem.is_none() {
            problem = reader.feed(piece).err().map(|error| error.to_string());
        }
    }
    let payload = match problem {
        Some(problem) => Err(problem),
        None => reader.finish().map_err(|error| error.to_string()),
    };
    HookInput { payload, bytes, is_utf8: utf8.is_utf8(), hash: hash.digest(), raw: kept }
}
