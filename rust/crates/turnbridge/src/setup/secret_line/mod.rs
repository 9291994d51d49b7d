//! Reads a line from the terminal without showing it. However it ends, the terminal is as it was.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::read;
#[cfg(windows)]
pub use windows::read;
