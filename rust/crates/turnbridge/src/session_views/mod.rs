//! The command line's views of sessions: a table, one in detail, a user's template, JSON.

pub mod format;
pub mod json;
pub mod show;
pub mod table;
