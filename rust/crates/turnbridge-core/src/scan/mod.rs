//! Contains readers of JSON and TOML texts that read only a part, or keep positions, and the
//! splices that change such a text. Other code interprets the values.

pub mod byte_order_mark;
pub mod json_scan;
pub mod json_tree;
pub mod splice;
pub(crate) mod toml_scan;
pub mod utf8_check;
