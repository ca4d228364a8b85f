//! Difference between two speedup stacks: the growth of each component.
//!
//! The difference has no interval. This module reads finished views only.

use crate::{ComparedStack, StackView, View};

use super::distinctive_coordinates;
use crate::stack::{culprits, losses};
use morecores_study::InCell;

/// Compares the stacks of each cell that has one over the same base in both studies.
pub(super) fn compare_stacks(base: &View, new: &View) -> Vec<ComparedStack> {
    let base_stack = |stack: &StackView| {
        base.stack.iter().find(|b| b.cell() == stack.cell() && b.base_cell() == stack.base_cell())
    };
    new.stack.iter().filter_map(|new| Some(compare_stack(base_stack(new)?, new))).collect()
}

fn compare_stack(base: &StackView, new: &StackView) -> ComparedStack {
    ComparedStack {
        cpus: new.cpus,
        axes: distinctive_coordinates(new),
        base_speedup: base.speedup * f64::from(base.base_cpus),
        new_speedup: new.speedup * f64::from(new.base_cpus),
        grown: losses(|c| c.loss(&new.losses), |c| c.loss(&base.losses), |new, base| new - base),
        culprits: culprits(&new.culprits, &base.culprits, |new, base| new - base),
    }
}
