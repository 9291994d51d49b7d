//! Readers of JSON and TOML that know the positions of values in a text, and planned changes of
//! such a text. Other code interprets the text.

pub mod byte_order_mark;
pub mod json_scan;
pub mod json_tree;
pub mod splice;
pub(crate) mod toml_scan;
pub mod utf8_check;
