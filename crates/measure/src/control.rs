//! What the thread that watches for signals and time limits shares with the thread that measures.
//!
//! The measuring thread sleeps in `wait` and looks at nothing; the watching thread ends its run from outside,
//! and the measuring thread finds out why when it wakes. Costs a short run nothing: two stores.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use morecores_study::Nanos;
use rustix::process::Signal;

use crate::spared::Spared;
use crate::spawn::Current;
use morecores_machine::clock::monotonic;

/// How long a command may take to end after it was asked to, before it is killed.
pub const GRACE: Nanos = Nanos::from_millis(2_000);

/// Shared between the two threads.
#[derive(Debug, Default)]
pub struct Control {
    /// The run in progress.
    pub(crate) current: Current,
    /// When it began, on the monotonic clock; 0 between runs.
    began: AtomicU64,
    interrupted: AtomicBool,
    /// The time for the study is used up.
    out_of_time: AtomicBool,
    timed_out: AtomicBool,
    /// The user's clean-up is running.
    cleaning: AtomicBool,
    /// The longest that a run may take beside the plan's own limit, in nanoseconds; 0 where there is none.
    limit: AtomicU64,
    /// The processes below this one that are not the command's.
    pub(crate) spared: Spared,
}

impl Control {
    /// Whether the study is to stop.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }

    /// Asks the study to stop, and the run in progress, if any, to end by `signal`.
    pub fn interrupt(&self, signal: Signal) {
        self.interrupted.store(true, Ordering::SeqCst);
        self.current.signal(signal);
    }

    /// Ctrl-C went to the run, which had the terminal, and ended it: the study is to stop, as if the signal had come to
    /// this process.
    pub(crate) fn pass_on_interrupt(&self) {
        self.interrupted.store(true, Ordering::SeqCst);
        // Never refused to a process that signals itself.
        let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::INT);
    }

    /// Whether the time for the study is used up.
    pub fn is_out_of_time(&self) -> bool {
        self.out_of_time.load(Ordering::SeqCst)
    }

    /// Ends the study because its time is used up: asks the run in progress, if any, to end.
    pub fn run_out_of_time(&self) {
        self.out_of_time.store(true, Ordering::SeqCst);
        self.current.signal(Signal::TERM);
    }

    /// How long the run in progress has been going on; absent between runs.
    pub fn running_for(&self) -> Option<Nanos> {
        match self.began.load(Ordering::SeqCst) {
            0 => None,
            began => Some(monotonic().since(Nanos(began))),
        }
    }

    /// From now on runs may not take longer than this, whatever the plan allows.
    pub fn set_limit(&self, limit: Option<Nanos>) {
        self.limit.store(limit.map_or(0, |limit| limit.0), Ordering::SeqCst);
    }

    /// What was set so.
    pub fn limit(&self) -> Option<Nanos> {
        Some(Nanos(self.limit.load(Ordering::SeqCst))).filter(|limit| *limit > Nanos::ZERO)
    }

    /// Ends the run in progress because it took too long.
    pub fn time_out(&self) {
        self.timed_out.store(true, Ordering::SeqCst);
        self.current.signal(Signal::TERM);
    }

    /// Whether the user's clean-up is running, which a stopped study still owes.
    pub fn is_cleaning_up(&self) -> bool {
        self.cleaning.load(Ordering::SeqCst)
    }

    pub(crate) fn begin_cleaning_up(&self) {
        self.cleaning.store(true, Ordering::SeqCst);
    }

    /// Ends the run or the hook in progress and everything below it, whatever that does about signals. What earlier
    /// hooks left running goes on: it is for the user's clean-up to end.
    pub fn kill_in_progress(&self) {
        self.current.signal(Signal::KILL);
        self.spared.kill_others();
    }

    /// The measuring thread is about to start a run.
    pub(crate) fn begin(&self) {
        self.timed_out.store(false, Ordering::SeqCst);
        self.began.store(monotonic().0, Ordering::SeqCst);
    }

    /// The run has ended; whether because it took too long.
    pub(crate) fn end(&self) -> bool {
        self.began.store(0, Ordering::SeqCst);
        self.timed_out.load(Ordering::SeqCst)
    }
}
