//! Tests Turnbridge from the user's side: with the real `claude` and the real `codex`, headless and
//! in a terminal, against loopback models. Most tests check the output for others: `turnbridge
//! sessions`, tvine's file and socket, Kawaii Terminal's lines, threads in a loopback Slack, the
//! board in a browser. Some test the packages and their scripts without an agent.
//!
//! The tests need tmux and unix sockets, so they run on unix only.

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
