//! CPUs that a command may use, and every restriction that reduces them.
//!
//! A restriction is a fact with the file from which it was read. The code that reads all
//! restrictions computes their combined effect.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{CpuSet, Limit, Nanos};

/// CPUs that may be used, the number of CPUs that can run at once, and the reasons for the limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Usable {
    /// Online CPUs that the affinity mask and all cpusets allow.
    pub cpus: CpuSet,
    /// Number of CPUs that can run at full speed at once: the smaller of the number of `cpus` and
    /// the smallest quota. The quota is rounded down, but to at least 1. Otherwise, under a quota
    /// of 2.5, the last of 3 CPUs would be throttled half of the time. The curve would then show
    /// the quota instead of the program. Up to all of `cpus` can be allotted.
    pub count: usize,
    /// Smallest quota in force, unrounded, in CPUs; absent if there is no quota.
    pub quota_cpus: Option<f64>,
    /// All restrictions found, including those hidden by a narrower one.
    pub restrictions: Vec<Restriction>,
}

impl Usable {
    /// Largest count that is measured by default. The count is 2 if a quota supplies one whole CPU
    /// and a part of another, because a single count shows nothing.
    pub fn default_count(&self) -> usize {
        let part = self.count == 1 && self.quota_cpus.is_some_and(|quota| quota > 1.0);
        if part { self.cpus.len().min(2) } else { self.count }
    }

    /// Restrictions that make the count smaller than the number of CPUs in the machine. They are
    /// those that remove CPUs, and the quotas below the number of remaining CPUs.
    pub fn binding_restrictions(&self) -> impl Iterator<Item = &Restriction> + '_ {
        self.restrictions.iter().filter(|restriction| match restriction {
            Restriction::Offline { .. } | Restriction::Affinity { .. } | Restriction::Cpuset { .. } => true,
            Restriction::Quota { quota, .. } => quota.cpus() < self.cpus.len() as f64,
            Restriction::Isolated { .. } | Restriction::NotBalanced { .. } | Restriction::NohzFull { .. } => {
                false
            }
        })
    }

    /// Usable CPUs that are not load-balanced if `limit` holds the runs to them. A version 1 cpuset
    /// made for the runs has balancing on; balancing has no effect on CPUs isolated at boot.
    pub fn not_balanced(&self, limit: Limit) -> CpuSet {
        let of = |restriction: &Restriction| match restriction {
            Restriction::Isolated { cpus } => cpus.clone(),
            Restriction::NotBalanced { cpus, .. } if limit != Limit::Cpuset => cpus.clone(),
            _ => CpuSet::new(),
        };
        let all = self.restrictions.iter().map(of).fold(CpuSet::new(), |all, cpus| all.union(&cpus));
        all.intersection(&self.cpus)
    }
}

/// Restriction that denies a command CPUs, or time on them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Restriction {
    /// CPUs that are present but switched off.
    Offline {
        /// CPUs that are switched off.
        cpus: CpuSet,
        /// Whether SMT as a whole was switched off (`/sys/devices/system/cpu/smt/control`).
        smt_off: bool,
    },
    /// Affinity mask that excludes online CPUs which the cpusets would allow.
    Affinity {
        /// Online CPUs that the mask allows.
        cpus: CpuSet,
    },
    /// Cpuset that excludes online CPUs.
    Cpuset {
        /// Cgroup that sets the cpuset.
        level: CgroupLevel,
        /// Online CPUs that the cpuset allows.
        cpus: CpuSet,
        /// File that states the restriction.
        file: String,
    },
    /// Limit on the CPU time of a cgroup.
    Quota {
        /// Cgroup that has the quota.
        level: CgroupLevel,
        /// Amount of CPU time.
        quota: Quota,
        /// File that states the restriction.
        file: String,
    },
    /// CPUs excluded from the scheduler's load balancing at boot (`isolcpus`). Only threads bound
    /// to these CPUs use them, and the scheduler does not move those threads. This is information,
    /// not a limit.
    Isolated {
        /// Isolated CPUs.
        cpus: CpuSet,
    },
    /// CPUs whose cpusets, from the process's own up to the root, all have
    /// `cpuset.sched_load_balance` off (version 1). The scheduler moves no ready thread between
    /// these CPUs. This is information, not a limit.
    NotBalanced {
        /// CPUs without load balancing.
        cpus: CpuSet,
        /// File of the process's own cpuset.
        file: String,
    },
    /// CPUs without a periodic tick while one thread runs (`nohz_full`). On these CPUs, user and
    /// system times are measured at every mode switch instead of estimated. This is information,
    /// not a limit.
    NohzFull {
        /// CPUs without a periodic tick.
        cpus: CpuSet,
    },
}

/// Distance of a cgroup from the process: 0 is the process's own cgroup, 1 its parent, and so on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(transparent)]
pub struct CgroupLevel(pub u32);

/// CPU time allowed in every period, over all CPUs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Quota {
    /// CPU time allowed in a period.
    pub time: Nanos,
    /// Length of a period; never zero.
    pub period: Nanos,
}

