//! Cells of a study with their figures, in one form for every subject.
//!
//! This module holds types only; `cells` computes them.

use serde::{Deserialize, Serialize};

use morecores_study::Cell;

/// Measured cell of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellView {
    /// Value on each axis.
    pub cell: Cell,
    /// Number of runs behind the figures.
    pub runs: u32,
    /// Figures of the cell, in the order of the measurements of a run.
    pub figures: Vec<CellFigure>,
}

/// Median of one figure over the runs of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellFigure {
    /// Name of the figure, such as `elapsed`.
    pub name: String,
    /// Unit of the median and of the interval; null if unknown.
    pub unit: Option<String>,
    /// Median over the runs.
    pub median: f64,
    /// 95% confidence interval of the median, `[low, high]`; null with too few runs.
    pub ci95: Option<[f64; 2]>,
}
