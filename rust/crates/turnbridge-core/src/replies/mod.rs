//! Contains replies: messages of the user to an agent, the plan of their next steps, and the
//! results of their runs. `slack` decides whether a Slack message is a reply.

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