impl Quota {
    /// Number of CPUs that the quota keeps busy.
    pub fn cpus(self) -> f64 {
        self.time.0 as f64 / self.period.0 as f64
    }

    /// Number of whole CPUs that the quota keeps busy, at least 1.
    pub fn whole_cpus(self) -> usize {
        // Integers keep this exact: 300 ms of 100 ms must be 3 and not slightly less.
        usize::try_from(self.time.0 / self.period.0.max(1)).unwrap_or(usize::MAX).max(1)
    }
}

impl fmt::Display for CgroupLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("own cgroup"),
            1 => f.write_str("parent cgroup"),
            n => write!(f, "cgroup {n} levels up"),
        }
    }
}

impl fmt::Display for Quota {
    /// Writes text such as `2.5 CPUs, 250 ms in every 100 ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cpus = (self.cpus() * 1000.0).round() / 1000.0;
        let ms = |time: Nanos| (time.as_secs_f64() * 1e6).round() / 1e3;
        let unit = if cpus == 1.0 { "CPU" } else { "CPUs" };
        write!(f, "{cpus} {unit}, {} ms in every {} ms", ms(self.time), ms(self.period))
    }
}

impl fmt::Display for Restriction {
    /// Writes one clause without a full stop, such as `affinity mask allows CPUs 0-3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offline { cpus, smt_off: false } => write!(f, "{} offline", cpus_text(cpus)),
            Self::Offline { cpus, smt_off: true } => {
                write!(f, "SMT switched off: {} offline", cpus_text(cpus))
            }
            Self::Affinity { cpus } => write!(f, "affinity mask allows {}", cpus_text(cpus)),
            Self::Cpuset { level, cpus, file } => {
                write!(f, "cpuset of {level} allows {} ({file})", cpus_text(cpus))
            }
            Self::Quota { level, quota, file } => write!(f, "quota of {level} is {quota} ({file})"),
            Self::Isolated { cpus } => {
                write!(
                    f,
                    "isolcpus: {} not load-balanced, used only by threads bound to them",
                    cpus_text(cpus)
                )
            }
            Self::NotBalanced { cpus, file } => {
                write!(f, "{} not load-balanced: threads stay where they start ({file})", cpus_text(cpus))
            }
            Self::NohzFull { cpus } => write!(f, "nohz_full: {} without a periodic tick", cpus_text(cpus)),
        }
    }
}

/// Text for a set: `CPU 3`, `CPUs 0-3` or `no CPU`.
fn cpus_text(cpus: &CpuSet) -> String {
    match cpus.len() {
        0 => "no CPU".to_owned(),
        1 => format!("CPU {cpus}"),
        _ => format!("CPUs {cpus}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota(time_us: u64, period_us: u64) -> Quota {
        Quota { time: Nanos::from_micros(time_us), period: Nanos::from_micros(period_us) }
    }

    #[test]
    fn quotas_round_down_but_never_to_nothing() {
        let whole = [(300_000, 100_000), (299_999, 100_000), (250_000, 100_000), (1_000, 100_000)];
        assert_eq!(whole.map(|(time, period)| quota(time, period).whole_cpus()), [3, 2, 2, 1]);
        assert_eq!(quota(150_000, 100_000).cpus(), 1.5);
        assert_eq!(quota(150_000, 100_000).to_string(), "1.5 CPUs, 150 ms in every 100 ms");
        assert_eq!(quota(20_000, 20_000).to_string(), "1 CPU, 20 ms in every 20 ms");
    }

    #[test]
    fn a_fractional_second_cpu_is_measured_beside_a_whole_one() {
        let default = |cpus: &str, count, quota_cpus| {
            let cpus = cpus.parse().unwrap();
            Usable { cpus, count, quota_cpus, restrictions: Vec::new() }.default_count()
        };
        assert_eq!(default("0-3", 1, Some(1.5)), 2);
        assert_eq!(default("0", 1, Some(1.5)), 1);
        assert_eq!(default("0-3", 1, Some(1.0)), 1);
        assert_eq!(default("0-3", 1, Some(0.5)), 1);
        assert_eq!(default("0-3", 2, Some(2.5)), 2);
        assert_eq!(default("0-3", 4, None), 4);
    }

    #[test]
    fn a_quota_above_the_remaining_cpus_is_not_a_restriction() {
        let file = "/sys/fs/cgroup/cpu.max".to_owned();
        let of =
            |time| Restriction::Quota { level: CgroupLevel(1), quota: quota(time, 100), file: file.clone() };
        let usable = Usable {
            cpus: "0-3".parse().unwrap(),
            count: 2,
            quota_cpus: Some(2.5),
            restrictions: vec![of(250), of(800), Restriction::Isolated { cpus: "3".parse().unwrap() }],
        };
        assert_eq!(usable.binding_restrictions().cloned().collect::<Vec<_>>(), [of(250)]);
    }
}
