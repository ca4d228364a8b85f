//! The components of a traced run: their names, signs and colours, and their figures in a run and
//! in a speedup stack.
//!
//! This module holds facts and access only. The modules that show components decide which to show
//! and how.

use anstyle::AnsiColor;
use morecores_view::{Components, HolderWaits, Losses, TraceView};

/// Smallest CPU time of other programs, relative to the idle time that may contain it, for the
/// report to mention it. A choice: less is within the disagreement of the CPUs' counters and the
/// trace.
const LEAST_OTHERS_SHARE: f64 = 0.1;

/// Whether idle time with ready threads may be other programs' time: the trace does not see them,
/// and they used these CPUs.
pub(crate) fn idle_includes_others(trace: &TraceView) -> bool {
    let idle = trace.components.idle_scheduling_s;
    trace.untold_others_s.is_some_and(|others| others > 0.0 && others >= LEAST_OTHERS_SHARE * idle)
}

/// CPU-seconds lost to the command's own locks while the holder waited, by the object of the
/// holder's wait.
pub(crate) fn holder_waits(trace: &TraceView) -> [(Component, f64); 3] {
    let HolderWaits { disk_s, peer_s, timer_s } = trace.behind_user_lock;
    [(Component::IdleDisk, disk_s), (Component::IdlePeer, peer_s), (Component::IdleTimer, timer_s)]
}

/// Name of the object of a wait, if the component is such a wait.
pub(crate) fn awaited_name(component: Component) -> &'static str {
    match component {
        Component::IdleDisk => "a disk",
        Component::IdlePeer => "a process that is not part of the command",
        Component::IdleTimer => "a timer",
        other => other.name(),
    }
}

/// Name of idle time with ready threads that may be other programs' time.
pub(crate) const IDLE_OR_OTHERS: &str = "idle or other processes";

/// Names, signs and colours of a part of a bar, equal in every report.
///
/// The signs of CPUs at work are dense and those of idle CPUs are light, so that a bar shows its
/// idle share at a glance. On a terminal green is for gains, blue for work, red for waits for
/// locks, yellow for time taken by others. The colours of the page can be told apart with any kind
/// of colour vision, on a light and on a dark background (after Okabe & Ito 2008, and Tol's muted
/// scheme).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// Key on the page; of a component, its key in the record without the unit.
    pub(crate) key: &'static str,
    /// Name as a part of a run.
    pub(crate) name: &'static str,
    /// Signs on a terminal with Unicode and with ASCII alone, each one column wide. No sign equals
    /// the zero mark or the axis.
    pub(crate) signs: [char; 2],
    /// Colour on a terminal.
    pub(crate) ansi: AnsiColor,
    /// Colour on the page.
    pub(crate) colour: &'static str,
}

const fn look(
    key: &'static str,
    name: &'static str,
    signs: [char; 2],
    ansi: AnsiColor,
    colour: &'static str,
) -> Look {
    Look { key, name, signs, ansi, colour }
}

/// Look of the speedup.
pub(crate) const SPEEDUP: Look = look("speedup", "speedup", ['█', '#'], AnsiColor::Green, "#0072b2");

/// Look of the components too small to be shown one by one.
pub(crate) const FOLDED: Look = look("other", "other", ['·', '+'], AnsiColor::BrightBlack, "#888888");

/// A kind of CPU time, or the CPU time that no rule explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// Work of the tree in user mode.
    UserWork,
    /// Work of the tree in the kernel.
    KernelWork,
    /// Interrupts.
    Interrupt,
    /// Time that the tree spins for kernel locks.
    KernelLockSpin,
    /// Other processes and kernel threads.
    OtherProcesses,
    /// The tracer.
    Tracer,
    /// Time taken by a hypervisor (steal).
    Steal,
    /// Idle time although a thread could have run on the CPU.
    IdleScheduling,
    /// Idle time although a thread was ready, but held back.
    IdleHeld,
    /// Idle time although a thread was ready, but pinned to other CPUs.
    IdlePinned,
    /// Idle time, waiting for a kernel lock.
    IdleKernelLock,
    /// Idle time, waiting for a user lock.
    IdleUserLock,
    /// Idle time, waiting for a disk.
    IdleDisk,
    /// Idle time, waiting for a process outside the tree.
    IdlePeer,
    /// Idle time, waiting for a device other than a disk.
    IdleDevice,
    /// Idle time, waiting for an RCU grace period.
    IdleRcu,
    /// Idle time, waiting in the kernel without an event that names the reason.
    IdleUninterruptible,
    /// Idle time, waiting for a timer.
    IdleTimer,
    /// Idle time for lack of parallel work.
    IdleTooLittleWork,
    /// CPU time that no rule explains.
    Unexplained,
}

