//! Supports Turnbridge's tests, and is not shipped: an environment isolated from the machine,
//! loopback model APIs, a loopback Slack, the real `claude` and `codex`, a private tmux, a browser,
//! stand-ins for other programs, recorded cases, and the repository's documents.
//!
//! A failed set-up panics, mostly at the caller's line: a test that cannot set up its environment
//! has failed. This crate uses none of Turnbridge's types, so that a test cannot pass by sharing a
//! mistake with the code.

mod browser;
pub mod case_folder;
mod claude;
mod codex;
mod documents;
mod hermetic;
mod http_wire;
mod message_wire;
mod messages_api;
mod model_server;
mod pinned;
#[cfg(unix)]
mod program;
mod reply;
mod response_wire;
mod responses_api;
pub mod slack;
mod slow;
#[cfg(unix)]
mod stand_in;
mod stream_event;
#[cfg(unix)]
mod tmux;
mod wait;

pub use browser::Browser;
pub use claude::Claude;
pub use codex::{Codex, read_rollout};
pub use documents::{CodeBlock, Document, documents, repository};
pub use hermetic::Hermetic;
pub use messages_api::MessagesApi;
#[cfg(unix)]
pub use program::write_program;
pub use reply::{ModelReply, Script};
pub use responses_api::ResponsesApi;
pub use slack::{SlackApi, SlackSetup};
pub use slow::{SLOW, is_slow, skipped_as_slow};
#[cfg(unix)]
pub use stand_in::StandIn;
#[cfg(unix)]
pub use tmux::Tmux;
pub use wait::wait_until;

/// Reports that a test did not run, and why. `cargo test -- --nocapture` and nextest show it.
#[expect(clippy::print_stderr, reason = "a test that is skipped has to say so")]
pub fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}
