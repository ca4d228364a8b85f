//! Difference between two speedup stacks: the growth of each component, with its interval.
//!
//! This module reads finished views only.

use morecores_statistics::Interval;
use morecores_study::{Cell, InCell};

use crate::{ComparedStack, Component, ComponentIntervals, StackView, View};

use super::distinctive_coordinates;
use super::ratios::difference_interval;
use crate::stack::{covered_components, culprits, losses};

/// Compares the stacks of each cell that has one over the same base in both studies.
pub(super) fn compare_stacks(base: &View, new: &View) -> Vec<ComparedStack> {
    let compare = |new_stack: &StackView| {
        let is_same = |stack: &&StackView| {
            stack.cell() == new_stack.cell() && stack.base_cell() == new_stack.base_cell()
        };
        let base_stack = base.stack.iter().find(is_same)?;
        let has_spread = [base, new].iter().all(|view| has_traced_repeatedly(view, new_stack));
        Some(compare_stack(base_stack, new_stack, has_spread))
    };
    new.stack.iter().filter_map(compare).collect()
}

/// Whether both cells of a stack have several traced runs. The interval of a loss from a single
/// traced run lacks the spread between runs, so it cannot tell a difference from noise.
fn has_traced_repeatedly(view: &View, stack: &StackView) -> bool {
    let is_repeated = |cell: Cell| view.trace(&cell).is_some_and(|trace| trace.runs > 1);
    is_repeated(stack.cell()) && is_repeated(stack.base_cell())
}

fn compare_stack(base: &StackView, new: &StackView, has_spread: bool) -> ComparedStack {
    let intervals = base.losses_ci95.zip(new.losses_ci95).filter(|_| has_spread);
    ComparedStack {
        cpus: new.cpus,
        axes: distinctive_coordinates(new),
        base_speedup: base.speedup * f64::from(base.base_cpus),
        new_speedup: new.speedup * f64::from(new.base_cpus),
        grown: losses(|c| c.loss(&new.losses), |c| c.loss(&base.losses), |new, base| new - base),
        grown_ci95: intervals.map(|(of_base, of_new)| growth_intervals((base, of_base), (new, of_new))),
        culprits: culprits(&new.culprits, &base.culprits, |new, base| new - base),
    }
}

/// Computes the 95% interval of each growth. The two studies are independent.
fn growth_intervals(
    base: (&StackView, ComponentIntervals),
    new: (&StackView, ComponentIntervals),
) -> ComponentIntervals {
    let is_known = |c: Component| c.loss(&base.0.losses).is_some() && c.loss(&new.0.losses).is_some();
    ComponentIntervals::from_ends(|component| {
        let parts = covered_components(component, is_known)?;
        Some(difference_interval(total_loss(new, &parts)?, total_loss(base, &parts)?).ends())
    })
}

/// Sum of the losses of several components, with its interval. None if no interval is known. The
/// distances are added, because the speedup moves all losses in the same direction.
fn total_loss(
    (stack, intervals): (&StackView, ComponentIntervals),
    parts: &[Component],
) -> Option<(f64, Interval)> {
    let known = parts.iter().filter_map(|part| {
        let [lo, hi] = part.interval(&intervals)?;
        Some((part.loss(&stack.losses)?, Interval { lo, hi }))
    });
    known.reduce(|(sum, whole), (loss, part)| {
        (sum + loss, Interval { lo: whole.lo + part.lo, hi: whole.hi + part.hi })
    })
}
