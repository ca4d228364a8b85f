//! Result types of the idle rule. This module does not apply the rule.

use morecores_study::Nanos;
use morecores_study::trace::Call;
use morecores_view::HolderWaits;

use crate::trace::causes::Cause;
use crate::trace::timeline::ThreadId;

/// Idle time of the allotted CPUs by cause, in seconds of CPU time. Interrupts on an idle CPU are
/// not included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IdleTimes {
    /// A thread was runnable, and allowed on an idle CPU.
    pub scheduling: f64,
    /// A thread was ready, and held back.
    pub held: f64,
    /// A thread was runnable, and not allowed on any idle CPU.
    pub pinned: f64,
    /// A thread waited for a kernel lock.
    pub kernel_lock: f64,
    /// A thread waited for a lock of the program's own.
    pub user_lock: f64,
    /// A thread waited for a disk.
    pub disk: f64,
    /// A thread waited for a process outside the tree.
    pub peer: f64,
    /// A thread waited for a device other than a disk.
    pub device: f64,
    /// A thread waited for a grace period of RCU.
    pub rcu: f64,
    /// A thread waited in the kernel for something that no event records.
    pub uninterruptible: f64,
    /// All threads waited, and a timer ended the blocked period.
    pub timer: f64,
    /// The rest: too little parallel work.
    pub too_little_work: f64,
    /// Part of [`user_lock`](Self::user_lock) in which the lock's holder waited too. The total does
    /// not include it a second time.
    pub behind_user_lock: HolderWaits,
}

impl IdleTimes {
    /// Times by the names of their components, as in the keys of JSON.
    pub fn by_cause(&self) -> [(&'static str, f64); 12] {
        let Self {
            scheduling,
            held,
            pinned,
            kernel_lock,
            user_lock,
            disk,
            peer,
            device,
            rcu,
            uninterruptible,
            timer,
            too_little_work,
            behind_user_lock: _,
        } = *self;
        [
            ("scheduling", scheduling),
            ("held", held),
            ("pinned", pinned),
            ("kernel_lock", kernel_lock),
            ("user_lock", user_lock),
            ("disk", disk),
            ("peer", peer),
            ("device", device),
            ("rcu", rcu),
            ("uninterruptible", uninterruptible),
            ("timer", timer),
            ("too_little_work", too_little_work),
        ]
    }

    /// Sum of all causes.
    pub fn total(&self) -> f64 {
        self.by_cause().iter().map(|(_, seconds)| seconds).sum()
    }
}

/// Idle time lost to one cause during a span of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IdleSpan {
    /// Beginning of the span.
    pub from: Nanos,
    /// End of the span.
    pub to: Nanos,
    /// Name of the component, as in [`IdleTimes::by_cause`].
    pub cause: &'static str,
    /// Lost time in seconds of CPU time, more than zero.
    pub seconds: f64,
}

/// Idle time caused by too little parallel work, charged to a thread that ran at the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Charge {
    /// Thread that ran; none if no thread ran.
    pub thread: Option<ThreadId>,
    /// Name of the thread at the time: an index into its [`names`](crate::trace::Thread::names).
    pub name_index: usize,
    /// Call in which most of the blocked threads waited; none if no thread waited.
    pub waiting_in: Option<Call>,
    /// Charged idle time, in seconds of CPU time.
    pub seconds: f64,
}

/// A span in which no thread of the tree ran or was runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockedPeriod {
    /// Beginning of the span.
    pub from: Nanos,
    /// End of the span.
    pub to: Nanos,
    /// Thread whose wait ended with the span; none at the end of the run.
    pub ended_by: Option<ThreadId>,
    /// Cause that ended this wait; none if no wait ended, because a thread began or the run ended.
    pub cause: Option<Cause>,
}

/// Result of the idle rule for a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IdleAccounting {
    /// Lost time by cause.
    pub times: IdleTimes,
    /// [`IdleTimes::too_little_work`] by the threads that ran at the time, in the order of the
    /// threads.
    pub charges: Vec<Charge>,
    /// Idle CPUs charged to the thread of each sample at its instant, for lack of parallel work; in
    /// step with the timeline's samples.
    pub sample_charges: Vec<f64>,
    /// Idle time lost to each wait, in CPU-seconds; in step with the timeline's waits. A wait for
    /// another thread of the tree has none, since what that thread does is the cause.
    pub wait_charges: Vec<f64>,
    /// Number of threads of the tree that ran at each sample; in step with the timeline's samples.
    pub sample_running: Vec<u32>,
    /// Spans without a running or runnable thread, in the order of time.
    pub blocked_periods: Vec<BlockedPeriod>,
}

impl IdleAccounting {
    /// Subtracts `seconds` from the idle time, in equal proportion from every cause.
    pub(crate) fn reduced_by(mut self, seconds: f64) -> Self {
        let total = self.times.total();
        if seconds <= 0.0 || total <= 0.0 {
            return self;
        }
        let left = 1.0 - seconds / total;
        let times = &mut self.times;
        for time in [
            &mut times.scheduling,
            &mut times.held,
            &mut times.pinned,
            &mut times.kernel_lock,
            &mut times.user_lock,
            &mut times.disk,
            &mut times.peer,
            &mut times.device,
            &mut times.rcu,
            &mut times.uninterruptible,
            &mut times.timer,
            &mut times.too_little_work,
            &mut times.behind_user_lock.disk_s,
            &mut times.behind_user_lock.peer_s,
            &mut times.behind_user_lock.timer_s,
        ] {
            *time *= left;
        }
        for charge in &mut self.charges {
            charge.seconds *= left;
        }
        for charge in &mut self.wait_charges {
            *charge *= left;
        }
        self
    }
}
