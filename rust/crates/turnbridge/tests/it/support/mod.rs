//! Helpers of several test files: homes with the executables, the trace of system calls, and speech
//! engines.

pub mod engines;
#[cfg(target_os = "linux")]
pub mod trace;
pub mod world;
