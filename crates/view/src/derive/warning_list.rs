//! Warnings of a study, each with the cell that it concerns.
//!
//! The published warnings name the CPU count alone. While they are collected, the cell tells apart
//! the warnings of cells that differ in another axis. This module decides on no warning.

use crate::Warning;
use morecores_study::Cell;

/// Warnings in the order in which they are shown, each with its cell; none for the whole study.
#[derive(Debug, Default)]
pub(super) struct WarningList(Vec<(Option<Cell>, Warning)>);

impl WarningList {
    /// Adds warnings of a cell, or of the whole study.
    pub(super) fn extend(&mut self, cell: Option<&Cell>, warnings: impl IntoIterator<Item = Warning>) {
        self.0.extend(warnings.into_iter().map(|warning| (cell.cloned(), warning)));
    }

    /// Adds the warnings of a cell's trace. The share that a trace measures replaces the lower
    /// bound from the timed runs.
    pub(super) fn extend_from_trace(&mut self, cell: &Cell, warnings: Vec<Warning>) {
        let is_share = |warning: &Warning| matches!(warning, Warning::RanOutsideCpus { .. });
        if warnings.iter().any(is_share) {
            self.0.retain(|(own, warning)| own.as_ref() != Some(cell) || !is_share(warning));
        }
        self.extend(Some(cell), warnings);
    }

    /// Warnings of a cell.
    pub(super) fn in_cell(&self, cell: &Cell) -> impl Iterator<Item = &Warning> {
        self.0.iter().filter(move |(own, _)| own.as_ref() == Some(cell)).map(|(_, warning)| warning)
    }

    /// Warnings without their cells. Cells of one CPU count may have the same warning: it stays
    /// once.
    pub(super) fn into_warnings(self) -> Vec<Warning> {
        let mut warnings: Vec<Warning> = Vec::new();
        for (_, warning) in self.0 {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        warnings
    }
}
