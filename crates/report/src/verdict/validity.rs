//! Checks that the CPU counts of a study are the real ones; otherwise no speedup is valid.
//!
//! Pure: no words here, and no thresholds except the choices below.

use morecores_view::{OutsideEvidence, View, Warning};

use super::decide::is_more_than_ideal;
use super::{OutsideTime, OversubscribedBase};

/// Share of the allotted CPUs' time spent on other CPUs, above which a count is not the real one. A
/// choice: equal to the share that other programs may take before a verdict is doubtful.
const LEAST_OUTSIDE_SHARE: f64 = 0.05;

/// Count with the largest share of time on other CPUs, if that share spoils the comparison.
pub(crate) fn time_outside_cpus(view: &View) -> Option<OutsideTime> {
    let found = view.warnings.iter().filter_map(|warning| match *warning {
        Warning::RanOutsideCpus { cpus, share, evidence } if share > LEAST_OUTSIDE_SHARE => {
            Some(OutsideTime { cpus, share, at_least: evidence == OutsideEvidence::CpuTime })
        }
        _ => None,
    });
    found.max_by(|a, b| a.share.total_cmp(&b.share))
}

/// Threads of the smallest count, if there were more threads than CPUs.
pub(crate) fn oversubscribed_base(view: &View) -> Option<OversubscribedBase> {
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

/// Threads of the smallest count, if they spoil the comparison. They do if the command would run
/// fewer threads on a machine of that size. They also do if the speedup is more than ideal: the
/// threads must then have hindered each other. A number of threads that a user chose, as for a
/// server, is part of the measurement.
pub(crate) fn invalid_baseline(view: &View) -> Option<OversubscribedBase> {
    let [base, .., largest] = view.points.as_slice() else { return None };
    oversubscribed_base(view).filter(|crowd| crowd.machine_sized || is_more_than_ideal(base, largest))
}
