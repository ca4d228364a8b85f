//! Checks that the CPU counts of a study are the real ones; otherwise no speedup is valid.
//!
//! Pure: no words here, and no thresholds except the choices below.

use crate::{OutsideEvidence, PointView, View, Warning, Workers};

/// Share of the allotted CPUs' time spent on other CPUs, above which a count is not the real one. A
/// choice.
const LEAST_OUTSIDE_SHARE: f64 = 0.05;

/// Use of CPUs that the command was not allotted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutsideTime {
    /// CPU count of the runs.
    pub cpus: u32,
    /// CPU time on other CPUs over the time of the allotted CPUs.
    pub share: f64,
    /// Whether the share may be larger.
    pub at_least: bool,
}

/// Threads at the smallest count, where the command ran more threads than it had CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OversubscribedBase {
    /// Smallest CPU count.
    pub cpus: u32,
    /// Name and number of the threads.
    pub workers: Workers,
    /// Whether there are as many threads as the machine has CPUs.
    pub machine_sized: bool,
    /// Whether the command was told how many threads to use.
    pub gets_count: bool,
}

/// Returns the count with the largest share of time on other CPUs, if that share spoils the
/// comparison.
pub fn time_outside_cpus(view: &View) -> Option<OutsideTime> {
    let found = view.warnings.iter().filter_map(|warning| match *warning {
        Warning::RanOutsideCpus { cpus, share, evidence } if share > LEAST_OUTSIDE_SHARE => {
            Some(OutsideTime { cpus, share, at_least: evidence == OutsideEvidence::CpuTime })
        }
        _ => None,
    });
    found.max_by(|a, b| a.share.total_cmp(&b.share))
}

/// Returns the threads of the smallest count, if there were more threads than CPUs.
pub fn oversubscribed_base(view: &View) -> Option<OversubscribedBase> {
    view.warnings.iter().find_map(|warning| match warning {
        Warning::OversubscribedBase { cpus, workers, machine_sized, gets_count } => {
            Some(OversubscribedBase {
                cpus: *cpus,
                workers: workers.clone(),
                machine_sized: *machine_sized,
                gets_count: *gets_count,
            })
        }
        _ => None,
    })
}

/// Returns the threads of the smallest count, if they spoil the comparison. They do if the command
/// would run fewer threads on a machine of that size. They also do if the speedup is more than
/// ideal: the threads must then have hindered each other. A number of threads that a user chose, as
/// for a server, is part of the measurement.
pub fn invalid_baseline(view: &View) -> Option<OversubscribedBase> {
    let [base, .., largest] = view.points.as_slice() else { return None };
    oversubscribed_base(view).filter(|crowd| crowd.machine_sized || largest.is_more_than_ideal(base))
}

impl PointView {
    /// Returns whether the speedup over `base` exceeds the growth in CPUs, beyond the interval of
    /// the speedup and beyond the noise.
    pub fn is_more_than_ideal(&self, base: &PointView) -> bool {
        let ideal = f64::from(self.cpus) / f64::from(base.cpus);
        let noise = self.noise_floor.into_iter().chain(base.noise_floor).fold(0.0, f64::max);
        self.speedup.ci95.is_some_and(|[low, _]| low > ideal) && self.speedup.value / ideal - 1.0 > noise
    }
}
