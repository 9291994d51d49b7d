//! Reads and writes files: replaces them whole, appends lines, reads up to a limit, and locks.

pub mod append;
pub mod atomic_file;
pub mod bounded_file;
pub mod file_lock;
