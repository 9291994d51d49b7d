//! Tests the executables as their callers use them: agents call hooks, users and programs run
//! commands. Most tests call the hooks themselves; `tests/e2e` runs the real agents.

mod bad_input;
#[cfg(unix)]
mod board;
mod codex;
mod concurrency;
mod config;
mod config_reads;
#[cfg(unix)]
mod daemon;
#[cfg(unix)]
mod demo;
#[cfg(unix)]
mod doctor;
mod documents;
mod double_registration;
#[cfg(unix)]
mod focus;
#[cfg(unix)]
mod folder_trust;
mod gate;
mod gate_command;
mod homes;
mod hooks_command;
#[cfg(unix)]
mod hostile_text;
mod inbox;
mod japanese;
mod killed_hooks;
mod manifest;
mod mcp;
mod no_network;
#[cfg(target_os = "linux")]
mod other_users;
mod own_speak;
mod pane_typing;
mod panes;
mod plugin_folder;
#[cfg(unix)]
mod project_environment;
mod pruning;
#[cfg(unix)]
mod real_codex;
mod recordings;
#[cfg(unix)]
mod run_command;
mod schemas;
#[cfg(unix)]
mod service;
mod sessions_command;
#[cfg(unix)]
mod setup;
#[cfg(unix)]
mod shells;
mod sinks;
mod slack;
#[cfg(target_os = "linux")]
mod soak;
mod speak;
mod support;
mod uninstall;
mod versions;
mod voice;
mod watch;
#[cfg(windows)]
mod windows;
#[cfg(unix)]
mod wsl;
