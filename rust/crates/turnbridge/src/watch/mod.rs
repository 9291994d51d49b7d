//! All sessions, live, on the terminal, or as JSON lines for other programs. Reads our files only and works
//! with the daemon dead; a reply waits for it then.

mod bell;
mod filter;
pub mod json;
mod key;
mod last_turns;
pub mod model;
mod reply;
pub mod run;
#[cfg(test)]
mod sample;
mod terminal;
mod text_box;
mod view;
