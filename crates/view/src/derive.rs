//! Derived view of a study: every figure that is computed from the runs, in one place.
//!
//! Only timed runs that succeeded count. No estimate includes a failed run or a warm-up, or a round
//! that others disturbed if enough rounds are quiet.

mod point;
mod traces;
mod warning_list;
mod warnings;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use crate::{Estimate, Measurement, PointView, TraceView, VIEW_SCHEMA, Verdict, View, cell_views, verdict};
use morecores_statistics::{Design, Interval, Rounds, run_speedups, speedup};
use morecores_study::{FurtherMetric, InCell, Metric, Phase, Plan, Run, Study};

use crate::efficiency::efficiencies;
use crate::memory::memory_limit;
use crate::quota::quota_comparison;
use crate::ranking::rankings;
use crate::rounds::{disturbed_rounds, round_rule, without_disturbed_rounds};
use crate::sample::Sample;
use crate::stack::speedup_stacks;
use crate::traced_runs::{TracedRuns, traced_runs};
use crate::types::{find_base, find_in_cell};
use warnings::study_warnings;

/// Computes the view of a study, finished or not, from its runs and from the views of its traced
/// runs. Of several traces of a cell the first is the one to show: see
/// [`order_of_traces`](crate::order_of_traces).
pub fn view(study: &Study, traces: &[TraceView]) -> View {
    let quiet = without_disturbed_rounds(study);
    let with_disturbed = match &quiet {
        Cow::Owned(_) => Some(view_of_runs(study, traces).verdict),
        Cow::Borrowed(_) => None,
    };
    View {
        disturbed_rounds: disturbed_rounds(study).into_iter().collect(),
        verdict_with_disturbed: with_disturbed,
        ..view_of_runs(&quiet, traces)
    }
}

/// Computes the view from all timed runs of a study, whatever disturbed them.
fn view_of_runs(study: &Study, traces: &[TraceView]) -> View {
    let header = &study.header;
    let samples: Vec<Sample<'_>> = header.plan.points.iter().map(|point| Sample::new(study, point)).collect();
    let design = Design::from_stop(&header.plan.stop);
    let plan = plan_with_printed_units(study);
    let measured = || samples.iter().filter(|sample| !sample.runs.is_empty());
    let base = |sample| find_base(measured(), &Sample::cell(sample)).unwrap_or(sample);
    let mut points: Vec<_> =
        measured().map(|sample| sample.point_view(base(sample), &plan, design)).collect();
    for place in 0..points.len() {
        points[place].ratio_to_larger = ratio_to_larger(&points[place], &points, &samples, &plan, design);
    }
    let all_traces = traces::with_overhead(&points, traces);
    let traced_runs = traced_runs(&all_traces);
    let traces: Vec<TraceView> = traced_runs.iter().map(TracedRuns::to_view).collect();
    let mut warnings = study_warnings(study, &samples, &points);
    // A prediction reports what spoils a traced run that is no measured point.
    let point_traces = traces.iter().filter(|trace| points.is_empty() || trace.overhead.is_some());
    for trace in point_traces {
        warnings.extend_from_trace(&trace.cell(), traces::trace_warnings(trace));
    }
    let online = header.host.topology.online.len() as u32;
    let tells_n = header.plan.tells_n(&header.subject);
    warnings.extend(None, traces::oversubscribed_bases(&points, &traces, online, tells_n));
    let stack = speedup_stacks(&points, &traced_runs, plan.scaling);
    let efficiencies = efficiencies(&points, &traced_runs);
    let counted = study.runs.iter().filter(|run| run.phase == Phase::Timed && run.counts(&header.plan));
    let rankings = rankings(&samples, &plan, design, memory_limit(study));
    let quota = quota_comparison(&samples, &rankings, &traces, &plan, tells_n, design);
    let cells = cell_views(&header.plan.experiment(), counted, |run| measurements(run, &plan));
    let mut view = View {
        schema: VIEW_SCHEMA.to_owned(),
        tool: header.tool.clone(),
        command: header.subject.words(),
        host: header.host.clone(),
        plan: header.plan.clone(),
        closing: header.closing.clone(),
        verdict: Verdict::default(),
        disturbed_rounds: Vec::new(),
        verdict_with_disturbed: None,
        points,
        rankings,
        quota,
        cells,
        traces,
        stack,
        efficiencies,
        prediction: None,
        rounds_until_precise: rounds_until_precise(&header.plan, &samples),
        warnings: warnings.into_warnings(),
    };
    view.verdict = verdict(&view.at_best_n());
    view
}

