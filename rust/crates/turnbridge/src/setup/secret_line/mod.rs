//! Reads a line from the terminal without echo, and restores the terminal in every case.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::read;
#[cfg(windows)]
pub use windows::read;
