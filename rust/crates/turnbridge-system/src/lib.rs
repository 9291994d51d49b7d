//! Performs Turnbridge's actions on a machine, for the daemon and the command line: it registers
//! hooks, controls the daemon, follows sessions, reaches terminals, speaks, and runs replies.
//!
//! No code here parses arguments or uses the network, and only the process that plays a speech
//! prints: one line for the process that started it. A failure is a value with its hint
//! (`failure`), and the caller shows it.

pub mod agent_home;
pub mod agent_start;
pub mod browser;
pub mod config_file;
pub mod daemon_control;
pub mod failure;
pub mod focus;
pub mod gate;
pub mod logs;
pub mod observe;
pub mod panes;
pub mod plugin_layout;
pub mod programs;
pub mod random;
pub mod registration;
pub mod replies;
pub mod resume_command;
pub mod service;
pub mod speech;
pub mod state_folder;
pub mod terminals;
pub mod uninstall;
pub mod waiting;
pub mod wsl;