/// Returns the ratio of a point's speedup to that of the fastest of `others` with more CPUs and the
/// same values on further axes.
fn ratio_to_larger(
    point: &PointView,
    others: &[PointView],
    samples: &[Sample<'_>],
    plan: &Plan,
    design: Design,
) -> Option<Estimate> {
    let is_larger = |other: &&PointView| other.cpus > point.cpus && other.axes == point.axes;
    let larger = others.iter().filter(is_larger);
    let fastest = larger.max_by(|a, b| a.speedup.value.total_cmp(&b.speedup.value))?;
    let values = |point: &PointView| Some(find_in_cell(samples, &point.cell())?.round_values());
    let work_growth = plan.scaling.work(point.n) / plan.scaling.work(fastest.n);
    let ratio = speedup(&values(fastest)?, &values(point)?, plan.better(), design)?.times(work_growth);
    Some(Estimate { value: ratio.value, ci95: ratio.interval.map(Interval::ends) })
}

/// Returns the speedup of each timed run, in the order of the study. It is the ratio to the base's
/// run of the same round, or to the median of the base if no round pairs the runs. None for a
/// failed run, and for a run without a pair.
pub fn timed_run_speedups(study: &Study) -> Vec<Option<f64>> {
    let plan = &study.header.plan;
    let samples: Vec<Sample<'_>> = plan.points.iter().map(|point| Sample::new(study, point)).collect();
    let measured = || samples.iter().filter(|sample| !sample.runs.is_empty());
    let speedups = measured().flat_map(|sample| {
        let base = find_base(measured(), &sample.cell()).unwrap_or(sample);
        let speedups = run_speedups(&base.round_values(), &sample.round_values(), plan.better());
        let work_growth = plan.scaling.work(sample.point.n) / plan.scaling.work(base.point.n);
        let scaled = speedups.into_iter().map(move |speedup| Some(speedup? * work_growth));
        sample.runs.iter().map(|run| run.index).zip(scaled)
    });
    let by_run: HashMap<u32, Option<f64>> = speedups.collect();
    let timed = study.runs.iter().filter(|run| run.phase == Phase::Timed);
    timed.map(|run| by_run.get(&run.index).copied().flatten()).collect()
}

/// Returns the number of rounds at which the goal of the plan would probably be reached.
fn rounds_until_precise(plan: &Plan, samples: &[Sample<'_>]) -> Option<u32> {
    let samples: Vec<_> = samples.iter().map(Sample::round_values).collect();
    let (rule, none) = (round_rule(plan), BTreeSet::new());
    let asked = rule.samples(&Rounds { made: 0, samples: &samples, disturbed: &none });
    Some(rule.stopping()?.rounds_needed(&asked)? as u32)
}

/// Returns the figures of a run: the elapsed time, the CPU time of the tree, and the metrics.
fn measurements<'plan>(run: &Run, plan: &'plan Plan) -> Vec<Measurement<'plan>> {
    let seconds = |name, value: f64| Measurement { name, unit: Some("s"), value };
    let cpu_time = run.cpu.user_ns + run.cpu.system_ns;
    let metric = plan.metric.iter().filter_map(|Metric { name, unit, .. }| {
        let name = name.as_deref().unwrap_or("metric");
        Some(Measurement { name, unit: unit.as_deref(), value: run.metric? })
    });
    let further = plan.further_metrics.iter().filter_map(|FurtherMetric { name, unit, .. }| {
        Some(Measurement { name, unit: unit.as_deref(), value: run.figure(name)? })
    });
    let times =
        [seconds("elapsed", run.elapsed_ns.as_secs_f64()), seconds("cpu_time", cpu_time.as_secs_f64())];
    times.into_iter().chain(metric).chain(further).collect()
}

/// Returns the plan with units for the metrics that have none from the user. The unit is the one
/// that the command printed with the first figure, to which the other figures were converted.
fn plan_with_printed_units(study: &Study) -> Plan {
    let mut plan = study.header.plan.clone();
    let printed_unit = |name: Option<&str>| {
        let mut figures = study.runs.iter().flat_map(|run| &run.figures);
        figures.find(|figure| figure.name.as_deref() == name)?.unit.clone()
    };
    if let Some(metric) = &mut plan.metric {
        let printed = printed_unit(metric.name.as_deref());
        metric.unit = metric.unit.take().or(printed);
    }
    for metric in &mut plan.further_metrics {
        let printed = printed_unit(Some(&metric.name));
        metric.unit = metric.unit.take().or(printed);
    }
    plan
}
