//! Cgroups: the place of this process in them, and those that hold the command's process tree.
//!
//! This module reads raw counters; `account` in `measure` interprets them for a run. Every change
//! is in the journal.

mod counters;
mod group;
mod hierarchies;
mod location;
mod oom;
mod share;

pub use group::{CpuSource, CpuUsage, GroupError, GroupPurpose, StudyGroup, Survivors};
pub use hierarchies::{CgroupDir, Hierarchies, Version};
pub use oom::{OomKills, memory_limit};
