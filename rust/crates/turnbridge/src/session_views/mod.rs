//! Sessions as the command line shows them: a table, one in detail, a line of the user's own, JSON.

pub mod format;
pub mod json;
pub mod show;
pub mod table;
