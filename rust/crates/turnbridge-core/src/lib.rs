//! The pure core of Turnbridge: what events mean, and nothing else.
//!
//! No files, no network, no environment, no clock: time, paths and limits come in as arguments.
//! Shells (`turnbridge-hooks`, `turnbridge-daemon`, the command line) do input and output and
//! let this crate compute. Types in `*_wire` modules are formats as sent or stored and derive
//! serde; domain types do not.

pub mod advance;
pub mod board_wire;
pub mod byte_order_mark;
mod catalogue;
pub mod claim;
pub mod claude_launch;
pub mod claude_process_wire;
pub mod codex_binding;
pub mod codex_launch;
pub mod codex_notify_wire;
pub mod command_line;
pub mod daemon_wire;
pub mod dialogs;
pub mod environment_rules;
pub mod event;
pub mod gate;
pub mod gate_switches;
pub mod hook_wire;
pub mod ids;
pub mod json_scan;
pub mod json_tree;
pub mod kawaii_wire;
pub mod line_diff;
pub mod notice_switches;
pub mod notice_wire;
pub mod one_line;
pub mod osc_scan;
pub mod owner_code;
pub mod pane_id;
pub mod pane_wire;
pub mod panes;
pub mod pending_turn_wire;
pub mod prompt_search;
pub mod reply_check;
pub mod reply_plan;
pub mod reply_texts;
pub mod reply_wire;
pub mod resume;
pub mod rollout;
pub mod rollout_prompt;
pub mod rollout_wire;
pub mod sandbox;
pub mod service_files;
pub mod session;
pub mod session_wire;
pub mod settings_edit;
pub mod setup_texts;
pub mod sign_in;
pub mod sign_in_texts;
pub mod slack_decode;
pub mod slack_text;
pub mod speak;
pub mod splice;
pub mod spoken_text;
pub mod tcp_table;
pub mod terminal_calls;
pub mod texts;
pub mod timestamp;
pub mod token_mask;
mod toml_scan;
pub mod transcript_text;
pub mod transcript_wire;
pub mod turn_speech;
pub mod turn_wire;
pub mod tvine_wire;
pub mod utf8_check;
pub mod version_wire;
pub mod visible_text;
pub mod wsl;
