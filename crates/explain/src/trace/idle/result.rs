//! What the idle rule says of a run. Only the nouns; nothing here applies the rule.

use morecores_study::Nanos;
use morecores_study::trace::Call;
use morecores_view::BehindLock;

use crate::trace::causes::Cause;
use crate::trace::timeline::ThreadId;

/// Idle time of the allotted CPUs by what it was lost to, in seconds of CPU time. Interrupts that found a CPU idle are
/// not in it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IdleTimes {
    /// A thread was runnable, and allowed on an idle CPU.
    pub scheduling: f64,
    /// A thread was ready, and held back.
    pub held: f64,
    /// A thread was runnable, and not allowed on any.
    pub pinned: f64,
    /// A thread waited for a kernel lock.
    pub kernel_lock: f64,
    /// A thread waited for a lock of the program's own.
    pub user_lock: f64,
    /// A thread waited for a disk.
    pub disk: f64,
    /// A thread waited for somebody outside the tree.
    pub peer: f64,
    /// A thread waited for a device that is no disk.
    pub device: f64,
    /// A thread waited for a grace period of RCU.
    pub rcu: f64,
    /// A thread waited in the kernel for something that no event tells.
    pub uninterruptible: f64,
    /// All waited, and a timer ended that.
    pub timer: f64,
    /// All the rest.
    pub too_little_work: f64,
    /// Of [`user_lock`](Self::user_lock), time in which the holder of the lock waited itself. No part of the total.
    pub behind_user_lock: BehindLock,
}

impl IdleTimes {
    /// Together.
    pub fn total(&self) -> f64 {
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
        } = self;
        let ready = scheduling + held + pinned;
        let outside = disk + peer + device + rcu + uninterruptible;
        ready + kernel_lock + user_lock + outside + timer + too_little_work
    }
}

/// Idle time for want of parallel work, charged to a thread that ran meanwhile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Charge {
    /// Who ran; none where nobody did.
    pub thread: Option<ThreadId>,
    /// Under which name: an index into its [`names`](crate::trace::Thread::names).
    pub naming: usize,
    /// The call in which most of the blocked threads waited; none where nobody waited.
    pub waiting_in: Option<Call>,
    /// How much, in seconds of CPU time.
    pub seconds: f64,
}

/// A stretch in which no thread of the tree ran or was runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// Since when.
    pub from: Nanos,
    /// Until when.
    pub to: Nanos,
    /// Whose wait ended with it; none at the end of the run.
    pub broken_by: Option<ThreadId>,
    /// What ended that wait; none where it was none: a thread began, or the run ended.
    pub cause: Option<Cause>,
}

/// What the idle rule says of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Idle {
    /// How much was lost to what.
    pub times: IdleTimes,
    /// [`IdleTimes::too_little_work`] by who ran meanwhile, in the order of the threads.
    pub charges: Vec<Charge>,
    /// When nobody ran, in the order of time.
    pub silences: Vec<Silence>,
}

impl Idle {
    /// With `seconds` of all idle time taken off, of everything alike.
    pub(crate) fn lessened(mut self, seconds: f64) -> Self {
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
        self
    }
}
