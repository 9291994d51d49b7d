//! What several of these tests stand on: homes, executables and their system calls, and engines that speak.

pub mod engines;
#[cfg(target_os = "linux")]
pub mod trace;
pub mod world;
