//! Experiments on this machine: what CPUs there are and which of them a command gets.
//!
//! This crate reads and changes the machine and fills in the nouns of `morecores-record`. It must not compute
//! statistics or print.

pub mod cgroup;
pub mod counts;
pub mod placement;
pub mod topology;
pub mod tree;
