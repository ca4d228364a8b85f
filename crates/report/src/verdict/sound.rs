//! Whether the CPU counts of a study are what they say: without that no speedup is one.
//!
//! Pure: no words here, and no thresholds but the choices below.

use morecores_view::{OutsideEvidence, View, Warning};

use super::decide::is_more_than_ideal;
use super::{Crowd, Outside};

/// Share of the allotted CPUs' time spent on other CPUs from which a count is not what it says. A choice: the share
/// that others may take before a verdict is doubtful.
const OUTSIDE: f64 = 0.05;

/// The count at which the command was held to its CPUs least, where that spoils the comparison.
pub(crate) fn outside(view: &View) -> Option<Outside> {
    let found = view.warnings.iter().filter_map(|warning| match *warning {
        Warning::RanOutsideCpus { cpus, share, evidence } if share > OUTSIDE => {
            Some(Outside { cpus, share, at_least: evidence == OutsideEvidence::CpuTime })
        }
        _ => None,
    });
    found.max_by(|a, b| a.share.total_cmp(&b.share))
}

/// The threads of the smallest count, where they were more than its CPUs.
pub(crate) fn crowd(view: &View) -> Option<Crowd> {
    view.warnings.iter().find_map(|warning| match warning {
        Warning::CrowdedBase { cpus, workers, machine_sized, told } => {
            Some(Crowd { cpus: *cpus, workers: workers.clone(), machine_sized: *machine_sized, told: *told })
        }
        _ => None,
    })
}

/// The same where it spoils the comparison: where the command would run fewer threads on a machine of that size, or is
/// so much slower there that the threads must have been in each other's way. A number of threads that a user chose,
/// as of a server, is part of what is measured.
pub(crate) fn no_baseline(view: &View) -> Option<Crowd> {
    let [base, .., largest] = view.points.as_slice() else { return None };
    crowd(view).filter(|crowd| crowd.machine_sized || is_more_than_ideal(base, largest))
}
