//! Turnbridge as a person meets it: the real `claude` and the real `codex`, headless and in a
//! terminal, with this repository as their plugin, against a loopback model. What is checked is
//! what others read: `turnbridge sessions`, tvine's file and socket, Kawaii Terminal's lines.
//!
//! tmux and unix sockets are what these tests stand on, so they are for unix.
#![cfg(unix)]

mod additions;
mod board;
mod codex_after_esc;
#[cfg(target_os = "linux")]
mod codex_background;
mod codex_exec;
mod codex_plugin;
mod codex_slack;
mod codex_terminal;
mod daemon;
mod daemon_terminal;
mod dialogs;
mod dispatcher;
mod ends;
mod headless;
mod hostile_project;
mod interactive;
mod interruptions;
mod package_script;
mod packaged;
mod plugin;
mod registrations;
mod replies;
mod service;
mod setup;
mod side_run;
mod sign_in;
mod slack;
mod stop_gate;
mod support;
mod voice;
