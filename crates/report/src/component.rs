//! The components of a traced run: their names, and their figures in a run and in a speedup stack.
//!
//! This module holds names and access only. The modules that show components decide which to show
//! and how.

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

    /// Key of the component in the record, without the unit.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::UserWork => "user_work",
            Self::KernelWork => "kernel_work",
            Self::Interrupt => "interrupt",
            Self::KernelLockSpin => "kernel_lock_spin",
            Self::OtherProcesses => "other_processes",
            Self::Tracer => "tracer",
            Self::Steal => "steal",
            Self::IdleScheduling => "idle_scheduling",
            Self::IdleHeld => "idle_held",
            Self::IdlePinned => "idle_pinned",
            Self::IdleKernelLock => "idle_kernel_lock",
            Self::IdleUserLock => "idle_user_lock",
            Self::IdleDisk => "idle_disk",
            Self::IdlePeer => "idle_peer",
            Self::IdleDevice => "idle_device",
            Self::IdleRcu => "idle_rcu",
            Self::IdleUninterruptible => "idle_uninterruptible",
            Self::IdleTimer => "idle_timer",
            Self::IdleTooLittleWork => "idle_too_little_work",
            Self::Unexplained => "unexplained",
        }
    }

    /// Name of the component as a part of a run.
    pub fn name(self) -> &'static str {
        match self {
            Self::UserWork => "work in user mode",
            Self::KernelWork => "work in the kernel",
            Self::Interrupt => "interrupts",
            Self::KernelLockSpin => "spinning for kernel locks",
            Self::OtherProcesses => "other processes",
            Self::Tracer => "the tracer",
            Self::Steal => "stolen by the hypervisor",
            Self::IdleScheduling => "idle: scheduling",
            Self::IdleHeld => "idle: held back",
            Self::IdlePinned => "idle: pinned",
            Self::IdleKernelLock => "idle: kernel lock",
            Self::IdleUserLock => "idle: user lock",
            Self::IdleDisk => "idle: disk",
            Self::IdlePeer => "idle: peer",
            Self::IdleDevice => "idle: other device",
            Self::IdleRcu => "idle: RCU grace period",
            Self::IdleUninterruptible => "idle: uninterruptible wait",
            Self::IdleTimer => "idle: timer",
            Self::IdleTooLittleWork => "idle: too little parallel work",
            Self::Unexplained => "unexplained",
        }
    }

    /// Name of the component as a part of `trace`, which may be unable to distinguish it from
    /// another.
    pub(crate) fn name_in(self, trace: &TraceView) -> &'static str {
        match self {
            Self::IdleScheduling if idle_includes_others(trace) => "idle or other processes",
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
