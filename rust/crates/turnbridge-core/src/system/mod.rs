//! The machine around us: service managers, WSL, the daemon's note of itself, environment variables, who
//! may write to our folders, and what `turnbridge setup` says.

pub mod daemon_wire;
pub mod environment_rules;
pub mod folder_trust;
pub mod prune_plan;
pub mod service_files;
pub mod setup_texts;
pub mod wsl;
