//! Whether the CPU counts of a study are what they say: without that no speedup is one.
//!
//! Pure: no words here, and no thresholds but the choices below.

use morecores_record::{OutsideEvidence, View, Warning};

use super::Outside;

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
