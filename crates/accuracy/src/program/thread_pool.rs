//! Threads that take equal tasks from a queue, by a mutex and condition variables.
//!
//! One thread alone hands out tasks and waits for the end, so one thread alone wakes the condition
//! variables' futexes: waits for that thread are no waits for a lock.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};

use morecores_study::Nanos;

use crate::accounts::SchedAccount;

/// Queue of a crew.
#[derive(Default)]
pub(super) struct ThreadPool {
    state: Mutex<State>,
    work: Condvar,
    finished: Condvar,
}

#[derive(Default)]
struct State {
    /// Tasks not taken yet.
    waiting: u32,
    /// Tasks that are not finished.
    unfinished: u32,
    /// Time that the ended threads were runnable without running.
    runnable: Nanos,
    closed: bool,
}

impl ThreadPool {
    /// Starts `workers` threads that each do `task` for every task they take, until the pool is
    /// closed.
    pub(super) fn start<'scope, F>(&'scope self, scope: &'scope Scope<'scope, '_>, workers: u32, task: F)
    where
        F: Fn() + Copy + Send + 'scope,
    {
        for _ in 0..workers {
            scope.spawn(move || {
                while self.take() {
                    task();
                    self.finish();
                }
                // Without an account of it, the truth is that no thread was queued.
                let waited = SchedAccount::read_thread().unwrap_or_default().waited;
                self.lock().runnable += waited;
            });
        }
    }

    /// Hands out `tasks` at once and waits until all are finished.
    pub(super) fn run_batch(&self, tasks: u32) {
        let mut state = self.lock();
        (state.waiting, state.unfinished) = (tasks, tasks);
        drop(state);
        self.work.notify_all();
        let unfinished = |state: &mut State| state.unfinished > 0;
        drop(self.finished.wait_while(self.lock(), unfinished).unwrap_or_else(PoisonError::into_inner));
    }

    /// Lets the threads end.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.work.notify_all();
    }

    /// Waits for a task; returns false after the last one.
    fn take(&self) -> bool {
        let nothing = |state: &mut State| state.waiting == 0 && !state.closed;
        let mut state = self.work.wait_while(self.lock(), nothing).unwrap_or_else(PoisonError::into_inner);
        let taken = state.waiting > 0;
        state.waiting -= u32::from(taken);
        taken
    }

    fn finish(&self) {
        let mut state = self.lock();
        state.unfinished -= 1;
        let all = state.unfinished == 0;
        drop(state);
        if all {
            self.finished.notify_one();
        }
    }

    /// Locks the state. A panic in a task ends the program anyway, by `thread::scope`.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs `lead` with a crew of `workers` that do `task`; returns how long the workers were runnable
/// without running.
pub(super) fn run_with_pool(
    workers: u32,
    task: impl Fn() + Copy + Send,
    lead: impl FnOnce(&ThreadPool),
) -> Nanos {
    let pool = ThreadPool::default();
    thread::scope(|scope| {
        pool.start(scope, workers, task);
        lead(&pool);
        pool.close();
    });
    pool.lock().runnable
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn every_task_is_done_once_and_before_the_batch_ends() {
        let done = AtomicU32::new(0);
        let task = || {
            done.fetch_add(1, Ordering::Relaxed);
        };
        run_with_pool(2, task, |pool| {
            for batch in 1..=50 {
                pool.run_batch(3);
                assert_eq!(done.load(Ordering::Relaxed), 3 * batch);
            }
        });
    }
}
