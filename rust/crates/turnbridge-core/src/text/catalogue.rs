//! Defines the macro for catalogues of texts for users, each in both languages, and puts values
//! into a text.

/// Makes an enum of texts. `{0}`, `{1}` … in a text are places for values (`filled`).
macro_rules! catalogue {
    ($(#[$about:meta])* $catalogue:ident
     $($(#[$doc:meta])* $name:ident: $japanese:expr, $english:expr;)+) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $catalogue { $($(#[$doc])* $name),+ }

        impl $catalogue {
            pub const ALL: &[$catalogue] = &[$($catalogue::$name),+];

            pub fn text(self, language: $crate::text::spoken_text::Language) -> &'static str {
                use $crate::text::spoken_text::Language;
                match (self, language) {
                    $(($catalogue::$name, Language::Japanese) => $japanese,
                    ($catalogue::$name, Language::English) => $english,)+
                }
            }
        }
    };
}

pub(crate) use catalogue;

/// Returns the text with the values in their places. A place without a value stays.
pub(crate) fn filled(text: &str, values: &[&str]) -> String {
    let mut rest = text;
    let mut whole = String::with_capacity(text.len());
    while let Some((before, after)) = rest.split_once('{') {
        whole.push_str(before);
        let place = after.split_once('}');
        let value = place.and_then(|(number, _)| values.get(number.parse::<usize>().ok()?));
        match (place, value) {
            (Some((_, after)), Some(value)) => {
                whole.push_str(value);
                rest = after;
            }
            _ => {
                whole.push('{');
                rest = after;
            }
        }
    }
    whole + rest
}

#[cfg(test)]
pub(crate) mod tests {
    use super::filled;

    #[test]
    fn values_come_into_their_places_and_nowhere_else() {
        assert_eq!(filled("{1} of {0}: {2} {x} {", &["a", "{0}"]), "{0} of a: {2} {x} {");
        assert_eq!(filled("none", &["a"]), "none");
    }

    /// Checks the rules for a text in both languages.
    #[track_caller]
    pub fn check(japanese: &str, english: &str) {
        assert!(japanese.contains(crate::text::spoken_text::is_japanese), "{english}");
        assert!(!english.is_empty() && english.is_ascii(), "{english}");
        assert_eq!(japanese.lines().count(), english.lines().count(), "{english}");
        for place in ["{0}", "{1}", "{2}", "{3}"] {
            let count = |text: &str| text.matches(place).count();
            assert_eq!(count(japanese), count(english), "{english}");
        }
        assert!([japanese, english].iter().all(|text| text.trim() == *text), "{english}");
    }
}
