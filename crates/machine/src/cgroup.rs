//! Cgroups: the place of this process in them, those that hold the command's process tree, and
//! cpusets for single programs.
//!
//! This module reads raw counters; `account` in `measure` interprets them for a run. Every change
//! for a run is in the journal.

mod bandwidth;
mod counters;
mod cpusets;
mod group;
mod hierarchies;
mod location;
mod oom;
mod share;

pub use cpusets::ProgramCpusets;
pub use group::{CpuSource, CpuUsage, GroupError, GroupPurpose, StudyGroup, Survivors};
pub use hierarchies::{CgroupDir, Hierarchies, Version};
pub use oom::{OomKills, memory_limit};
