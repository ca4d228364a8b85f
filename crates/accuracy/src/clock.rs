//! Clocks, and work with a length set by a clock.
//!
//! Work is measured in CPU time of the thread that does it. Time taken by a hypervisor or a
//! neighbour makes the work last longer, but does not increase it.

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

use morecores_study::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// Turns of the loop for the first measurement of its speed: some tens of microseconds.
const FIRST_TURNS: u64 = 20_000;

/// CPU time over which the speed of the loop is measured.
const CALIBRATION: Nanos = Nanos::from_millis(2);

/// Longest computation between two reads of the clock. A read is a system call of some 0.3 µs, so
/// less than 0.1% of the work is outside the loop.
const MAX_TIME_PER_READ: Nanos = Nanos::from_micros(500);

/// Reads the monotonic clock, which is common to all threads.
pub fn monotonic() -> Nanos {
    read(ClockId::Monotonic)
}

/// CPU time of this thread.
pub fn thread_cpu() -> Nanos {
    read(ClockId::ThreadCPUTime)
}

/// CPU time of this process so far.
fn process_cpu() -> Nanos {
    read(ClockId::ProcessCPUTime)
}

/// Length of some units of the times in `/proc` (`USER_HZ`).
pub(crate) fn user_ticks(count: u64) -> Nanos {
    Nanos::from_secs_f64(count as f64 / procfs::ticks_per_second() as f64)
}

/// CPU time of this process and of the children that it has waited for.
pub fn tree_cpu() -> Nanos {
    process_cpu() + children_cpu()
}

/// CPU time of all children that were waited for. The kernel scales user and system time so that
/// their sum is the scheduler's account (`cputime_adjust` in kernel/sched/cputime.c). The sum is
/// therefore exact to a microsecond a child.
fn children_cpu() -> Nanos {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage fills the struct it is given, and all its fields may be zero.
    #[allow(unsafe_code)]
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let time = |t: libc::timeval| Nanos::from_micros(t.tv_sec as u64 * 1_000_000 + t.tv_usec as u64);
    time(usage.ru_utime) + time(usage.ru_stime)
}

fn read(clock: ClockId) -> Nanos {
    let time = clock_gettime(clock);
    Nanos::from_timespec(time.tv_sec, time.tv_nsec)
}

/// Computes for this much CPU time of the calling thread, in user mode and without touching memory.
pub fn burn(work: Nanos) {
    // The first call takes longer than some work does.
    turns_per_ns();
    burn_until(thread_cpu() + work);
}

/// Computes until the calling thread's CPU time is `end`.
pub fn burn_until(end: Nanos) {
    burn_until_in(end, |turns| {
        black_box(spin(turns));
    });
}

/// Computes in `compute`, a function with [`spin`] inside, for this much CPU time of the calling
/// thread.
pub fn burn_in(work: Nanos, compute: impl Fn(u64)) {
    turns_per_ns();
    burn_until_in(thread_cpu() + work, compute);
}

fn burn_until_in(end: Nanos, compute: impl Fn(u64)) {
    let turns_per_ns = turns_per_ns();
    turn_until(end, turns_per_ns, thread_cpu, compute);
}

/// Calls `turn` until `now` returns `end`.
fn turn_until(end: Nanos, turns_per_ns: f64, now: impl Fn() -> Nanos, turn: impl Fn(u64)) {
    loop {
        let left = end.since(now());
        if left == Nanos::ZERO {
            return;
        }
        // The computation is a little shorter than the remaining time, so that the last one ends
        // close to `end` rather than after it.
        let length = left.min(MAX_TIME_PER_READ).0 as f64 * 0.95;
        turn((length * turns_per_ns) as u64 + 1);
    }
}

/// Speed of the loop, measured once in each process.
fn turns_per_ns() -> f64 {
    static SPEED: OnceLock<f64> = OnceLock::new();
    *SPEED.get_or_init(|| {
        let (begun, mut turns) = (thread_cpu(), 0);
        loop {
            black_box(spin(FIRST_TURNS));
            turns += FIRST_TURNS;
            let took = thread_cpu().since(begun);
            if took > CALIBRATION {
                return turns as f64 / took.0 as f64;
            }
        }
    })
}

/// Computes a chain of multiplications: no memory and no system calls, so only the clock rate sets
/// its speed. It has no function of its own: its time belongs to the function that contains it.
#[inline(always)]
pub fn spin(turns: u64) -> u64 {
    let mut x = 1_u64;
    for _ in 0..turns {
        // Knuth's MMIX generator; each step waits for the one before.
        x = black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn work_takes_at_least_the_requested_cpu_time() {
        for asked in [Nanos::from_micros(200), Nanos::from_millis(3), Nanos::from_millis(50)] {
            let begun = thread_cpu();
            burn(asked);
            let took = thread_cpu().since(begun);
            assert!(took >= asked, "{took:?} of {asked:?}");
        }
    }

    #[test]
    fn the_last_computation_ends_close_to_the_end() {
        // Only turns move this clock, 2 ns each, whatever speed was measured: that speed, a tenth
        // less, and a twentieth more.
        for measured in [0.5, 0.45, 0.525] {
            let time = Cell::new(7);
            let end = Nanos(50_000_000);
            turn_until(end, measured, || Nanos(time.get()), |turns| time.set(time.get() + 2 * turns));
            assert!((end.0..end.0 + 10).contains(&time.get()), "{measured}: {}", time.get());
        }
    }

    #[test]
    fn every_turn_is_made() {
        // Computed with CPython: `x = (x * 6364136223846793005 + 1442695040888963407) & 2**64 - 1`,
        // this often from 1.
        assert_eq!(spin(1), 0x6c57_6fac_43fd_007c);
        assert_eq!(spin(1000), 0xf517_ff66_df0c_bea9);
    }
}
