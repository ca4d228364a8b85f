//! Clocks of the machine, and the steps in which the kernel counts time.

use morecores_study::Nanos;
use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};

/// Reads the monotonic clock, which has an arbitrary start.
pub fn monotonic() -> Nanos {
    nanos(clock_gettime(ClockId::Monotonic))
}

/// Reads the wall clock, which counts from 1970.
pub fn realtime() -> Nanos {
    nanos(clock_gettime(ClockId::Realtime))
}

/// CPU time of the calling thread so far.
pub fn thread_cpu() -> Nanos {
    nanos(clock_gettime(ClockId::ThreadCPUTime))
}

/// CPU time of this process so far.
pub fn process_cpu() -> Nanos {
    nanos(clock_gettime(ClockId::ProcessCPUTime))
}

/// Unit of the times in `/proc` (`USER_HZ`): 10 ms on almost every architecture.
pub fn user_tick() -> Nanos {
    Nanos(1_000_000_000 / procfs::ticks_per_second().max(1))
}

/// Time between two ticks of the kernel (`CONFIG_HZ`), at which it samples user and system time:
/// the resolution of its coarse clock.
pub fn kernel_tick() -> Nanos {
    nanos(clock_getres(ClockId::MonotonicCoarse))
}

fn nanos(time: Timespec) -> Nanos {
    Nanos::from_timespec(time.tv_sec, time.tv_nsec)
}
