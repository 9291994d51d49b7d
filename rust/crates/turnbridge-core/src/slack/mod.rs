//! Contains the pure code for Slack: texts of any length as messages and back, the messages that
//! count as replies, how far each thread was read, and the machine that a thread belongs to. It
//! makes no calls.

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
