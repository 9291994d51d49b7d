//! Contains the pure code of the board: its address, the sign-in of a browser, and the search for
//! the user at the other end of a connection.

pub mod board_wire;
pub mod sign_in;
pub mod sign_in_texts;
pub mod sock_diag;
pub mod tcp_table;
