//! The components of a traced run: their names, and their figures in a run and in a speedup stack.
//!
//! Only names and access; which of them are shown, and how, is decided where they are shown.

use morecores_view::{BehindLock, Components, Losses, TraceView};

/// What others must have used, over the idle time that they may be in, for that to be said. A choice: less is within what
/// the CPUs' counters and the trace disagree about.
const OTHERS_IN_IDLE: f64 = 0.1;

/// Whether idle time of ready threads may be others' time: the trace does not see them, and they used these CPUs.
pub(crate) fn idle_or_others(trace: &TraceView) -> bool {
    let idle = trace.components.idle_scheduling_s;
    trace.untold_others_s.is_some_and(|others| others > 0.0 && others >= OTHERS_IN_IDLE * idle)
}

/// CPU-seconds that were lost to locks of the command's own while the holder waited, by what the holder waited for.
pub(crate) fn behind(trace: &TraceView) -> [(Component, f64); 3] {
    let BehindLock { disk_s, peer_s, timer_s } = trace.behind_user_lock;
    [(Component::IdleDisk, disk_s), (Component::IdlePeer, peer_s), (Component::IdleTimer, timer_s)]
}

/// What a wait is for, where the component is one.
pub(crate) fn awaited(component: Component) -> &'static str {
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
    /// The tree spinning for kernel locks.
    KernelLockSpin,
    /// Other processes and kernel threads.
    OtherProcesses,
    /// The tracer.
    Tracer,
    /// Time taken by a hypervisor.
    Steal,
    /// Idle although a thread could have run there.
    IdleScheduling,
    /// Idle although a thread was ready, which was held back.
    IdleHeld,
    /// Idle although a thread could have run, were it not pinned elsewhere.
    IdlePinned,
    /// Idle, waiting for a kernel lock.
    IdleKernelLock,
    /// Idle, waiting for a user lock.
    IdleUserLock,
    /// Idle, waiting for a disk.
    IdleDisk,
    /// Idle, waiting for somebody outside the tree.
    IdlePeer,
    /// Idle, waiting for a device that is no disk.
    IdleDevice,
    /// Idle, waiting for a grace period of RCU.
    IdleRcu,
    /// Idle, waiting in the kernel for what no event tells.
    IdleUninterruptible,
    /// Idle, waiting for a timer.
    IdleTimer,
    /// Idle for want of parallel work.
    IdleTooLittleWork,
    /// What no rule explains.
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

    /// Its CPU-seconds in a traced run; none where that cannot tell it, and has it in another component.
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

    /// Its loss in a speedup stack, in CPUs; none where either run cannot tell it.
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

    /// Its key in the record, without the unit.
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

    /// What a part of a run is called.
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

    /// What a part of `trace` is called, where that trace cannot tell it from another.
    pub(crate) fn name_in(self, trace: &TraceView) -> &'static str {
        match self {
            Self::IdleScheduling if idle_or_others(trace) => "idle or other processes",
            other => other.name(),
        }
    }

    /// What a loss is called: of work only what is more than at the baseline is lost.
    pub fn loss_name(self) -> &'static str {
        match self {
            Self::UserWork => "extra time in user mode",
            Self::KernelWork => "extra time in the kernel",
            _ => self.name(),
        }
    }
}
