//! The support of several tests: agents, their worlds and terminals, packages, and the gaps of old
//! agents.

pub mod codex_world;
pub mod gates;
pub mod hosts;
pub mod old_agents;
pub mod packages;
pub mod patience;
pub mod scene;
pub mod terminal;
pub mod world;
