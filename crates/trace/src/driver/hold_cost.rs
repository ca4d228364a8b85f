//! Cost of the probes of the exact account of locks, measured on this machine before the run: a
//! thread takes and releases a free mutex, without the probes and with them.

use std::path::PathBuf;
use std::thread;
use std::time::Instant;

use morecores_study::{CpuId, Nanos};
use procfs::process::{MMapPath, Process};

use super::costs::pin;

/// Holds that are timed together: some 0.2 ms.
const HOLDS: u32 = 100;
/// Number of timings. The shortest one counts, since nothing else disturbed it.
const TIMINGS: u32 = 24;

/// Cost of the probes at one hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HoldCost {
    /// Additional time of the two calls.
    pub(super) calls: Nanos,
    /// Part of it that the hold includes.
    pub(super) within: Nanos,
}

impl HoldCost {
    /// Cost by the time of a hold with its two calls, `without` the probes and `with` them, and the
    /// time of a hold that the probes `measured`. `None` if the probes seem to cost nothing, which
    /// is impossible.
    pub(super) fn new(without: Nanos, with: Nanos, measured: Nanos) -> Option<Self> {
        let calls = with.since(without);
        // The hold itself is shorter than the two calls without the probes.
        (calls > Nanos::ZERO).then_some(Self { calls, within: measured.since(without).min(calls) })
    }
}

/// Shortest time of a hold with its two calls on a CPU, on a thread of its own. `after_timing` is
/// called after each timing. `None` if the thread may not run on the CPU.
pub(super) fn time_holds(cpu: CpuId, mut after_timing: impl FnMut() + Send) -> Option<Nanos> {
    let time_all = move || {
        pin(cpu).ok()?;
        let timings = (0..TIMINGS).map(|_| {
            let time = hold_repeatedly();
            after_timing();
            Nanos(time.0 / u64::from(HOLDS))
        });
        timings.min()
    };
    thread::scope(|scope| scope.spawn(time_all).join().ok().flatten())
}

/// Takes and releases a free mutex of the C library.
#[allow(unsafe_code)]
fn hold_repeatedly() -> Nanos {
    let mut mutex = libc::PTHREAD_MUTEX_INITIALIZER;
    let start = Instant::now();
    for _ in 0..HOLDS {
        // SAFETY: the mutex is initialised, stays in its place, and is not shared; each call that
        // takes it is followed by one that releases it.
        unsafe {
            libc::pthread_mutex_lock(&raw mut mutex);
            libc::pthread_mutex_unlock(&raw mut mutex);
        }
    }
    Nanos::from(start.elapsed())
}

/// File from which this process has its C library.
pub(super) fn own_c_library() -> Option<PathBuf> {
    let address = libc::pthread_mutex_lock as *const () as u64;
    let maps = Process::myself().ok()?.maps().ok()?;
    maps.into_iter().find_map(|map| match map.pathname {
        MMapPath::Path(path) if (map.address.0..map.address.1).contains(&address) => Some(path),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_the_difference() {
        let cost = |without, with, measured| HoldCost::new(Nanos(without), Nanos(with), Nanos(measured));
        assert_eq!(cost(20, 2_020, 1_020), Some(HoldCost { calls: Nanos(2_000), within: Nanos(1_000) }));
        assert_eq!(cost(20, 2_020, 10), Some(HoldCost { calls: Nanos(2_000), within: Nanos(0) }));
        assert_eq!(cost(20, 20, 20), None);
    }

    #[test]
    fn c_library_has_the_functions_with_probes() {
        let library = own_c_library().expect("this process has a C library");
        let probes = crate::LockProbe::in_files(&[library]).expect("a readable file");
        assert!(probes.iter().any(|probe| probe.call == crate::lock_probes::LockCall::TakeMutex));
    }
}
