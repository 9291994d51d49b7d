//! Implements `turnbridge demo`: a temporary home, and agents that play scenes. The scenes go
//! through the real hooks, so that everything behind the hooks works as with real agents.

mod agent;
pub mod answer;
pub mod company;
pub mod home;
mod part;
pub mod performance;
pub mod player;
pub mod scenes;
mod takeover;
mod terminal;
