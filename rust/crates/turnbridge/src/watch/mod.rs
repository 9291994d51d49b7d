//! Implements `turnbridge watch`: shows all sessions live on the terminal, or as JSON lines for
//! other programs. It works without the daemon; a reply then waits for it.

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
