//! Makes and compares the board's secrets, 256 random bits each. The token is new at every start of
//! the board.

use std::hint::black_box;
use std::io;

use turnbridge_system::random;

/// Returns a new secret, in hexadecimal.
pub fn make() -> io::Result<String> {
    random::hex::<32>()
}

/// Returns whether two secrets are equal, in constant time. The length is no secret.
pub fn is_same(token: &str, other: &str) -> bool {
    let pairs = token.bytes().zip(other.bytes());
    let difference = pairs.fold(0, |seen, (a, b)| black_box(seen | (a ^ b)));
    token.len() == other.len() && difference == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_new_every_time_and_equal_to_itself_alone() {
        let (one, two) = (make().unwrap(), make().unwrap());
        assert!(one.len() == 64 && one.bytes().all(|byte| byte.is_ascii_hexdigit()), "{one}");
        assert!(is_same(&one, &one.clone()));
        for other in [two.as_str(), "", &one[..63], &format!("{one}0"), &one.to_uppercase()] {
            assert!(!is_same(&one, other) || other == one, "{other}");
        }
    }
}
