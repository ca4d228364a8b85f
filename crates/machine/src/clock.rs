//! The clocks of the machine.

use morecores_study::Nanos;

/// The monotonic clock, from an arbitrary start.
pub fn monotonic() -> Nanos {
    nanos(rustix::time::clock_gettime(rustix::time::ClockId::Monotonic))
}

/// The wall clock, since 1970.
pub fn realtime() -> Nanos {
    nanos(rustix::time::clock_gettime(rustix::time::ClockId::Realtime))
}

fn nanos(t: rustix::time::Timespec) -> Nanos {
    Nanos((t.tv_sec as u64) * 1_000_000_000 + t.tv_nsec as u64)
}
