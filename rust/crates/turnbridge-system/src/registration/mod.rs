//! Registers Turnbridge with the agents: hooks in Claude Code's `settings.json`, `notify` in
//! Codex's `config.toml`. A change is planned first; the caller shows it, asks for consent, and
//! makes it.

pub mod claude_hooks;
pub mod claude_plugin;
pub mod codex_notify;
mod failures;
pub mod hook_programs;
mod planned_change;

pub use failures::{explain, refused};
pub use planned_change::{Basis, PlannedChange, nothing_of_ours, outcome_text, shown_diff};
