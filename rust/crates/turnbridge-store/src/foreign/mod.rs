//! Reads the files of other programs: Claude Code's settings and plugins, Codex's rollouts and
//! locks. They may be of any size. Only `foreign_file` changes one.

pub mod claude_settings;
pub mod codex_lock;
pub mod codex_rollouts;
pub mod foreign_file;
pub mod foreign_text;
pub mod gate_files;
pub mod plugin_files;
