//! What people and programs read: text for a terminal.
//!
//! Every function here turns data into text and hands it back. This crate must not print, read a file, look
//! at the environment, measure, or estimate anything that the data does not hold already.

mod topology;

pub use topology::topology;
