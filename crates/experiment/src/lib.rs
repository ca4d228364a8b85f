//! Experiments on this machine: what CPUs there are, which of them a command gets, and how it is run there.
//!
//! This crate reads and changes the machine and fills in the nouns of `morecores-record`. It must not compute
//! statistics or print.

pub mod budget;
pub mod capture;
pub mod cgroup;
pub mod cold;
pub mod control;
pub mod counts;
pub mod doctor;
pub mod done_once;
pub mod environment;
pub mod executor;
pub mod group;
pub mod host;
pub mod input;
pub mod limit;
pub mod lock_cell;
pub mod lock_sweep;
pub mod machine;
pub mod noise;
pub mod placement;
pub mod process;
pub mod program;
pub mod schedule;
pub mod spawn;
pub mod sweep;
pub mod taskstats;
pub mod topology;
pub mod tree;
pub mod undo;
pub mod witness;

mod account;
mod spared;
