//! What differs between the agents: how each is started and resumed, what its hooks send, and what its
//! own files say. One folder per agent; what holds for both stands here.

pub mod agent_differences;
pub mod claude;
pub mod codex;
pub mod foreign_environment;
pub mod hook_manifest;
pub mod hook_table;
pub mod hook_wire;
pub mod resume;
