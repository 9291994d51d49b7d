//! Helpers of several test files: agents in their homes and terminals, the host applications,
//! packages, timeouts, and the rules by which tests are skipped.

pub mod agent_home;
pub mod codex_world;
pub mod gates;
pub mod hosts;
pub mod old_agents;
pub mod packages;
pub mod terminal;
pub mod timeouts;
pub mod world;
