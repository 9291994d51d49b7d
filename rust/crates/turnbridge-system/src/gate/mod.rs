//! What the Stop gate goes by in a folder, looked up for people; the rules are `turnbridge_core::gate`.

mod gate_callers;
pub mod gate_explanation;
mod gate_history;
