//! Notices: reports about a turn, the channels that want them, and when a failed delivery is
//! retried. Their form in Slack is in `slack`.

pub mod notice;
pub mod notice_switches;
pub mod notice_wire;
pub mod progress;
pub mod retry_plan;
pub mod route;
pub mod route_wire;
