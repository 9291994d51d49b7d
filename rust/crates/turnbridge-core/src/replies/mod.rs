//! Replies: a message of the user to an agent, the plan of its next step, and the result of its
//! run. `slack` decides whether a Slack message is a reply at all.

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