impl Component {
    /// Every component, in the order of the record.
    pub const ALL: [Self; 20] = [
        Self::UserWork,
        Self::KernelWork,
        Self::Interrupt,
        Self::KernelLockSpin,
        Self::OtherProcesses,
        Self::Tracer,
        Self::Steal,
        Self::IdleScheduling,
        Self::IdleHeld,
        Self::IdlePinned,
        Self::IdleKernelLock,
        Self::IdleUserLock,
        Self::IdleDisk,
        Self::IdlePeer,
        Self::IdleDevice,
        Self::IdleRcu,
        Self::IdleUninterruptible,
        Self::IdleTimer,
        Self::IdleTooLittleWork,
        Self::Unexplained,
    ];

    /// CPU-seconds of the component in a traced run; none if the run cannot distinguish the
    /// component and counts it in another.
    pub fn seconds(self, components: &Components) -> Option<f64> {
        Some(match self {
            Self::UserWork => components.user_work_s,
            Self::KernelWork => components.kernel_work_s?,
            Self::Interrupt => components.interrupt_s?,
            Self::KernelLockSpin => components.kernel_lock_spin_s?,
            Self::OtherProcesses => components.other_processes_s,
            Self::Tracer => components.tracer_s,
            Self::Steal => components.steal_s?,
            Self::IdleScheduling => components.idle_scheduling_s,
            Self::IdleHeld => components.idle_held_s?,
            Self::IdlePinned => components.idle_pinned_s?,
            Self::IdleKernelLock => components.idle_kernel_lock_s?,
            Self::IdleUserLock => components.idle_user_lock_s?,
            Self::IdleDisk => components.idle_disk_s?,
            Self::IdlePeer => components.idle_peer_s?,
            Self::IdleDevice => components.idle_device_s?,
            Self::IdleRcu => components.idle_rcu_s?,
            Self::IdleUninterruptible => components.idle_uninterruptible_s?,
            Self::IdleTimer => components.idle_timer_s?,
            Self::IdleTooLittleWork => components.idle_too_little_work_s,
            Self::Unexplained => components.unexplained_s,
        })
    }

    /// Loss of the component in a speedup stack, in CPUs; none if either run cannot distinguish it.
    pub fn loss(self, losses: &Losses) -> Option<f64> {
        Some(match self {
            Self::UserWork => losses.user_work,
            Self::KernelWork => losses.kernel_work?,
            Self::Interrupt => losses.interrupt?,
            Self::KernelLockSpin => losses.kernel_lock_spin?,
            Self::OtherProcesses => losses.other_processes,
            Self::Tracer => losses.tracer,
            Self::Steal => losses.steal?,
            Self::IdleScheduling => losses.idle_scheduling,
            Self::IdleHeld => losses.idle_held?,
            Self::IdlePinned => losses.idle_pinned?,
            Self::IdleKernelLock => losses.idle_kernel_lock?,
            Self::IdleUserLock => losses.idle_user_lock?,
            Self::IdleDisk => losses.idle_disk?,
            Self::IdlePeer => losses.idle_peer?,
            Self::IdleDevice => losses.idle_device?,
            Self::IdleRcu => losses.idle_rcu?,
            Self::IdleUninterruptible => losses.idle_uninterruptible?,
            Self::IdleTimer => losses.idle_timer?,
            Self::IdleTooLittleWork => losses.idle_too_little_work,
            Self::Unexplained => losses.unexplained,
        })
    }

