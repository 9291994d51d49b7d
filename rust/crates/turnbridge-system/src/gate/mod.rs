//! Collects the sources of the Stop gate in a folder for users; the rules are
//! `turnbridge_core::gate`.

mod gate_callers;
pub mod gate_explanation;
mod gate_history;
