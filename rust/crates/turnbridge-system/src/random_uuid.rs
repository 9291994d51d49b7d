//! Ids that no other has.

use std::io;

/// Version 4: random.
pub fn random_uuid() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use turnbridge_core::ids::is_uuid;

    use super::*;

    #[test]
    fn tv_6_ids_are_uuids_of_version_4_and_never_the_same() {
        let ids: BTreeSet<String> = (0..1_000).map(|_| random_uuid().unwrap()).collect();
        assert_eq!(ids.len(), 1_000);
        for id in ids {
            assert!(is_uuid(&id) && id.as_bytes()[14] == b'4', "{id}");
            assert!(b"89ab".contains(&id.as_bytes()[19]), "{id}");
        }
    }
}