    /// Names, signs and colours of the component.
    pub(crate) const fn look(self) -> Look {
        use AnsiColor::*;
        match self {
            Self::UserWork => look("user_work", "work in user mode", ['▓', 'u'], BrightBlue, "#56b4e9"),
            Self::KernelWork => look("kernel_work", "work in the kernel", ['▒', 'k'], Cyan, "#88ccee"),
            Self::Interrupt => look("interrupt", "interrupts", ['╫', 'i'], Cyan, "#44aa99"),
            Self::KernelLockSpin => {
                look("kernel_lock_spin", "spinning for kernel locks", ['╳', 'X'], Red, "#882255")
            }
            Self::OtherProcesses => look("other_processes", "other processes", ['╱', 'o'], Yellow, "#999933"),
            Self::Tracer => look("tracer", "the tracer", ['┼', 't'], Yellow, "#aaaaaa"),
            Self::Steal => look("steal", "stolen by the hypervisor", ['╲', 's'], Yellow, "#117733"),
            Self::IdleScheduling => {
                look("idle_scheduling", "idle: scheduling", ['┄', 'r'], BrightMagenta, "#ddcc77")
            }
            Self::IdleHeld => look("idle_held", "idle: held back", ['┬', 'h'], BrightMagenta, "#332288"),
            Self::IdlePinned => look("idle_pinned", "idle: pinned", ['┴', 'p'], BrightMagenta, "#b8860b"),
            Self::IdleKernelLock => look("idle_kernel_lock", "idle: kernel lock", ['║', 'L'], Red, "#aa4499"),
            Self::IdleUserLock => look("idle_user_lock", "idle: user lock", ['┆', 'l'], Magenta, "#cc79a7"),
            Self::IdleDisk => look("idle_disk", "idle: disk", ['═', 'd'], BrightCyan, "#009e73"),
            Self::IdlePeer => look("idle_peer", "idle: peer", ['~', 'e'], BrightCyan, "#6699cc"),
            Self::IdleDevice => look("idle_device", "idle: other device", ['╤', 'D'], BrightCyan, "#5a7d2a"),
            Self::IdleRcu => look("idle_rcu", "idle: RCU grace period", ['╥', 'R'], BrightCyan, "#cc6677"),
            Self::IdleUninterruptible => {
                look("idle_uninterruptible", "idle: uninterruptible wait", ['╪', 'U'], BrightCyan, "#661100")
            }
            Self::IdleTimer => look("idle_timer", "idle: timer", [':', ':'], BrightCyan, "#c0a0e0"),
            Self::IdleTooLittleWork => {
                look("idle_too_little_work", "idle: too little parallel work", ['░', '.'], White, "#e69f00")
            }
            Self::Unexplained => look("unexplained", "unexplained", ['?', '?'], BrightBlack, "#d55e00"),
        }
    }

    /// Name of the component as a part of a run.
    pub fn name(self) -> &'static str {
        self.look().name
    }

    /// Name of the component as a part of `trace`, which may be unable to distinguish it from
    /// another.
    pub(crate) fn name_in(self, trace: &TraceView) -> &'static str {
        match self {
            Self::IdleScheduling if idle_includes_others(trace) => IDLE_OR_OTHERS,
            other => other.name(),
        }
    }

    /// Name of the component as a loss. Of work, only the excess over the baseline is a loss.
    pub fn loss_name(self) -> &'static str {
        match self {
            Self::UserWork => "extra time in user mode",
            Self::KernelWork => "extra time in the kernel",
            _ => self.name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn all_parts_look_different() {
        let looks: Vec<Look> =
            Component::ALL.map(Component::look).into_iter().chain([SPEEDUP, FOLDED]).collect();
        let distinct = |of: fn(&Look) -> String| looks.iter().map(of).collect::<BTreeSet<_>>().len();
        assert_eq!(distinct(|look| look.key.to_owned()), looks.len());
        assert_eq!(distinct(|look| look.name.to_owned()), looks.len());
        assert_eq!(distinct(|look| look.colour.to_owned()), looks.len());
        for (index, ascii) in [(0, false), (1, true)] {
            let signs: BTreeSet<char> = looks.iter().map(|look| look.signs[index]).collect();
            assert_eq!(signs.len(), looks.len());
            let wide = |c: &char| textwrap::core::display_width(&c.to_string()) != 1;
            assert!(!signs.contains(&'│') && !signs.contains(&'|'), "the zero mark is nothing else");
            assert!(!signs.iter().any(wide) && (!ascii || signs.iter().all(char::is_ascii)));
        }
    }
}
