//! Formats sessions for the command line: as a table, one in detail, by a user's template, as JSON.

pub mod format;
pub mod json;
pub mod show;
pub mod table;
