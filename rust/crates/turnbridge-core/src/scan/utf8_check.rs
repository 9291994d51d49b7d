//! Checks whether a text that arrives in chunks is UTF-8, even if a chunk ends inside a character.

#[derive(Debug, Default)]
pub struct Utf8Check {
    /// The beginning of a character at the end of the last chunk.
    pending: Vec<u8>,
    is_broken: bool,
}

impl Utf8Check {
    pub fn feed(&mut self, mut chunk: &[u8]) {
        while !self.is_broken && !self.pending.is_empty() && !chunk.is_empty() {
            self.pending.push(chunk[0]);
            chunk = &chunk[1..];
            match std::str::from_utf8(&self.pending) {
                Ok(_) => self.pending.clear(),
                Err(error) => self.is_broken = error.error_len().is_some(),
            }
        }
        if self.is_broken {
            return;
        }
        if let Err(error) = std::str::from_utf8(chunk) {
            if error.error_len().is_some() {
                self.is_broken = true;
            } else {
                self.pending.extend_from_slice(&chunk[error.valid_up_to()..]);
            }
        }
    }

    /// Returns whether the chunks so far are whole UTF-8 text.
    pub fn is_utf8(&self) -> bool {
        !self.is_broken && self.pending.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_whole_text_however_it_is_cut() {
        let texts: [&[u8]; 7] = [
            b"",
            b"plain",
            "日本語😀é".as_bytes(),
            b"a\xff",
            b"\xe6\x97",
            b"\xe6a",
            b"\xf0\x9f\x98",
        ];
        for text in texts {
            for chunk in 1..=text.len().max(1) {
                let mut check = Utf8Check::default();
                text.chunks(chunk).for_each(|piece| check.feed(piece));
                assert_eq!(check.is_utf8(), std::str::from_utf8(text).is_ok(), "{text:?}/{chunk}");
            }
        }
    }
}
