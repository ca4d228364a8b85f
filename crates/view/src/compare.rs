//! Comparison of two studies: the differences between them, as distinct from noise.
//!
//! All ratios of a comparison share one 5% probability of error (Holm). Two studies of the same
//! program therefore show a false difference in at most one case of twenty. The number of CPU
//! counts does not matter.
//!
//! No interval contains the changes between sessions (another machine, a reboot, another program).
//! The comparison lists the differences in the making of the two studies instead.

mod condition;
mod figure;
mod mismatches;
mod ratios;
mod stacks;

use std::collections::BTreeSet;

use crate::{COMPARISON_SCHEMA, ComparedPoint, ComparedSpeedup, ComparedStudy, Comparison, PointView, View};
use morecores_statistics::{Design, runs_for_joint_ratio};
use morecores_study::{Better, CPUS_AXIS, Cell, Coordinates, InCell, N_AXIS, Study};
use thiserror::Error;

use crate::rounds::without_disturbed_rounds;
use crate::sample::Sample;

pub use condition::{Condition, ConditionError, judge};
pub use figure::WhyNoInterval;
pub(crate) use ratios::log_difference;
use ratios::{CellRatios, PairedSamples, cell_ratios};

/// One of the two studies.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// Name of the study in messages.
    pub name: &'a str,
    /// Study with its runs.
    pub study: &'a Study,
    /// View derived from the study.
    pub view: &'a View,
}

impl Side<'_> {
    /// Returns the measured CPU counts.
    fn counts(&self) -> BTreeSet<u32> {
        self.view.points.iter().map(|point| point.cpus).collect()
    }
}

/// Reason why two studies have no ratio.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CompareError {
    /// A study without a successful run.
    #[error("{0}: no run succeeded, so there is nothing to compare")]
    NothingMeasured(String),
    /// No CPU count in both studies.
    #[error(
        "BASE and NEW have no CPU count in common: BASE has {base}, NEW has {new}; measure one of them again with --cpus {base}"
    )]
    NoCommonCount {
        /// CPU counts of BASE.
        base: String,
        /// CPU counts of NEW.
        new: String,
    },
    /// CPU counts in both studies, but different values on the other axes.
    #[error(
        "BASE and NEW have no cell in common: BASE has {base}; NEW has {new}; measure one of them again with the \
         values of the other"
    )]
    NoCommonCell {
        /// Cells of BASE.
        base: String,
        /// Cells of NEW.
        new: String,
    },
    /// Different metrics, or a metric in one study only.
    #[error("BASE measures {base}, NEW {new}: measure both with the same --metric, and the same direction")]
    OtherMetric {
        /// Metric of BASE.
        base: String,
        /// Metric of NEW.
        new: String,
    },
}

/// Compares `new` with `base`; a relative difference below `at_least` does not count as a
/// difference.
///
/// # Errors
///
/// [`CompareError`] if no figure of one study has a counterpart in the other.
pub fn compare(base: Side<'_>, new: Side<'_>, minimum_difference: f64) -> Result<Comparison, CompareError> {
    for side in [base, new] {
        if side.view.points.is_empty() {
            return Err(CompareError::NothingMeasured(side.name.to_owned()));
        }
    }
    let better = same_metric(base, new)?;
    let (in_base, in_new) = (base.counts(), new.counts());
    if in_base.is_disjoint(&in_new) {
        let list = |counts: &BTreeSet<u32>| counts.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        return Err(CompareError::NoCommonCount { base: list(&in_base), new: list(&in_new) });
    }
    let cells = base.view.points.iter().map(InCell::cell);
    let common: Vec<Cell> = cells.filter(|cell| new.view.point(cell).is_some()).collect();
    if common.is_empty() {
        let list = |side: Side<'_>| mismatches::cell_list(side.view.points.iter().map(InCell::cell));
        return Err(CompareError::NoCommonCell { base: list(base), new: list(new) });
    }
    let samples: Vec<PairedSamples> =
        common.into_iter().filter_map(|cell| paired_samples(base, new, cell)).collect();
    let ratios = cell_ratios(&samples, better, minimum_difference);
    let tested = ratios.len() + ratios.iter().filter(|cell| cell.speedup.is_some()).count();
    let points =
        samples.iter().zip(ratios).filter_map(|(samples, ratios)| compare_point(base, new, samples, ratios));
    let points = points.collect();
    Ok(Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        base: compared_study(base),
        new: compared_study(new),
        metric: new.view.plan.metric.as_ref().map(|m| m.unit.clone().unwrap_or_else(|| "metric".to_owned())),
        unlike: mismatches::mismatches(base, new),
        points,
        only_base: in_base.difference(&in_new).copied().collect(),
        only_new: in_new.difference(&in_base).copied().collect(),
        stack: stacks::compare_stacks(base.view, new.view),
        ratios: tested as u32,
        sufficient_runs: runs_for_joint_ratio(1.0 / tested as f64) as u32,
        at_least: minimum_difference,
        conditions: Vec::new(),
    })
}

