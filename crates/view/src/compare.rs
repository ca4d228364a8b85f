//! Comparison of two studies: the differences between them, told from noise.
//!
//! All ratios of a comparison share one 5% probability of error. Two studies of the same thing thus
//! show a false difference in at most one case of twenty. The number of CPU counts does not matter.
//!
//! No interval contains the changes between sessions (another machine, a reboot, another program).
//! The comparison lists the differences in the making of the two studies instead.

mod condition;
mod figure;
mod likeness;
mod ratios;
mod stacks;

use std::collections::BTreeSet;

use crate::{
    COMPARISON_SCHEMA, Compared, ComparedPoint, ComparedSpeedup, Comparison, Difference, Estimate, PointView,
    Summary, View,
};
use morecores_study::{Better, Study};
use thiserror::Error;

use crate::sample::{Sample, design};

pub use condition::{Condition, ConditionError, judge};
use ratios::{Measured, Verdicts};

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

/// Reason why two studies have no ratio.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Incomparable {
    /// A study without a successful run.
    #[error("{0}: no run succeeded, so there is nothing to compare")]
    NothingMeasured(String),
    /// No CPU count in both studies.
    #[error(
        "no CPU count is in both: BASE has {base}, NEW has {new}; measure one of them again with --cpus {base}"
    )]
    NoCommonCount {
        /// CPU counts of BASE.
        base: String,
        /// CPU counts of NEW.
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
/// [`Incomparable`] if no figure of one study has a counterpart in the other.
pub fn compare(base: Side<'_>, new: Side<'_>, at_least: f64) -> Result<Comparison, Incomparable> {
    for side in [base, new] {
        if side.view.points.is_empty() {
            return Err(Incomparable::NothingMeasured(side.name.to_owned()));
        }
    }
    let better = same_metric(base, new)?;
    let counts = |side: Side<'_>| side.view.points.iter().map(|p| p.cpus).collect::<BTreeSet<_>>();
    let (in_base, in_new) = (counts(base), counts(new));
    let common: Vec<u32> = in_base.intersection(&in_new).copied().collect();
    if common.is_empty() {
        let spelled =
            |counts: &BTreeSet<u32>| counts.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        return Err(Incomparable::NoCommonCount { base: spelled(&in_base), new: spelled(&in_new) });
    }
    let measured: Vec<Measured> = common.iter().filter_map(|cpus| measured(base, new, *cpus)).collect();
    let verdicts = Verdicts::new(&measured, better, at_least);
    let points = measured.iter().map(|here| point(base, new, here, &verdicts)).collect();
    Ok(Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        base: compared(base),
        new: compared(new),
        metric: new.view.plan.metric.as_ref().map(|m| m.unit.clone().unwrap_or_else(|| "metric".to_owned())),
        unlike: likeness::unlike(base, new, &common),
        points,
        only_base: in_base.difference(&in_new).copied().collect(),
        only_new: in_new.difference(&in_base).copied().collect(),
        stack: stacks::stacks(base.view, new.view),
        ratios: verdicts.ratios(),
        at_least,
        conditions: Vec::new(),
    })
}

/// Returns the better direction of the metric that both studies measure.
fn same_metric(base: Side<'_>, new: Side<'_>) -> Result<Better, Incomparable> {
    let about = |side: Side<'_>| {
        side.view.plan.metric.as_ref().map_or((None, Better::Lower), |m| (Some(m.unit.clone()), m.better))
    };
    let (of_base, of_new) = (about(base), about(new));
    if of_base == of_new {
        return Ok(of_base.1);
    }
    let named = |(metric, better): (Option<Option<String>>, Better)| match metric {
        None => "the elapsed time".to_owned(),
        Some(unit) => {
            let direction = if better == Better::Higher { "more" } else { "less" };
            format!("{} ({direction} is better)", unit.unwrap_or_else(|| "a metric".to_owned()))
        }
    };
    Err(Incomparable::OtherMetric { base: named(of_base), new: named(of_new) })
}

fn compared(side: Side<'_>) -> Compared {
    Compared {
        study: side.name.to_owned(),
        command: side.view.command.clone(),
        created_at_s: side.study.header.created_at_ns.as_secs_f64(),
        warnings: side.view.warnings.clone(),
    }
}

/// Collects the runs of both studies at one count.
fn measured(base: Side<'_>, new: Side<'_>, cpus: u32) -> Option<Measured> {
    let values = |side: Side<'_>| {
        let point = side.study.header.plan.points.iter().find(|point| point.cpus == cpus)?;
        Some(Sample::of(side.study, point).values())
    };
    Some(Measured {
        cpus,
        base: values(base)?,
        new: values(new)?,
        base_design: design(base.study),
        new_design: design(new.study),
    })
}

fn point(base: Side<'_>, new: Side<'_>, here: &Measured, verdicts: &Verdicts<'_>) -> ComparedPoint {
    let view = |side: Side<'_>| side.view.points.iter().find(|p| p.cpus == here.cpus).cloned();
    let summary = |point: &Option<PointView>| {
        let nothing = Summary { median: f64::NAN, mean: f64::NAN, min: f64::NAN, max: f64::NAN, ci95: None };
        point.as_ref().map_or(nothing, |p| p.metric.as_ref().map_or(p.elapsed_s, |m| m.summary))
    };
    let (in_base, in_new) = (view(base), view(new));
    let ratio = verdicts.ratio(here);
    ComparedPoint {
        cpus: here.cpus,
        base: summary(&in_base),
        new: summary(&in_new),
        base_runs: here.base.len() as u32,
        new_runs: here.new.len() as u32,
        ratio: ratio.estimate,
        noise_floor: ratio.noise_floor,
        difference: ratio.difference,
        speedup: speedup(here, verdicts),
    }
}

fn speedup(here: &Measured, verdicts: &Verdicts<'_>) -> Option<ComparedSpeedup> {
    let (base, new, ratio) = verdicts.speedup(here)?;
    Some(ComparedSpeedup { base, new, ratio: ratio.estimate, difference: ratio.difference })
}

/// Ratio, its noise floor, and its verdict.
#[derive(Clone, Copy, Debug)]
struct Ratio {
    estimate: Estimate,
    noise_floor: Option<f64>,
    difference: Difference,
}
