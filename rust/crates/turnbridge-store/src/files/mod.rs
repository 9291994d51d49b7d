//! Reads and writes files: replaced whole, appended to by lines, read up to a limit, locked.

pub mod append;
pub mod atomic_file;
pub mod bounded_file;
pub mod file_lock;
