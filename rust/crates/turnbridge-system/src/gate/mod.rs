//! Explains to users whether the Stop gate is on in a folder, and why. The rules are in
//! `turnbridge_core::gate`.

mod gate_callers;
pub mod gate_explanation;
mod gate_history;
