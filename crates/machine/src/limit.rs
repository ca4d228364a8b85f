//! Restricts runs to their CPUs, and to their share of CPU time.
//!
//! Each child sets its own affinity. A cpuset, a quota and hotplug are set before the run, and the
//! journal restores the previous state. Other modules choose the CPUs.

mod hotplug;

use morecores_study::{CpuSet, Limit, Point};
use tracing::debug;

use crate::cgroup::{GroupError, StudyGroup};
use crate::undo::{Journal, JournalError};

pub use hotplug::{Hotplug, HotplugError};

/// Reason for which runs cannot be restricted to their CPUs.
#[derive(Debug, thiserror::Error)]
pub enum LimitError {
    /// The cgroup of the limit could not be created or set.
    #[error(transparent)]
    Group(#[from] GroupError),
    /// CPUs could not be switched.
    #[error(transparent)]
    Hotplug(#[from] HotplugError),
    /// The change could not be noted in the journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// Active method of restricting runs to their CPUs.
#[derive(Debug)]
pub enum Limiter {
    /// Each child sets its own affinity.
    Affinity,
    /// The study's cgroup restricts its members.
    Cpuset {
        /// CPUs of the cpuset now.
        current: CpuSet,
    },
    /// The other CPUs are offline.
    Hotplug(Hotplug),
    /// The study's cgroup has a quota, and each child sets its own affinity.
    Quota,
}

impl Limiter {
    /// Checks that the method is available, before any change to the machine.
    ///
    /// # Errors
    /// The method is not available; the message says what would help.
    pub fn new(limit: Limit, journal: &mut Journal) -> Result<Self, LimitError> {
        Ok(match limit {
            Limit::Affinity => Self::Affinity,
            Limit::Cpuset => Self::Cpuset { current: CpuSet::new() },
            Limit::Hotplug => Self::Hotplug(Hotplug::prepare(journal)?),
            Limit::Quota => Self::Quota,
        })
    }

    /// Allots the CPUs and the quota of `point` to the next run; returns true if the online or
    /// usable CPUs of the machine changed.
    ///
    /// # Errors
    /// A refusal by the kernel.
    pub fn allot(&mut self, point: &Point, group: Option<&StudyGroup>) -> Result<bool, LimitError> {
        let cpus = &point.cpu_set;
        let none = |controller| GroupError::NoController { controller, why: "there is no cgroup".to_owned() };
        match self {
            Self::Affinity => Ok(false),
            Self::Quota => {
                let group = group.ok_or_else(|| none("cpu"))?;
                point.quota().map_or(Ok(()), |quota| group.set_quota(quota))?;
                Ok(false)
            }
            Self::Cpuset { current } if current == cpus => Ok(false),
            Self::Cpuset { current } => {
                let group = group.ok_or_else(|| none("cpuset"))?;
                group.set_cpus(cpus)?;
                debug!("the cpuset of the command has CPUs {cpus}");
                current.clone_from(cpus);
                Ok(true)
            }
            Self::Hotplug(hotplug) => Ok(hotplug.keep_online(cpus)?),
        }
    }

    /// Affinity that a child sets for itself, if any.
    pub fn child_affinity<'a>(&self, cpus: &'a CpuSet) -> Option<&'a CpuSet> {
        matches!(self, Self::Affinity | Self::Quota).then_some(cpus)
    }
}
