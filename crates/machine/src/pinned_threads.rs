//! Threads that are bound to one CPU each and work at the same time.

use std::io;
use std::sync::{Barrier, PoisonError, RwLock};
use std::thread;

use morecores_study::{CpuId, CpuSet};

use crate::process;

/// Reason for which threads could not work on their CPUs.
#[derive(Debug, thiserror::Error)]
pub enum PinnedThreadError {
    /// The kernel refused to bind a thread to a CPU.
    #[error("cannot run on CPU {cpu}: {error}; `morecores topology` shows which CPUs may be used")]
    Pin {
        /// CPU.
        cpu: CpuId,
        /// Reason given by the system.
        error: io::Error,
    },
    /// The system allows no further thread.
    #[error("cannot start a thread for CPU {cpu}: {error}; allow more (`ulimit -u`)")]
    Thread {
        /// CPU.
        cpu: CpuId,
        /// Reason given by the system.
        error: io::Error,
    },
}

/// Calls `prepare` and then `work` on each of `cpus`, in a thread bound to that CPU. No thread
/// begins to work before all are prepared. Returns the results in the order of the CPUs.
///
/// # Errors
/// A thread cannot be started, or cannot be bound to its CPU.
pub(crate) fn run_together<P, R: Send>(
    cpus: &CpuSet,
    prepare: impl Fn() -> P + Sync,
    work: impl Fn(CpuId, P) -> R + Sync,
) -> Result<Vec<R>, PinnedThreadError> {
    // The lock opens when all threads have started; its value tells them to work (true) or to end
    // (false), so that after a failure none waits at the barrier for a thread that never started.
    let (start_lock, all_prepared) = (RwLock::new(false), Barrier::new(cpus.len()));
    let run = |cpu: CpuId| {
        let prepared = pin(cpu).map(|()| prepare());
        if *start_lock.read().unwrap_or_else(PoisonError::into_inner) {
            all_prepared.wait();
            prepared.map(|prepared| Some(work(cpu, prepared)))
        } else {
            Ok(None)
        }
    };
    let results = thread::scope(|scope| {
        let mut open = start_lock.write().unwrap_or_else(PoisonError::into_inner);
        let mut started = Vec::with_capacity(cpus.len());
        for cpu in cpus.iter() {
            let run = &run;
            let thread = thread::Builder::new().spawn_scoped(scope, move || run(cpu));
            started.push(thread.map_err(|error| PinnedThreadError::Thread { cpu, error })?);
        }
        *open = true;
        drop(open);
        started.into_iter().map(join).collect::<Result<Vec<Option<R>>, PinnedThreadError>>()
    })?;
    Ok(results.into_iter().flatten().collect())
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Binds the calling thread to a CPU; the thread ends afterwards.
fn pin(cpu: CpuId) -> Result<(), PinnedThreadError> {
    let bound = process::set_affinity(0, &CpuSet::from_iter([cpu]));
    bound.map_err(|error| PinnedThreadError::Pin { cpu, error })
}
