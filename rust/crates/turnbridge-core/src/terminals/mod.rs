//! Contains the pure code about terminals: panes and the sessions in them, the calls that reach a
//! pane, typed command lines, and the sequences in a terminal's output.

pub mod command_line;
pub mod osc_scan;
pub mod pane_id;
pub mod pane_wire;
pub mod panes;
pub mod terminal_calls;
pub mod terminal_table;
