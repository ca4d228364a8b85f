//! What ended each wait: rule 2 of the idle rule, one step of it.
//!
//! A step leads either to a cause that is followed no further, or to a thread of the tree, whose own state at each
//! instant tells how it goes on. Steps through kernel threads were taken when the timeline was made. Nothing here
//! weighs one wait against another.

use std::collections::HashMap;

use morecores_record::{Interrupt, Left};

use super::futexes::{FutexId, FutexUse, futex, futex_uses};
use super::timeline::{Source, State, ThreadId, Timeline, Wait, WaitId};

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// It was for a kernel lock.
    KernelLock,
    /// It was for a lock of the program's own.
    UserLock,
    /// A device.
    Disk,
    /// Somebody outside the tree.
    Peer,
    /// A timer.
    Timer,
    /// A thread of the tree: what that one was doing meanwhile tells more.
    Thread(ThreadId),
    /// Nothing, inside the run.
    Endless,
    /// Not told, or nothing that another CPU could have been lost to.
    Unknown,
}

/// The cause of each wait, in step with [`Timeline::waits`]. Waits of threads outside the tree have one too.
pub fn causes(timeline: &Timeline) -> Vec<Cause> {
    let futexes = futex_uses(timeline);
    timeline.waits.iter().map(|wait| cause(timeline, &futexes, wait)).collect()
}

/// Numbers of soft interrupts: `enum` in `include/linux/interrupt.h`.
mod vector {
    pub(super) const TIMER: u8 = 1;
    pub(super) const NET_TX: u8 = 2;
    pub(super) const NET_RX: u8 = 3;
    pub(super) const BLOCK: u8 = 4;
    pub(super) const IRQ_POLL: u8 = 5;
    pub(super) const HRTIMER: u8 = 8;
}

fn cause(timeline: &Timeline, futexes: &HashMap<FutexId, FutexUse>, wait: &Wait) -> Cause {
    if wait.contention.is_some() {
        return Cause::KernelLock;
    }
    if !wait.ended {
        return Cause::Endless;
    }
    let Some(wake) = wait.wake else { return Cause::Unknown };
    if let Some(futex) = futex(timeline, wait)
        && matches!(wake.by, Source::Thread(_))
        && futexes.get(&futex) == Some(&FutexUse::Lock)
    {
        return Cause::UserLock;
    }
    // A wait that nothing but its end may end, and that none of our threads ended itself, is one for a device.
    let for_device = wake.io_wait || wait.left == Left::Uninterruptible;
    let otherwise = if for_device { Cause::Disk } else { Cause::Unknown };
    if let Some(cause) = of_vector(wake.by) {
        return cause;
    }
    if wake.io_wait && wake.by != wake.origin {
        // Completed by a kernel thread, whoever gave it that to do.
        return Cause::Disk;
    }
    if let Some(cause) = of_vector(wake.origin) {
        return cause;
    }
    match wake.origin {
        // Its own work, done by a kernel worker.
        Source::Thread(thread) | Source::SoftIrqOfThread { thread, .. } if thread == wait.thread => otherwise,
        Source::Thread(thread) | Source::SoftIrqOfThread { thread, .. } => {
            let thread_of = timeline.thread(thread);
            if thread_of.in_tree {
                Cause::Thread(thread)
            } else if thread_of.kernel {
                otherwise
            } else {
                Cause::Peer
            }
        }
        Source::Interrupt(Interrupt::Device(_)) => Cause::Disk,
        Source::Interrupt(Interrupt::Timer) => Cause::Timer,
        Source::SoftIrqOfInterrupt { vector: vector::NET_TX | vector::NET_RX, .. } => Cause::Peer,
        Source::Interrupt(Interrupt::Other) | Source::SoftIrqOfInterrupt { .. } | Source::Unknown => {
            otherwise
        }
    }
}

/// The cause that a soft interrupt stands for whoever raised it: timers, and devices that store.
const fn of_vector(source: Source) -> Option<Cause> {
    let (Source::SoftIrqOfThread { vector, .. } | Source::SoftIrqOfInterrupt { vector, .. }) = source else {
        return None;
    };
    match vector {
        vector::TIMER | vector::HRTIMER => Some(Cause::Timer),
        vector::BLOCK | vector::IRQ_POLL => Some(Cause::Disk),
        _ => None,
    }
}

/// The wait that a state is, if any.
pub(super) fn wait_of(state: State) -> Option<WaitId> {
    match state {
        State::Blocked(wait) => Some(wait),
        State::Running { .. } | State::Runnable | State::Held(_) => None,
    }
}
