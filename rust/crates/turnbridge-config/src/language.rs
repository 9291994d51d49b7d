//! Chooses the language of the texts for the user: that of the config, else that of the locale.

use turnbridge_core::text::texts::Language;

use crate::Config;

impl Config {
    /// Returns the language that the user has chosen, else that of the locale.
    pub fn spoken_language(&self) -> Language {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"];
        let locale =
            locale.iter().find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
        let chosen = self.language.clone().or(locale).unwrap_or_default();
        Language::from_locale(&chosen)
    }
}
