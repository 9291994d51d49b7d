//! Contains the formats for the programs that show Turnbridge's states: tvine and Kawaii Terminal.

pub mod kawaii_wire;
pub mod tvine_project;
pub mod tvine_wire;
