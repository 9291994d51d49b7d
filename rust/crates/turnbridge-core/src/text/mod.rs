//! Contains texts for users: catalogues of Turnbridge's texts in both languages, and functions that
//! make any text short, speakable, comparable, safe to show or one word of a shell.

pub(crate) mod catalogue;
pub mod line_diff;
pub mod nearest_name;
pub mod one_line;
pub mod shell_words;
pub mod spoken_text;
pub mod texts;
pub mod token_mask;
pub mod visible_text;
