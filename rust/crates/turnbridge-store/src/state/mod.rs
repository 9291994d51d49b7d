//! Reads and writes Turnbridge's files below the state folder: sessions, turns, notices, replies,
//! routes, panes, marks. Each kind of file has one module that writes it; `prune` removes old ones.

pub mod codex_offsets;
pub mod config_text;
pub mod folder_trust;
pub mod heard;
pub mod inbox;
pub mod newer_files;
pub mod notice_queue;
pub mod outbox;
pub mod pane_store;
pub mod pending_turns;
pub mod previous_notify;
pub mod prune;
pub mod recovery;
pub mod routes;
pub mod session_store;
pub mod slack_place;
pub mod speech_mark;
pub mod thread_marks;
pub mod turn_completion;
pub mod turn_store;
