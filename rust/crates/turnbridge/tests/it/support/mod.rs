//! The support of several tests: homes, executables and their system calls, and engines.

pub mod engines;
#[cfg(target_os = "linux")]
pub mod trace;
pub mod world;
