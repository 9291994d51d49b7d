//! Turnbridge's own files, and the status files that others asked for.
//!
//! A session changes only through `session_store::update`, under the session's lock, whoever
//! calls it: hooks, daemon, command line. What an event means is decided in `turnbridge-core`;
//! Slack and agents are elsewhere. Nothing here waits long: every caller may be a hook.

pub mod agent_environment;
pub mod append;
pub mod atomic_file;
pub mod bounded_file;
pub mod claude_settings;
pub mod clock;
pub mod codex_chain;
pub mod codex_lock;
pub mod codex_offsets;
pub mod codex_rollouts;
pub mod companion;
pub mod file_lock;
pub mod folder_trust;
pub mod foreign_file;
pub mod gate_files;
pub mod heard;
pub mod inbox;
pub mod kill_point;
pub mod log;
pub mod newer_files;
pub mod notice_queue;
pub mod outbox;
pub mod pane_store;
pub mod paths;
pub mod pending_turns;
pub mod plugin_files;
pub mod process;
pub mod prune;
pub mod recovery;
pub mod routes;
pub mod session_store;
pub mod sinks;
pub mod slack_place;
pub mod speech_mark;
pub mod system_home;
pub mod terminal_holder;
pub mod test_switch;
pub mod thread_marks;
pub mod turn_completion;
pub mod turn_store;
