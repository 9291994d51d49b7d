//! Contains notices: reports about a turn or about Turnbridge itself, the channels that receive
//! them, their retries, and the routes that lead replies back. Their form in Slack is in `slack`.

pub mod notice;
pub mod notice_switches;
pub mod notice_wire;
pub mod progress;
pub mod retry_plan;
pub mod route;
pub mod route_wire;
