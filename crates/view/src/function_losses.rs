//! Functions that hold the losses of a speedup stack, by the samples of the traced runs. This
//! module knows no event and no address.

use std::collections::BTreeSet;

use crate::code::{FunctionLoss, SampledLoss};
use crate::traced_runs::{FunctionKey, FunctionShares, SampledShare, TracedRuns};

/// Loss or gain below which a function has no row, in CPUs. A choice: a hundredth is half of the
/// smallest share of two CPUs that is put into words.
const LEAST_CPUS: f64 = 0.01;

/// Standard errors on each side of the estimate that hold 95% of a normal distribution.
const Z95: f64 = 1.959_964;

/// Speedup of a stack, with its 95% interval if it has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StackSpeedup {
    pub(crate) value: f64,
    pub(crate) ci95: Option<[f64; 2]>,
}

/// Losses of all functions, most lost CPUs first. Each is `a - S·b`, with the shares `a` of the
/// traced runs and `b` of the baseline's. Its interval has the distances of Zou & Donner, as those
/// of the components.
pub(crate) fn function_losses(
    runs: &TracedRuns<'_>,
    base_runs: &TracedRuns<'_>,
    speedup: StackSpeedup,
) -> Vec<FunctionLoss> {
    let (here, base) = (runs.function_shares(), base_runs.function_shares());
    if here.is_empty() || base.is_empty() {
        return Vec::new();
    }
    let keys: BTreeSet<&FunctionKey<'_>> = here.keys().chain(base.keys()).collect();
    let mut losses: Vec<FunctionLoss> = Vec::new();
    for key in keys {
        let [here, base] = [&here, &base].map(|shares| shares.get(key).copied().unwrap_or_default());
        let mut add = |loss: SampledLoss, share: fn(&FunctionShares<'_>) -> SampledShare| {
            let (lost_cpus, ci95) = difference(share(&here), share(&base), speedup);
            losses.push(FunctionLoss {
                loss,
                command: key.command.to_owned(),
                function: key.function.to_owned(),
                module: key.module.map(str::to_owned),
                source: here.source.or(base.source).map(str::to_owned),
                lost_cpus,
                ci95,
            });
        };
        add(SampledLoss::IdleTooLittleWork, |shares| shares.idle);
        // The samples of the kernel are no time in user mode.
        if key.module != Some(FunctionLoss::KERNEL) {
            add(SampledLoss::UserWork, |shares| shares.cpu);
        }
    }
    losses.retain(|loss| loss.lost_cpus.abs() >= LEAST_CPUS);
    losses.sort_by(|a, b| b.lost_cpus.total_cmp(&a.lost_cpus));
    losses
}

/// Loss of a function, and its 95% interval.
fn difference(here: SampledShare, base: SampledShare, speedup: StackSpeedup) -> (f64, [f64; 2]) {
    let lost = here.value - speedup.value * base.value;
    let spread = Z95 * here.error.hypot(speedup.value * base.error);
    let [slowest, fastest] = speedup.ci95.unwrap_or([speedup.value; 2]);
    let distance = |of_speedup: f64| spread.hypot(base.value * of_speedup);
    (lost, [lost - distance(fastest - speedup.value), lost + distance(speedup.value - slowest)])
}
