//! Contains the code that depends on the agent: how it is started and resumed, the payloads of its
//! hooks, and its own files. Each agent has a folder; code for both is directly here.

pub mod agent_differences;
pub mod claude;
pub mod codex;
pub mod foreign_environment;
pub mod hook_manifest;
pub mod hook_table;
pub mod hook_wire;
pub mod resume;
