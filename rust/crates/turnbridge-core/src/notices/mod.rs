//! Notices: what is to be told of a turn, who wants it, and when a failed delivery is tried again. What a
//! notice looks like in Slack is in `slack`.

pub mod notice_switches;
pub mod notice_wire;
pub mod retry_plan;
