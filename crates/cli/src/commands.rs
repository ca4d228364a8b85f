//! Subcommands: each calls the crates below and prints.

mod benchmarks;
mod chosen_trace;
mod display;
mod input;
mod loaded_study;
mod marks;
mod memory_speed;
mod page;
mod progress;
mod recorder;
mod resume;
mod signals;
mod traced_run;
mod watch;

pub(crate) mod advise;
pub(crate) mod compare;
pub(crate) mod doctor;
pub(crate) mod enforce;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod generate;
pub(crate) mod launch;
pub(crate) mod locks;
pub(crate) mod mark;
pub(crate) mod predict;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod suite;
pub(crate) mod topology;
pub(crate) mod trace;
