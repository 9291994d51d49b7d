//! Contains the code for Claude Code alone: its command line, its settings, its transcript, the
//! status file of a process, and its screen.

pub mod claude_launch;
pub mod claude_process_wire;
pub mod claude_screen;
pub mod sandbox;
pub mod settings_edit;
pub mod transcript_text;
pub mod transcript_wire;
