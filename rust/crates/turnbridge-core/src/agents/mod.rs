//! The differences between the agents: their start and resume, the payloads of their hooks, and
//! their own files. One folder per agent; code for both is here.

pub mod agent_differences;
pub mod claude;
pub mod codex;
pub mod foreign_environment;
pub mod hook_manifest;
pub mod hook_table;
pub mod hook_wire;
pub mod resume;
