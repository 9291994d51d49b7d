//! Notices: what is to be told of a turn, who wants it, and when a failed delivery is tried again. What a
//! notice looks like in Slack is in `slack`.

pub mod notice;
pub mod notice_switches;
pub mod notice_wire;
pub mod progress;
pub mod retry_plan;
pub mod route;
pub mod route_wire;
