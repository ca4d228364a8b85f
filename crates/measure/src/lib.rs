//! Runs of a command: start, limits and accounting of one run, and the sweep over all runs of an
//! experiment with any subject.
//!
//! This crate changes the machine through `morecores-machine` and fills in the nouns of
//! `morecores-study`. It must not compute statistics or print.

mod account;
pub mod budget;
pub mod capture;
pub mod cold;
pub mod control;
pub mod done_once;
pub mod environment;
pub mod executor;
mod foreign_processes;
pub mod input;
pub mod observer;
pub mod program;
pub mod schedule;
pub mod spawn;
pub mod sweep;
