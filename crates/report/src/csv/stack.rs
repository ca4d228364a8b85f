//! The speedup stacks as CSV: one row a stack, in CPUs, unrounded.
//!
//! Column names are a public contract as those of the points; they are the keys of the view's JSON made flat, with
//! `loss_` before the names of the losses.

use std::io;

use morecores_record::{StackView, View};

use super::optional;
use crate::Component;

/// A column's value for a stack.
type Value = fn(&StackView) -> String;

/// The columns before the losses.
const BEFORE: &[(&str, Value)] = &[
    ("cpus", |s| s.cpus.to_string()),
    ("n", |s| s.n.to_string()),
    ("base_cpus", |s| s.base_cpus.to_string()),
    ("base_n", |s| s.base_n.to_string()),
    ("speedup", |s| s.speedup.to_string()),
];

/// The columns behind the losses.
const BEHIND: &[(&str, Value)] = &[
    ("serial_speedup", |s| optional(s.serial_speedup)),
    ("parallel_speedup", |s| optional(s.parallel_speedup)),
];

/// The name of a loss in the view.
fn key(component: Component) -> &'static str {
    match component {
        Component::UserWork => "loss_user_work",
        Component::KernelWork => "loss_kernel_work",
        Component::Interrupt => "loss_interrupt",
        Component::KernelLockSpin => "loss_kernel_lock_spin",
        Component::OtherProcesses => "loss_other_processes",
        Component::Tracer => "loss_tracer",
        Component::Steal => "loss_steal",
        Component::IdleScheduling => "loss_idle_scheduling",
        Component::IdlePinned => "loss_idle_pinned",
        Component::IdleKernelLock => "loss_idle_kernel_lock",
        Component::IdleUserLock => "loss_idle_user_lock",
        Component::IdleDisk => "loss_idle_disk",
        Component::IdlePeer => "loss_idle_peer",
        Component::IdleTimer => "loss_idle_timer",
        Component::IdleTooLittleWork => "loss_idle_too_little_work",
        Component::Unexplained => "loss_unexplained",
    }
}

/// Writes the speedup stacks as CSV with a header row: `speedup · base_cpus` and all `loss_` columns of a row add up
/// to its `cpus`.
///
/// # Errors
///
/// What `out` fails with.
pub fn stack_csv(view: &View, out: impl io::Write) -> Result<(), csv::Error> {
    let mut writer = csv::Writer::from_writer(out);
    let names = |columns: &'static [(&str, Value)]| columns.iter().map(|(name, _)| *name);
    writer.write_record(names(BEFORE).chain(Component::ALL.map(key)).chain(names(BEHIND)))?;
    for stack in &view.stack {
        let before = BEFORE.iter().map(|(_, value)| value(stack));
        let losses = Component::ALL.map(|c| c.loss(&stack.losses).to_string());
        let behind = BEHIND.iter().map(|(_, value)| value(stack));
        writer.write_record(before.chain(losses).chain(behind))?;
    }
    writer.flush()?;
    Ok(())
}
