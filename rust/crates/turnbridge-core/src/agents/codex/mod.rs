//! Codex: its command line, its rollouts, its `notify` report, and which pane shows which thread.

pub mod codex_binding;
pub mod codex_launch;
pub mod codex_notify_wire;
pub mod rollout;
pub mod rollout_prompt;
pub mod rollout_tail;
pub mod rollout_wire;
