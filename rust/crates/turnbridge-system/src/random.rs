//! Makes ids, tokens and numbers with the system's random generator. No other module uses it.

use std::io;

/// Returns unpredictable bytes.
pub fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}

/// Returns `N` bytes as `2 * N` lower-case digits.
pub fn hex<const N: usize>() -> io::Result<String> {
    bytes::<N>().map(|bytes| in_hex(&bytes))
}

/// Returns a UUID of version 4.
pub fn uuid() -> io::Result<String> {
    let mut bytes = bytes::<16>()?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = in_hex(&bytes);
    Ok([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
}

/// Returns a number of six digits, the first of which is no zero.
pub fn six_digits() -> io::Result<u32> {
    let number = u64::from_ne_bytes(bytes()?) % 900_000;
    Ok(100_000 + u32::try_from(number).unwrap_or_default())
}

fn in_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use turnbridge_core::ids::is_uuid;

    use super::*;

    #[test]
    fn tv_6_ids_are_uuids_of_version_4_and_never_the_same() {
        let ids: BTreeSet<String> = (0..1_000).map(|_| uuid().unwrap()).collect();
        assert_eq!(ids.len(), 1_000);
        for id in ids {
            assert!(is_uuid(&id) && id.as_bytes()[14] == b'4', "{id}");
            assert!(b"89ab".contains(&id.as_bytes()[19]), "{id}");
        }
    }

    #[test]
    fn hex_has_two_lower_case_digits_for_each_byte() {
        assert_eq!(in_hex(&[0, 0x0f, 0xab, 0xff]), "000fabff");
        let (one, two) = (hex::<32>().unwrap(), hex::<32>().unwrap());
        assert!(one.len() == 64 && one != two, "{one}");
    }

    #[test]
    fn a_number_has_six_digits_and_not_always_the_same() {
        let numbers: BTreeSet<u32> = (0..1_000).map(|_| six_digits().unwrap()).collect();
        assert!(numbers.len() > 900, "{}", numbers.len());
        assert!(numbers.iter().all(|number| (100_000..=999_999).contains(number)));
    }
}
