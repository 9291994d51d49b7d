//! Replies: a message of the user on its way to an agent, the plan of what to do next with it, and what
//! came of its run. Whether a Slack message is a reply at all is decided in `slack`.

pub mod holder;
pub mod reply;
pub mod reply_plan;
pub mod reply_texts;
pub mod reply_wire;
pub mod run_end;
pub mod run_result;
pub mod standing;
pub mod thread_message;
pub mod turn_trace;
