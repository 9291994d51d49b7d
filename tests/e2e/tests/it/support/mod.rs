//! What several of these tests stand on: agents, their worlds and terminals, packages, and what old agents cannot do.

pub mod codex_world;
pub mod gates;
pub mod hosts;
pub mod old_agents;
pub mod packages;
pub mod patience;
pub mod scene;
pub mod terminal;
pub mod world;