/// Returns the better direction of the metric that both studies measure.
fn same_metric(base: Side<'_>, new: Side<'_>) -> Result<Better, CompareError> {
    let metric = |side: Side<'_>| {
        side.view.plan.metric.as_ref().map_or((None, Better::Lower), |m| (Some(m.unit.clone()), m.better))
    };
    let (base_metric, new_metric) = (metric(base), metric(new));
    if base_metric == new_metric {
        return Ok(base_metric.1);
    }
    let describe = |(metric, better): (Option<Option<String>>, Better)| match metric {
        None => "the elapsed time".to_owned(),
        Some(unit) => {
            let direction = if better == Better::Higher { "more" } else { "less" };
            format!("{} ({direction} is better)", unit.unwrap_or_else(|| "a metric".to_owned()))
        }
    };
    Err(CompareError::OtherMetric { base: describe(base_metric), new: describe(new_metric) })
}

fn compared_study(side: Side<'_>) -> ComparedStudy {
    ComparedStudy {
        study: side.name.to_owned(),
        command: side.view.command.clone(),
        created_at_s: side.study.header.created_at_ns.as_secs_f64(),
        warnings: side.view.warnings.clone(),
    }
}

/// Collects the runs of both studies in one cell.
fn paired_samples(base: Side<'_>, new: Side<'_>, cell: Cell) -> Option<PairedSamples> {
    let values = |side: Side<'_>| {
        let point = side.study.header.plan.point(&cell)?;
        Some(Sample::new(&without_disturbed_rounds(side.study), point).round_values())
    };
    Some(PairedSamples {
        base: values(base)?,
        new: values(new)?,
        cell,
        base_design: Design::from_stop(&base.study.header.plan.stop),
        new_design: Design::from_stop(&new.study.header.plan.stop),
    })
}

fn compare_point(
    base: Side<'_>,
    new: Side<'_>,
    samples: &PairedSamples,
    ratios: CellRatios,
) -> Option<ComparedPoint> {
    let summary = |point: &PointView| point.metric.as_ref().map_or(point.elapsed_s, |metric| metric.summary);
    let (in_base, in_new) = (base.view.point(&samples.cell)?, new.view.point(&samples.cell)?);
    Some(ComparedPoint {
        cpus: in_new.cpus,
        axes: distinctive_coordinates(in_new),
        base: summary(in_base),
        new: summary(in_new),
        base_runs: samples.base.len() as u32,
        new_runs: samples.new.len() as u32,
        ratio: ratios.values.estimate,
        noise_floor: samples.noise_floor(),
        difference: ratios.values.difference,
        speedup: ratios.speedup.map(|(base, new, ratio)| ComparedSpeedup {
            base,
            new,
            ratio: ratio.estimate,
            difference: ratio.difference,
        }),
    })
}

/// Returns the values on the axes that tell apart cells of one count: the further axes, and `n` if
/// it differs from the count.
fn distinctive_coordinates(object: &impl InCell) -> Coordinates {
    let cell = object.cell();
    let n = cell.get(N_AXIS).filter(|n| Some(*n) != cell.get(CPUS_AXIS));
    let mut axes = cell.further_coordinates();
    axes.extend(n.map(|n| (N_AXIS.to_owned(), n.clone())));
    axes
}
