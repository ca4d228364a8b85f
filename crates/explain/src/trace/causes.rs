//! The cause of each wait: one step of rule 2 of the idle rule.
//!
//! A step leads either to a final cause or to a thread of the tree, whose own state at each instant
//! shows the next step. Steps through kernel threads were taken when the timeline was built. This
//! module does not compare the weights of waits.

use std::collections::HashMap;

use morecores_study::trace::{Call, Interrupt, PrevState};
use syscalls::Sysno;

use super::futexes::{FutexId, FutexUse, awaited_futex, condition_id, futex_uses, timed_locks};
use super::timeline::{Source, State, ThreadId, Timeline, Wait, WaitId, Wake, vector};

/// Cause that ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// A kernel lock.
    KernelLock,
    /// A lock of the program's own.
    UserLock,
    /// A disk.
    Disk,
    /// A device other than a disk.
    Device,
    /// The end of an RCU grace period: all CPUs have left their read-side critical sections.
    Rcu,
    /// An unrecorded cause in the kernel, for a wait that no signal can end.
    Uninterruptible,
    /// A process outside the tree.
    Peer,
    /// A timer.
    Timer,
    /// A thread of the tree: that thread's own activity during the wait shows the next step.
    Thread(ThreadId),
    /// No cause inside the run: the wait did not end in it.
    Endless,
    /// Not recorded, or a cause to which no other CPU could have been lost.
    Unknown,
}

/// Cause of each wait, in step with [`Timeline::waits`]. Waits of threads outside the tree have a
/// cause too.
pub fn causes(timeline: &Timeline) -> Vec<Cause> {
    let futexes = futex_uses(timeline);
    timeline.waits.iter().map(|wait| wait_cause(timeline, &futexes, wait)).collect()
}

/// Causes for the idle rule: those of [`causes`], and a user lock for each wait at a lock whose
/// waiters look again from time to time. A replay keeps the causes of [`causes`], which order the
/// threads correctly: it knows a lock by one futex, and such a lock has two.
pub fn idle_causes(timeline: &Timeline) -> Vec<Cause> {
    let mut causes = causes(timeline);
    let locks = timed_locks(timeline);
    for (wait, cause) in timeline.waits.iter().zip(&mut causes) {
        let is_timed_lock =
            || awaited_futex(timeline, wait).is_some_and(|futex| locks.contains(&condition_id(futex)));
        if matches!(*cause, Cause::Thread(_) | Cause::Timer) && is_timed_lock() {
            *cause = Cause::UserLock;
        }
    }
    causes
}

fn wait_cause(timeline: &Timeline, futexes: &HashMap<FutexId, FutexUse>, wait: &Wait) -> Cause {
    if wait.contention.is_some() {
        return Cause::KernelLock;
    }
    if !wait.ended {
        return Cause::Endless;
    }
    let Some(wake) = wait.wake else { return Cause::Unknown };
    if let Some(futex) = awaited_futex(timeline, wait)
        && matches!(wake.by, Source::Thread(_))
        && futexes.get(&futex) == Some(&FutexUse::Lock)
    {
        return Cause::UserLock;
    }
    if !wake.io_wait && is_rcu_wait(timeline, wait, wake) {
        return Cause::Rcu;
    }
    let otherwise = if wake.io_wait {
        Cause::Disk
    } else if wait.prev_state == PrevState::Uninterruptible {
        Cause::Uninterruptible
    } else {
        Cause::Unknown
    };
    if let Some(cause) = softirq_cause(wake.by) {
        return cause;
    }
    if wake.io_wait && wake.by != wake.origin {
        // A kernel thread completed the request, no matter which thread queued it.
        return Cause::Disk;
    }
    if let Some(cause) = softirq_cause(wake.origin) {
        return cause;
    }
    match wake.origin {
        // The thread's own work, done by a kernel worker.
        Source::Thread(thread) | Source::SoftIrqOfThread { thread, .. } if thread == wait.thread => otherwise,
        Source::Thread(thread) | Source::SoftIrqOfThread { thread, .. } => {
            let waker = timeline.thread(thread);
            if waker.in_tree {
                Cause::Thread(thread)
            } else if waker.kernel {
                otherwise
            } else {
                Cause::Peer
            }
        }
        Source::Interrupt(Interrupt::Device(number)) => match timeline.interrupts.get(&number) {
            _ if wake.io_wait => Cause::Disk,
            Some(name) if !is_disk_interrupt(name) => Cause::Device,
            _ => Cause::Disk,
        },
        Source::Interrupt(Interrupt::Timer) => Cause::Timer,
        Source::SoftIrqOfInterrupt { vector: vector::NET_TX | vector::NET_RX, .. } => Cause::Peer,
        Source::Interrupt(Interrupt::Other) | Source::SoftIrqOfInterrupt { .. } | Source::Unknown => {
            otherwise
        }
    }
}

/// Whether a wait is for an RCU grace period: it is in the call that asks for one, or one of the
/// kernel's RCU threads, which share a name prefix, ended it.
fn is_rcu_wait(timeline: &Timeline, wait: &Wait, wake: Wake) -> bool {
    let asks = |number| Sysno::new(usize::from(number)) == Some(Sysno::membarrier);
    let ended_by_rcu_thread = wake.by.thread().is_some_and(|by| {
        let thread = timeline.thread(by);
        thread.kernel && thread.name_at(wake.at).0.starts_with(b"rcu")
    });
    matches!(wait.call, Call::Number(number) if asks(number)) && wait.prev_state == PrevState::Uninterruptible
        || ended_by_rcu_thread
}

/// Whether a device's interrupt belongs to a disk, by the name that its kernel driver gives it:
/// NVMe, ATA and SCSI controllers, virtio and Xen disks, and cards.
fn is_disk_interrupt(name: &str) -> bool {
    const DRIVERS: [&str; 17] = [
        "nvme", "ahci", "ata_", "sata", "-req.", "request", "blkif", "scsi", "_sas", "mpt", "megaraid",
        "aacraid", "hpsa", "smartpqi", "qla2", "lpfc", "mmc",
    ];
    DRIVERS.iter().any(|driver| name.contains(driver))
}

/// Cause that a soft interrupt shows, independent of the source that raised it: timers, RCU and
/// storage devices.
const fn softirq_cause(source: Source) -> Option<Cause> {
    let (Source::SoftIrqOfThread { vector, .. } | Source::SoftIrqOfInterrupt { vector, .. }) = source else {
        return None;
    };
    match vector {
        vector::TIMER | vector::HRTIMER => Some(Cause::Timer),
        vector::BLOCK | vector::IRQ_POLL => Some(Cause::Disk),
        vector::RCU => Some(Cause::Rcu),
        _ => None,
    }
}

/// Wait that a state refers to, if any.
pub(super) fn blocked_wait(state: State) -> Option<WaitId> {
    match state {
        State::Blocked(wait) => Some(wait),
        State::Running { .. } | State::Runnable | State::Held(_) => None,
    }
}
