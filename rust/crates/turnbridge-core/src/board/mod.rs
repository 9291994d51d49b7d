//! The board: where it is served, how a browser signs in, and whose connection it is.

pub mod board_wire;
pub mod sign_in;
pub mod sign_in_texts;
pub mod sock_diag;
pub mod tcp_table;
