//! Slack's side of a conversation: texts of any length as messages and back, whose message counts as a
//! reply, how far each thread was read, and which machine owns a thread. No call is made here.

pub mod listening;
pub mod machine_wire;
pub mod marks_wire;
pub mod owner_code;
pub mod place_wire;
pub mod reply_check;
pub mod slack_decode;
pub mod slack_text;
pub mod slack_ts;
pub mod thread_marks;
