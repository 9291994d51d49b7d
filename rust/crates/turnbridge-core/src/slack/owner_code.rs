//! Checks the code by which `turnbridge setup` identifies its user in Slack: the user posts words
//! that only the terminal shows. Others may guess, so a few wrong guesses make a code void, and a
//! few void codes end this way of identification.

/// The limit of wrong guesses at one code.
const WRONG_AT_MOST: u32 = 5;
/// The limit of codes.
const CODES_AT_MOST: u32 = 3;

/// The present code, and the counts of codes and wrong guesses.
#[derive(Debug)]
pub struct OwnerCode {
    number: u32,
    wrong: u32,
    codes: u32,
}

/// The verdict on a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeVerdict {
    Right,
    /// The message is no attempt.
    Other,
    Wrong,
    /// The code is void; `renew` it.
    Void,
    /// The limit of codes is reached.
    Over,
}

impl OwnerCode {
    pub fn new(number: u32) -> OwnerCode {
        OwnerCode { number, wrong: 0, codes: 1 }
    }

    /// Returns the words to post.
    pub fn words(&self) -> String {
        format!("turnbridge {}", self.number)
    }

    /// Replaces a void code by a new one.
    pub fn renew(&mut self, number: u32) {
        *self = OwnerCode { number, wrong: 0, codes: self.codes + 1 };
    }

    /// Returns the verdict on a posted text, and counts a wrong one.
    pub fn check(&mut self, said: &str) -> CodeVerdict {
        let said = said.trim().trim_matches('`').to_lowercase();
        if said == self.words() {
            return CodeVerdict::Right;
        }
        if !said.starts_with("turnbridge ") {
            return CodeVerdict::Other;
        }
        self.wrong += 1;
        match (self.wrong < WRONG_AT_MOST, self.codes < CODES_AT_MOST) {
            (true, _) => CodeVerdict::Wrong,
            (false, true) => CodeVerdict::Void,
            (false, false) => CodeVerdict::Over,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_very_words_are_right_however_they_are_typed() {
        let mut code = OwnerCode::new(123_456);
        for said in ["turnbridge 123456", " Turnbridge 123456\n", "`turnbridge 123456`"] {
            assert_eq!(code.check(said), CodeVerdict::Right);
        }
        for said in ["hello", "", "what is turnbridge 123456?", "123456"] {
            assert_eq!(code.check(said), CodeVerdict::Other);
        }
    }

    #[test]
    fn five_wrong_guesses_make_a_code_void_and_the_third_code_is_the_last() {
        let mut code = OwnerCode::new(123_456);
        for last in [CodeVerdict::Void, CodeVerdict::Void, CodeVerdict::Over] {
            let guesses = (0..5).map(|digit| code.check(&format!("turnbridge {digit}")));
            assert_eq!(
                guesses.collect::<Vec<_>>(),
                [&[CodeVerdict::Wrong; 4][..], &[last]].concat()
            );
            code.renew(654_321);
        }
        assert_eq!(code.check("turnbridge 123456"), CodeVerdict::Wrong);
    }
}
