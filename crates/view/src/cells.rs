//! Figures of the cells of any study: one list for every subject and any axes.
//!
//! The subject supplies the measurements of a run. This module knows no axis and no subject.

use std::collections::BTreeMap;

use crate::{CellFigure, CellView, Estimate};
use morecores_statistics::{Design, Interval, median, median_interval};
use morecores_study::{Cell, Experiment, InCell, RunRecord};

/// One figure of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement<'a> {
    /// Name of the figure; unique among the measurements of a run.
    pub name: &'a str,
    /// Unit of the value; `None` if unknown.
    pub unit: Option<&'a str>,
    /// Value; a value that is not finite enters no median.
    pub value: f64,
}

/// Returns the measured cells in the order of the plan, with the medians of their figures. `runs`
/// holds the runs that count.
pub fn cell_views<'a, 'names, C: InCell, R: RunRecord + 'a>(
    experiment: &Experiment<C>,
    runs: impl IntoIterator<Item = &'a R>,
    measurements: impl Fn(&'a R) -> Vec<Measurement<'names>>,
) -> Vec<CellView> {
    let design = Design::from_stop(&experiment.schedule.stop);
    let mut by_cell: BTreeMap<Cell, Vec<&R>> = BTreeMap::new();
    for run in runs {
        by_cell.entry(run.cell()).or_default().push(run);
    }
    let planned = experiment.cells.iter().map(|planned| planned.cell.cell());
    let measured = planned.filter_map(|cell| by_cell.remove_entry(&cell));
    measured
        .map(|(cell, runs)| CellView {
            cell,
            runs: runs.len() as u32,
            figures: figures(runs.into_iter().flat_map(&measurements), design),
        })
        .collect()
}

/// Returns the median of each figure, in the order of the first measurements.
fn figures<'a>(measurements: impl Iterator<Item = Measurement<'a>>, design: Design) -> Vec<CellFigure> {
    let mut samples: Vec<(Measurement<'a>, Vec<f64>)> = Vec::new();
    for measurement in measurements.filter(|measurement| measurement.value.is_finite()) {
        match samples.iter_mut().find(|(first, _)| first.name == measurement.name) {
            Some((_, values)) => values.push(measurement.value),
            None => samples.push((measurement, vec![measurement.value])),
        }
    }
    let figure = |(first, values): (Measurement<'a>, Vec<f64>)| {
        let Estimate { value, ci95 } = median_estimate(&values, design)?;
        Some(CellFigure {
            name: first.name.to_owned(),
            unit: first.unit.map(ToOwned::to_owned),
            median: value,
            ci95,
        })
    };
    samples.into_iter().filter_map(figure).collect()
}

/// Returns the median of the values with its interval; `None` without a value.
pub fn median_estimate(values: &[f64], design: Design) -> Option<Estimate> {
    Some(Estimate { value: median(values)?, ci95: median_interval(values, design).map(Interval::ends) })
}
