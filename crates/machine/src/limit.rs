//! Holds runs to their CPUs, by one of three means.
//!
//! Affinity is set by each child for itself; a cpuset and hotplug are set before the run and put back through
//! the journal. Which CPUs those are was decided before.

mod hotplug;

use morecores_study::{CpuSet, Limit};

use crate::group::{GroupError, StudyGroup};
use crate::undo::{Journal, JournalError};

pub use hotplug::{Hotplug, HotplugError};

/// Why runs cannot be held to their CPUs.
#[derive(Debug, thiserror::Error)]
pub enum LimitError {
    /// The cpuset could not be made or set.
    #[error(transparent)]
    Cpuset(#[from] GroupError),
    /// CPUs could not be switched.
    #[error(transparent)]
    Hotplug(#[from] HotplugError),
    /// The change could not be noted.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// A limiter at work.
#[derive(Debug)]
pub enum Limiter {
    /// Each child sets its own affinity.
    Affinity,
    /// The study's cgroup holds its members.
    Cpuset {
        /// The CPUs it holds them to now.
        now: CpuSet,
    },
    /// The other CPUs are offline.
    Hotplug(Hotplug),
}

impl Limiter {
    /// Checks that the means can be had, before anything is changed.
    ///
    /// # Errors
    /// Where it cannot; the message says what would help.
    pub fn new(limit: Limit, journal: &mut Journal) -> Result<Self, LimitError> {
        Ok(match limit {
            Limit::Affinity => Self::Affinity,
            Limit::Cpuset => Self::Cpuset { now: CpuSet::new() },
            Limit::Hotplug => Self::Hotplug(Hotplug::prepare(journal)?),
        })
    }

    /// Allots `cpus` to the runs that follow; true where that changed the machine.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn allot(&mut self, cpus: &CpuSet, group: Option<&StudyGroup>) -> Result<bool, LimitError> {
        match self {
            Self::Affinity => Ok(false),
            Self::Cpuset { now } if now == cpus => Ok(false),
            Self::Cpuset { now } => {
                let group = group.ok_or_else(|| GroupError::NoCpuset("there is no cgroup".to_owned()))?;
                group.set_cpus(cpus)?;
                now.clone_from(cpus);
                Ok(true)
            }
            Self::Hotplug(hotplug) => Ok(hotplug.only(cpus)?),
        }
    }

    /// The affinity that a child sets for itself.
    pub fn child_affinity<'a>(&self, cpus: &'a CpuSet) -> Option<&'a CpuSet> {
        matches!(self, Self::Affinity).then_some(cpus)
    }
}
