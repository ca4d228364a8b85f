//! Newtypes for quantities with a unit.
//!
//! A bare number never crosses a public boundary. The caller writes out arithmetic that can lose
//! precision or the sign.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Quantity;

/// Nanoseconds per second.
const NANOS_PER_SEC: f64 = 1e9;

/// Length of time in whole nanoseconds, the unit of `clock_gettime(2)`; the range is 584 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Zero time.
    pub const ZERO: Self = Self(0);

    /// Converts whole microseconds, the unit of `struct timeval` and of a cgroup's `cpu.stat`.
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// Converts the two parts of a `struct timespec`, as a clock gives it: neither is negative.
    pub const fn from_timespec(seconds: i64, nanoseconds: i64) -> Self {
        Self(seconds.cast_unsigned() * 1_000_000_000 + nanoseconds.cast_unsigned())
    }

    /// Converts whole milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// Converts seconds, rounded to the nearest nanosecond; negative and non-finite values become
    /// zero.
    pub fn from_secs_f64(s: f64) -> Self {
        // The cast saturates, so that an excessive time becomes the longest time.
        Self((s * NANOS_PER_SEC).round() as u64)
    }

    /// Time in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC
    }

    /// Product of this time and `count`; it saturates.
    pub const fn times(self, count: usize) -> Self {
        Self(self.0.saturating_mul(count as u64))
    }

    /// Median of some times, the later of the two middle ones if their number is even; `None` for
    /// no times. It is one of the times, and the crates that use it do not know `statistics`, which
    /// defines the median of figures.
    pub fn median(mut times: Vec<Self>) -> Option<Self> {
        times.sort_unstable();
        times.get(times.len() / 2).copied()
    }

    /// Time from `earlier` to `self`; zero if `self` is the earlier one.
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Nanos {
    fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
        values.fold(Self::ZERO, Add::add)
    }
}

impl From<Duration> for Nanos {
    fn from(d: Duration) -> Self {
        Self(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(n: Nanos) -> Self {
        Self::from_nanos(n.0)
    }
}

/// Amount of memory or data in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Converts kibibytes, the unit of `ru_maxrss` on Linux and of cache sizes in sysfs.
    pub const fn from_kib(kib: u64) -> Self {
        Self(kib * 1024)
    }
}

impl fmt::Display for Bytes {
    /// Writes the amount with a binary prefix and at most one decimal: `512 B`, `1.5 MiB`, `32
    /// MiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Quantity::Data.text(self.0 as f64))
    }
}

/// Clock rate in kilohertz, the unit of cpufreq's files in sysfs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(transparent)]
pub struct Kilohertz(pub u64);

impl fmt::Display for Kilohertz {
    /// Writes the rate in GHz with at most two decimals: `3 GHz`, `4.7 GHz`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} GHz", (self.0 as f64 / 1e4).round() / 1e2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_round_trip_to_the_nanosecond() {
        for ns in [0, 1, 999, 569_000, 98_400_000_123] {
            assert_eq!(Nanos::from_secs_f64(Nanos(ns).as_secs_f64()), Nanos(ns));
        }
        assert_eq!(Nanos::from_secs_f64(-1.0), Nanos::ZERO);
        assert_eq!(Nanos::from_secs_f64(f64::NAN), Nanos::ZERO);
    }

    #[test]
    fn clock_rates_read_in_gigahertz() {
        assert_eq!(
            [4_700_000, 3_000_000, 1_416_000].map(|k| Kilohertz(k).to_string()),
            ["4.7 GHz", "3 GHz", "1.42 GHz"]
        );
    }
}
