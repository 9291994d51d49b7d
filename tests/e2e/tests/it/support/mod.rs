//! The support of several tests: agents, their worlds and terminals, packages, and the gaps of old
//! agents.

pub mod agent_home;
pub mod codex_world;
pub mod gates;
pub mod hosts;
pub mod old_agents;
pub mod packages;
pub mod terminal;
pub mod timeouts;
pub mod world;
