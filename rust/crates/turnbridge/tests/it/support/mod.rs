//! What several of these tests stand on: homes, executables, and engines that speak.

pub mod engines;
pub mod world;
