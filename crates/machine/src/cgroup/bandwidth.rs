//! CPU bandwidth of the study's cgroup: its quota, and the periods in which the quota throttled it.
//!
//! A quota is CPU time for each period (Documentation/scheduler/sched-bwc.rst). The period is that
//! of container engines: `docker run --cpus` and the CPU limits of Kubernetes leave the kernel's
//! default.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use morecores_study::{Bandwidth, Nanos, QuotaPercent};
use tracing::debug;

use super::counters::Counter;
use super::hierarchies::Version;

/// Length of a period, in microseconds: the kernel's default.
const PERIOD_US: u64 = 100_000;

/// Quota of a cgroup, and the counters of its throttling.
#[derive(Debug)]
pub(super) struct BandwidthLimit {
    dir: PathBuf,
    version: Version,
    stat: Counter,
    /// `cgroup.procs`, to which a child of the measuring thread writes "0" to join the cgroup.
    /// Absent in version 2, where children are born in it.
    joined: Option<File>,
}

impl BandwidthLimit {
    /// Limit by version 2; `None` if the cgroup lacks the controller.
    pub(super) fn v2(dir: &Path) -> Option<Self> {
        dir.join("cpu.max").exists().then_some(())?;
        let stat = Counter::open(dir.join("cpu.stat"))?;
        Some(Self { dir: dir.to_owned(), version: Version::V2, stat, joined: None })
    }

    /// Limit by version 1; `None` if the cgroup lacks the controller, or may not be joined.
    pub(super) fn v1(dir: &Path) -> Option<Self> {
        dir.join("cpu.cfs_quota_us").exists().then_some(())?;
        let stat = Counter::open(dir.join("cpu.stat"))?;
        let joined = Some(File::options().write(true).open(dir.join("cgroup.procs")).ok()?);
        Some(Self { dir: dir.to_owned(), version: Version::V1, stat, joined })
    }

    /// Sets the quota. The kernel gives the cgroup the whole quota of a period at once, also if the
    /// value stays: each run begins alike.
    pub(super) fn set(&self, quota: QuotaPercent) -> io::Result<()> {
        let microseconds = u64::from(quota.0) * PERIOD_US / 100;
        debug!("{}: {microseconds} µs in each period of {PERIOD_US} µs", self.dir.display());
        match self.version {
            Version::V1 => fs::write(self.file(), microseconds.to_string()),
            Version::V2 => fs::write(self.file(), format!("{microseconds} {PERIOD_US}")),
        }
    }

    /// File of the quota.
    pub(super) fn file(&self) -> PathBuf {
        self.dir.join(match self.version {
            Version::V1 => "cpu.cfs_quota_us",
            Version::V2 => "cpu.max",
        })
    }

    /// Periods and throttled time since the cgroup was created.
    pub(super) fn read(&mut self) -> Option<Bandwidth> {
        let throttled = match self.version {
            Version::V1 => "throttled_time",
            Version::V2 => "throttled_usec",
        };
        let [periods, throttled_periods, time] =
            self.stat.fields(["nr_periods", "nr_throttled", throttled])?;
        let throttled_ns = match self.version {
            Version::V1 => Nanos(time?),
            Version::V2 => Nanos::from_micros(time?),
        };
        Some(Bandwidth { periods: periods?, throttled_periods: throttled_periods?, throttled_ns })
    }

    /// File that a child of the measuring thread writes "0" to before its program begins.
    pub(super) fn joined(&self) -> Option<BorrowedFd<'_>> {
        self.joined.as_ref().map(AsFd::as_fd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cgroup(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(dir.path().join(name), text).unwrap();
        }
        dir
    }

    #[test]
    fn a_quota_is_written_in_the_form_of_each_version() {
        let stat = ("cpu.stat", "usage_usec 9\nnr_periods 20\nnr_throttled 8\nthrottled_usec 31\n");
        let dir = cgroup(&[("cpu.max", "max 100000\n"), stat]);
        let mut limit = BandwidthLimit::v2(dir.path()).unwrap();
        limit.set(QuotaPercent(150)).unwrap();
        assert_eq!(fs::read_to_string(limit.file()).unwrap(), "150000 100000");
        let used = Bandwidth { periods: 20, throttled_periods: 8, throttled_ns: Nanos(31_000) };
        assert_eq!(limit.read(), Some(used));
        assert!(limit.joined().is_none());

        let stat = ("cpu.stat", "nr_periods 20\nnr_throttled 8\nthrottled_time 31\n");
        let dir = cgroup(&[("cpu.cfs_quota_us", "-1\n"), stat, ("cgroup.procs", "")]);
        let mut limit = BandwidthLimit::v1(dir.path()).unwrap();
        limit.set(QuotaPercent(5)).unwrap();
        assert_eq!(fs::read_to_string(limit.file()).unwrap(), "5000");
        assert_eq!(limit.read(), Some(Bandwidth { throttled_ns: Nanos(31), ..used }));
        assert!(limit.joined().is_some());
    }

    #[test]
    fn a_cgroup_without_the_controller_has_no_limit() {
        let dir = cgroup(&[("cpu.stat", "usage_usec 9\n")]);
        assert!(BandwidthLimit::v2(dir.path()).is_none() && BandwidthLimit::v1(dir.path()).is_none());
    }
}
