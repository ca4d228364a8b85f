//! Comparison of a traced program with the measurement on the same CPUs: the ratio of their elapsed
//! times, and the part of it that oversubscription explains.

use super::evidence::{Evidence, MIN_JOBS, MeasuredPoint, measured_program, point_at};
use super::traced_program::TracedProgram;

/// Relative error of a traced run's own figure for the tracer's cost.
const TRACED_DEVIATION: f64 = 0.01;

/// Traced program, with the ratios of its run to the measured configuration on the same CPUs.
#[derive(Clone, Copy, Debug)]
pub(super) struct ComparedProgram<'e> {
    pub(super) program: &'e TracedProgram,
    /// Traced run of the measured configuration on the same CPUs, if it is another run: it has one
    /// CPU per thread.
    pub(super) dedicated: Option<&'e TracedProgram>,
    /// Measured point at the traced count.
    pub(super) measured: Option<MeasuredPoint>,
    /// Ratio of the elapsed time of the program to that of the measured configuration.
    pub(super) elapsed_ratio: f64,
    /// Ratio of the CPU time of an oversubscribed run to that of a run with one CPU per thread.
    pub(super) oversubscription_cost: f64,
    /// Least ratio of the elapsed time of the program without a tracer to its traced elapsed time.
    pub(super) untraced_elapsed_ratio: f64,
}

impl<'e> ComparedProgram<'e> {
    /// Compares a program of the evidence with the measurement on the same CPUs.
    pub(super) fn new(evidence: &'e Evidence, program: &'e TracedProgram) -> Self {
        let own = measured_program(evidence, program.cpus);
        let dedicated = own.filter(|own| own.n != program.n);
        let measured = point_at(&evidence.points, program.cpus);
        let elapsed_ratio = dedicated
            .zip(measured)
            .map_or(1.0, |(own, measured)| elapsed_ratio(program, own, measured, evidence.is_time));
        let is_oversubscribed = evidence.receives_n && program.n > program.cpus;
        let oversubscription_cost =
            if is_oversubscribed { oversubscription_cost(program, own, measured) } else { 1.0 };
        // The traced time includes the tracer's cost and any slowdown of the machine since the
        // timed runs. It also includes the cost of oversubscription, which may disappear with one
        // CPU per thread.
        let untraced_elapsed_ratio = measured.filter(|_| evidence.is_time).map_or(1.0, |measured| {
            measured.elapsed * elapsed_ratio / program.net_elapsed_s / oversubscription_cost
        });
        Self { program, dedicated, measured, elapsed_ratio, oversubscription_cost, untraced_elapsed_ratio }
    }
}

/// Ratio of the elapsed time of `program` to that of the measured configuration, from the two
/// traced runs, shrunk by the variation between runs. `own` is the traced run of the measured
/// configuration.
fn elapsed_ratio(
    program: &TracedProgram,
    own: &TracedProgram,
    measured: MeasuredPoint,
    is_time: bool,
) -> f64 {
    // A disturbed traced run is not used; the measured median replaces it.
    let expected = 3.0 * (measured.deviation + TRACED_DEVIATION);
    let base = if !is_time || (own.net_elapsed_s / measured.elapsed).ln().abs() <= expected {
        own.net_elapsed_s
    } else {
        measured.elapsed
    };
    let change = (program.net_elapsed_s / base).ln();
    if !change.is_finite() {
        return 1.0;
    }
    let noise = 2.0 * (measured.deviation.powi(2) + TRACED_DEVIATION.powi(2));
    // Shrinkage keeps the part of the square that chance does not explain. For one value this is
    // a choice: James & Stein 1961 prove a gain for three values or more only.
    let kept_share = if change != 0.0 { (1.0 - noise / change.powi(2)).max(0.0) } else { 0.0 };
    (change * kept_share).exp()
}

/// Ratio of the CPU time of an oversubscribed run to that of a run with one CPU per thread.
///
/// Two causes are possible: many threads share the caches of few CPUs, or more threads have more
/// work to do. If the number of processes grew too, the ratio is divided by that growth, because
/// those processes are extra work. One trace cannot tell the causes of the rest apart.
fn oversubscription_cost(
    program: &TracedProgram,
    own: Option<&TracedProgram>,
    measured: Option<MeasuredPoint>,
) -> f64 {
    let work = |program: &TracedProgram| program.demands.program.work().as_secs_f64();
    // Processes that exist once per CPU do not count as jobs.
    let jobs = |program: &TracedProgram| program.processes.saturating_sub(program.n as usize);
    let job_growth = own.filter(|own| jobs(own) >= MIN_JOBS);
    let job_growth = job_growth.map_or(1.0, |own| jobs(program) as f64 / jobs(own) as f64).max(1.0);
    // Both traced runs include the tracer's cost, so their ratio needs no correction.
    let base = own.map(work).or_else(|| measured?.work);
    base.map_or(1.0, |base| (work(program) / base / job_growth).max(1.0))
}
