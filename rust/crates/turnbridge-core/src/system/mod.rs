//! Contains the pure code about the machine: service managers, WSL, the daemon's status file, old
//! files, environment variables, the permissions of Turnbridge's folders, and the texts of
//! `turnbridge setup`.

pub mod daemon_wire;
pub mod environment_rules;
pub mod folder_trust;
pub mod prune_plan;
pub mod service_files;
pub mod setup_texts;
pub mod wsl;
