//! Locks, measured one property at a time. A cell is one property of one lock, measured once.
//!
//! This module holds the arguments and dispatches each cell to its measurement.
//!
//! **The kernel lock** is taken by one kind of system call, so one turn at the lock is one call.
//! The hold time is the time for which the call copies bytes. The rest of the call is additional,
//! and the waits are invisible. See `offset_lock`.

mod contention;
mod cpu;
mod handoff;
mod lock_under_test;
mod offset_lock;
mod preempted;
mod single_operations;
mod work;

use morecores_study::lock::{LockCell, LockSample};
use morecores_study::{CpuId, CpuSet, Nanos};
use morecores_workloads::lock::PaddedLock;
use morecores_workloads::{WorkloadError, with_lock};

use self::contention::Contention;
use self::offset_lock::OffsetLock;

/// Largest number of threads that contend, as for a workload (`--threads`).
const MAX_THREADS: u32 = 8192;

/// Measure one property of one lock, for `morecores locks`
#[derive(Clone, Debug, PartialEq, Eq, clap::Parser)]
#[command(name = "morecores-lock-cell", version)]
pub(crate) struct Args {
    /// Cell to measure, as JSON
    cell: String,
    /// CPUs to pin the threads to, in turn
    #[arg(long, value_name = "LIST")]
    cpus: CpuSet,
    /// Time of the measurement, in nanoseconds
    #[arg(long, value_name = "NS")]
    window_ns: u64,
}

/// Measures the cell in `args`.
///
/// # Errors
/// Text that is not a cell, forbidden or too few CPUs, a refused thread, or a lock without mutual
/// exclusion.
pub(crate) fn run(args: &Args) -> Result<LockSample, WorkloadError> {
    let cell: LockCell = serde_json::from_str(&args.cell).map_err(|error| {
        WorkloadError::CannotRun(format!("`{}` is no cell of the laboratory: {error}", args.cell))
    })?;
    if args.window_ns == 0 {
        return Err(WorkloadError::CannotRun(
            "--window-ns 0 leaves no time to measure: give more".to_owned(),
        ));
    }
    let window = Nanos(args.window_ns);
    // The adaptive lock performs best with this machine's cost of a sleep.
    morecores_locks::prepare();
    let cpus = |min_count| cpu::check_cpus(&args.cpus, min_count);
    let pair = || cpus(2).map(|cpus| [cpus[0], cpus[1]]);
    let time = |ns| LockSample::Time { ns };
    match cell {
        LockCell::Free { lock } => {
            let cpu = cpus(1)?[0];
            with_lock!(lock,
                L => single_operations::measure_free(&*PaddedLock::<L>::new(), cpu, window),
                kernel => single_operations::measure_free(&OffsetLock::new()?, cpu, window),
            )
            .map(time)
        }
        LockCell::Handoff { lock } => {
            let pair = pair()?;
            with_lock!(lock,
                L => handoff::measure(&*PaddedLock::<L>::new(), pair, window),
                kernel => handoff::measure_kernel_lock(pair, window),
            )
            .map(time)
        }
        LockCell::Contention { lock, threads, hold_ns, think_ns, watched } => {
            if !(1..=MAX_THREADS).contains(&threads) {
                return Err(WorkloadError::CannotRun(format!(
                    "{threads} threads cannot contend: 1 to {MAX_THREADS} can"
                )));
            }
            let threads = threads as usize;
            let contention =
                Contention { threads, hold: hold_ns, think: think_ns, times_waits: watched, window };
            let cpus = cpus(1)?;
            with_lock!(lock,
                L => contention.run(&*PaddedLock::<L>::new(), &cpus),
                kernel => contention.run(&OffsetLock::new()?, &cpus),
            )
            .map(LockSample::Contention)
        }
        LockCell::Preempted { lock } => {
            let pair = pair()?;
            with_lock!(lock,
                L => preempted::measure(&*PaddedLock::<L>::new(), pair, window),
                kernel => preempted::measure(&OffsetLock::new()?, pair, window),
            )
        }
        LockCell::Switch => single_operations::measure_switch(cpus(1)?[0], window).map(time),
        LockCell::Line { from, to } => {
            let both: CpuSet = [from, to].into_iter().collect();
            let _: Vec<CpuId> = cpu::check_cpus(&both, 1)?;
            single_operations::measure_line(from, to, window).map(time)
        }
    }
}
