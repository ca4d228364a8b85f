//! State that the thread watching for signals and time limits shares with the measuring thread.
//!
//! The measuring thread sleeps in `wait` and checks nothing. The watching thread ends its run from
//! outside, and the measuring thread finds the reason when it wakes. The cost for a short run is
//! two stores and a lock that is free.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use morecores_study::Nanos;
use rustix::process::Signal;

use crate::foreign_processes::ForeignProcesses;
use crate::spawn::Current;
use morecores_machine::clock::monotonic;

/// Time that a command may take to end after a request to end, before it is killed.
pub const GRACE: Nanos = Nanos::from_millis(2_000);

/// State shared between the two threads.
#[derive(Debug, Default)]
pub struct Control {
    /// Run in progress.
    pub current: Current,
    /// Start of the run on the monotonic clock; 0 between runs.
    began: AtomicU64,
    interrupted: AtomicBool,
    killed: AtomicBool,
    /// Whether the time for the study is used up.
    out_of_time: AtomicBool,
    timed_out: AtomicBool,
    /// Whether the user's clean-up is running. The lock is held while processes are killed, so that
    /// a kill never reaches the processes of the next step.
    cleaning: Mutex<bool>,
    /// Longest duration of a run besides the plan's own limit, in nanoseconds; 0 without a limit.
    limit: AtomicU64,
    /// Descendants of this process that do not belong to the command.
    pub(crate) foreign: ForeignProcesses,
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

    /// Whether the user asked a second time for the end of the study.
    pub fn is_killed(&self) -> bool {
        self.killed.load(Ordering::SeqCst)
    }

    /// Excepts a process from all kills: it works for morecores between two runs, and its starter
    /// ends it.
    pub fn spare_process(&self, pid: u32) {
        let _held = self.lock_cleaning();
        self.foreign.add(pid);
    }

    /// Stops the study after Ctrl-C ended a run that had the terminal, as if the signal had come to
    /// this process.
    pub(crate) fn pass_on_interrupt(&self) {
        self.interrupted.store(true, Ordering::SeqCst);
        // A process may always signal itself.
        let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::INT);
    }

    /// Whether the time for the study is used up.
    pub fn is_out_of_time(&self) -> bool {
        self.out_of_time.load(Ordering::SeqCst)
    }

    /// Ends the study because its time is used up, and asks the run in progress, if any, to end.
    pub fn run_out_of_time(&self) {
        self.out_of_time.store(true, Ordering::SeqCst);
        self.current.signal(Signal::TERM);
    }

    /// Duration of the run in progress so far; absent between runs.
    pub fn running_for(&self) -> Option<Nanos> {
        match self.began.load(Ordering::SeqCst) {
            0 => None,
            began => Some(monotonic().since(Nanos(began))),
        }
    }

    /// Limits the duration of all further runs, whatever the plan allows.
    pub fn set_limit(&self, limit: Option<Nanos>) {
        self.limit.store(limit.map_or(0, |limit| limit.0), Ordering::SeqCst);
    }

    /// Limit set by [`set_limit`](Self::set_limit), if any.
    pub fn limit(&self) -> Option<Nanos> {
        Some(Nanos(self.limit.load(Ordering::SeqCst))).filter(|limit| *limit > Nanos::ZERO)
    }

    /// Ends the run in progress because it took too long.
    pub fn time_out(&self) {
        self.timed_out.store(true, Ordering::SeqCst);
        self.current.signal(Signal::TERM);
    }

    /// Notes that the user's clean-up begins, after the end of any kill.
    pub(crate) fn begin_cleaning_up(&self) {
        *self.lock_cleaning() = true;
    }

    /// Waits for the end of a kill in progress. Must be called before a process is started, because
    /// a kill takes every process that is not spared.
    pub(crate) fn wait_for_kill(&self) {
        drop(self.lock_cleaning());
    }

    /// Kills the run or hook in progress and all processes below it, however they handle signals.
    /// Processes that earlier hooks left running continue, because the user's clean-up has to end
    /// them.
    pub fn kill_in_progress(&self) {
        self.killed.store(true, Ordering::SeqCst);
        let _held = self.lock_cleaning();
        self.kill_all();
    }

    /// Kills as [`kill_in_progress`](Self::kill_in_progress) does, except during the user's
    /// clean-up, which must happen even after a stopped study.
    pub fn kill_unless_cleaning_up(&self) {
        let is_cleaning = self.lock_cleaning();
        if !*is_cleaning {
            self.kill_all();
        }
    }

    /// Kills as [`kill_in_progress`](Self::kill_in_progress) does if the run in progress has taken
    /// at least `limit`. A next run, which may have begun in between, has not.
    pub fn kill_if_late(&self, limit: Nanos) {
        let _held = self.lock_cleaning();
        if self.running_for().is_some_and(|time| time >= limit) {
            self.kill_all();
        }
    }

    fn kill_all(&self) {
        self.current.signal(Signal::KILL);
        self.foreign.kill_others();
    }

    fn lock_cleaning(&self) -> MutexGuard<'_, bool> {
        // A panic cannot leave the flag half-changed.
        self.cleaning.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the start of a run.
    pub fn begin(&self) {
        self.wait_for_kill();
        self.timed_out.store(false, Ordering::SeqCst);
        self.began.store(monotonic().0, Ordering::SeqCst);
    }

    /// Notes the end of the run; returns whether it took too long.
    pub fn end(&self) -> bool {
        self.began.store(0, Ordering::SeqCst);
        self.timed_out.load(Ordering::SeqCst)
    }
}
