//! Difference between two speedup stacks: the growth of each component.
//!
//! Each stack comes from one traced run, so there is no interval. This module reads finished views
//! only.

use crate::{ComparedStack, Components, Losses, StackView, View};

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
        grown: losses(&components_in_cpus(&new.losses), &components_in_cpus(&base.losses), |new, base| {
            new - base
        }),
        culprits: culprits(&new.culprits, &base.culprits, |new, base| new - base),
    }
}

/// Puts losses, in CPUs, into the fields of their components.
fn components_in_cpus(losses: &Losses) -> Components {
    Components {
        user_work_s: losses.user_work,
        kernel_work_s: losses.kernel_work,
        interrupt_s: losses.interrupt,
        kernel_lock_spin_s: losses.kernel_lock_spin,
        other_processes_s: losses.other_processes,
        tracer_s: losses.tracer,
        steal_s: losses.steal,
        idle_scheduling_s: losses.idle_scheduling,
        idle_held_s: losses.idle_held,
        idle_pinned_s: losses.idle_pinned,
        idle_kernel_lock_s: losses.idle_kernel_lock,
        idle_user_lock_s: losses.idle_user_lock,
        idle_disk_s: losses.idle_disk,
        idle_peer_s: losses.idle_peer,
        idle_device_s: losses.idle_device,
        idle_rcu_s: losses.idle_rcu,
        idle_uninterruptible_s: losses.idle_uninterruptible,
        idle_timer_s: losses.idle_timer,
        idle_too_little_work_s: losses.idle_too_little_work,
        unexplained_s: losses.unexplained,
    }
}
