//! Clocks of the machine.

use morecores_study::Nanos;

/// Reads the monotonic clock, which has an arbitrary start.
pub fn monotonic() -> Nanos {
    nanos(rustix::time::clock_gettime(rustix::time::ClockId::Monotonic))
}

/// Reads the wall clock, which counts from 1970.
pub fn realtime() -> Nanos {
    nanos(rustix::time::clock_gettime(rustix::time::ClockId::Realtime))
}

fn nanos(t: rustix::time::Timespec) -> Nanos {
    Nanos((t.tv_sec as u64) * 1_000_000_000 + t.tv_nsec as u64)
}
