//! Efficiencies of the traced counts in the words of POP: parallel efficiency by its factors, and
//! computation scaling.
//!
//! Rosas, Giménez & Labarta, *Scalability prediction for fundamental performance factors*,
//! Supercomputing Frontiers and Innovations 1, 2014. This module compares finished views; it must
//! not look at events.

use morecores_statistics::{mean, mean_interval};
use morecores_study::InCell;

use crate::stack::{base_of_stack, speedup_between};
use crate::traced_runs::TracedRuns;
use crate::types::find_in_cell;
use crate::{EfficiencyTimes, EfficiencyView, Estimate, PointView};

/// Computes the efficiencies of each traced count that also has untraced runs, in the order of
/// `traces`. A count is compared with the base of its speedup stack.
pub(crate) fn efficiencies(points: &[PointView], traces: &[TracedRuns<'_>]) -> Vec<EfficiencyView> {
    let is_timed = |runs: &&TracedRuns<'_>| find_in_cell(points, &runs.cell()).is_some();
    let timed: Vec<&TracedRuns<'_>> = traces.iter().filter(is_timed).collect();
    timed.iter().filter_map(|runs| efficiency(points, &timed, runs)).collect()
}

/// Times of one run as shares of its elapsed time.
struct RunShares {
    useful: f64,
    longest_useful: f64,
    ideal: Option<f64>,
}

/// Shares of all traced runs of a count; none if a run lacks its times or took none.
fn run_shares(runs: &TracedRuns<'_>) -> Option<Vec<RunShares>> {
    let shares = |EfficiencyTimes { useful_s, longest_useful_s, ideal_s }, elapsed_s: f64| RunShares {
        useful: useful_s / elapsed_s,
        longest_useful: longest_useful_s / elapsed_s,
        ideal: ideal_s.map(|ideal_s| ideal_s / elapsed_s),
    };
    let of_run = |trace: &crate::TraceView| {
        let times = trace.efficiency_times.filter(|times| times.useful_s > 0.0 && trace.elapsed_s > 0.0);
        times.map(|times| shares(times, trace.elapsed_s))
    };
    runs.runs().map(of_run).collect()
}

/// Ratio of two mean shares, with the interval of the ratio over the runs.
fn ratio_of_means(
    shares: &[RunShares],
    over: impl Fn(&RunShares) -> Option<f64>,
    under: impl Fn(&RunShares) -> Option<f64>,
) -> Option<Estimate> {
    let column =
        |share: &dyn Fn(&RunShares) -> Option<f64>| shares.iter().map(share).collect::<Option<Vec<f64>>>();
    let (above, below) = (column(&over)?, column(&under)?);
    let ratios: Vec<f64> = above.iter().zip(&below).map(|(above, below)| above / below).collect();
    let value = mean(&above)? / mean(&below)?;
    Some(Estimate { value, ci95: mean_interval(&ratios).map(|interval| interval.ends()) })
}

fn efficiency(
    points: &[PointView],
    timed: &[&TracedRuns<'_>],
    runs: &TracedRuns<'_>,
) -> Option<EfficiencyView> {
    let (trace, shares) = (runs.shown, run_shares(runs)?);
    let cpus = f64::from(trace.cpus);
    let parallel = ratio_of_means(&shares, |share| Some(share.useful), |_| Some(cpus))?;
    let compared = base_of_stack(timed, trace).and_then(|base| compare(points, base, runs, parallel));
    Some(EfficiencyView {
        cpus: trace.cpus,
        n: trace.n,
        axes: trace.axes.clone(),
        base_cpus: compared.as_ref().map(|compared| compared.base_cpus),
        global: compared.as_ref().map(|compared| compared.global),
        parallel,
        load_balance: ratio_of_means(
            &shares,
            |share| Some(share.useful / cpus),
            |share| Some(share.longest_useful),
        )?,
        serialisation: ratio_of_means(&shares, |share| Some(share.longest_useful), |share| share.ideal),
        transfer: ratio_of_means(&shares, |share| share.ideal, |_| Some(1.0)),
        computation_scaling: compared.as_ref().map(|compared| compared.computation_scaling),
        measured: compared.map(|compared| compared.measured),
    })
}

/// Comparison of a count with its base.
struct Compared {
    base_cpus: u32,
    global: Estimate,
    computation_scaling: Estimate,
    measured: Estimate,
}

/// Compares the useful work of two counts. The shares come from the traced runs and the elapsed
/// times from the untraced ones, as in the speedup stack: then the product of all factors is the
/// measured efficiency.
fn compare(
    points: &[PointView],
    base: &TracedRuns<'_>,
    runs: &TracedRuns<'_>,
    parallel: Estimate,
) -> Option<Compared> {
    let (base_trace, trace) = (base.shown, runs.shown);
    let (base_point, point) =
        (find_in_cell(points, &base_trace.cell())?, find_in_cell(points, &trace.cell())?);
    let base_shares = run_shares(base)?;
    let base_cpus = f64::from(base_trace.cpus);
    let base_parallel = ratio_of_means(&base_shares, |share| Some(share.useful), |_| Some(base_cpus))?;
    let scale = |Estimate { value, ci95 }: Estimate, factor: f64| Estimate {
        value: value * factor,
        ci95: ci95.map(|ends| ends.map(|end| end * factor)),
    };
    let measured = scale(speedup_between(base_point, point), base_cpus / f64::from(trace.cpus));
    let is_known = measured.value.is_finite() && measured.value > 0.0;
    is_known.then(|| Compared {
        base_cpus: base_trace.cpus,
        global: scale(measured, base_parallel.value),
        computation_scaling: scale(measured, base_parallel.value / parallel.value),
        measured,
    })
}
