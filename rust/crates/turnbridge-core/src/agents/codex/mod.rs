//! Contains the code for Codex alone: its command line, its rollouts, its `notify` report, and the
//! threads that panes show.

pub mod codex_binding;
pub mod codex_launch;
pub mod codex_notify_wire;
pub mod rollout;
pub mod rollout_prompt;
pub mod rollout_tail;
pub mod rollout_wire;
