//! What `turnbridge demo` is made of: a home that nobody lives in, and agents that only play. What
//! they play goes through the real hooks, so that all behind those is as it is with real agents.

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
