//! The few figures of a traced run that are one number each, in sentences.

use morecores_record::TraceView;

use crate::causes::tight_loop;
use crate::format::{percent, time};
use crate::terminal::Style;

/// The share of all CPU time from which spinning in user mode is said.
const WORTH_SAYING: f64 = 0.01;

/// Ratios with their estimators, spinning that looks like work, and work elsewhere.
pub(super) fn words(trace: &TraceView, style: &Style) -> Vec<String> {
    sentences(trace).iter().flat_map(|s| style.wrap(s, "  ")).collect()
}

fn sentences(trace: &TraceView) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(ratio) = trace.kernel_ratio {
        let by = &trace.kernel_ratio_estimator;
        sentences.push(format!("Kernel ratio {} (by {by}).", percent(ratio)));
    }
    if let Some(ratio) = trace.waiting_ratio {
        sentences.push(format!(
            "Waiting ratio {}: CPU time and sleep spent waiting for kernel locks, a lower bound.",
            percent(ratio)
        ));
    }
    if let Some(ratio) = trace.lock_ratio {
        sentences.push(format!("Lock ratio {}: CPU time spent holding kernel locks.", percent(ratio)));
    }
    let whole = f64::from(trace.cpus) * trace.elapsed_s;
    if let Some(spin) = trace.user_spin_s.filter(|s| whole > 0.0 && *s >= WORTH_SAYING * whole) {
        sentences.push(format!(
            "{} of the CPUs' time looks like work but spins in a tight loop ({} of the user time, by samples).",
            percent(spin / whole),
            percent(tight_loop(trace))
        ));
    }
    if trace.outside_cpu_s > 0.0 {
        sentences.push(format!(
            "Another {} of CPU time was spent for it outside these CPUs.",
            time(trace.outside_cpu_s)
        ));
    }
    sentences
}
