//! CPU bandwidth: the quota of a cell, and the throttling by it in a run.
//!
//! This module holds facts only. It does not decide whether a quota suffices.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Axis, Coordinates, Nanos};

/// Name of the axis of the quotas, and the unit of its values: 100 is the time of one CPU.
const AXIS: (&str, &str) = ("quota", "percent");
/// Key of the axis of the quotas.
pub const QUOTA_AXIS: &str = "quota_percent";

/// CPU time that a run may use in each period of 100 ms, in percent of the time of one CPU. A
/// container engine calls it 1.5 CPUs, Kubernetes 1500m, and systemd 150%.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(transparent)]
pub struct QuotaPercent(pub u32);

impl QuotaPercent {
    /// Quota of the coordinates of a cell, if it has one.
    pub fn from_coordinates(coordinates: &Coordinates) -> Option<Self> {
        let value = coordinates.get(QUOTA_AXIS)?.number()?;
        value.try_into().ok().map(Self)
    }

    /// Axis of these quotas.
    pub fn axis(quotas: &[Self]) -> Axis {
        Axis::new(AXIS.0, quotas.iter().map(|quota| quota.0)).in_unit(AXIS.1)
    }

    /// Number of CPUs that the quota keeps busy.
    pub fn cpus(self) -> f64 {
        f64::from(self.0) / 100.0
    }
}

/// As container engines write it: `1.5`.
impl fmt::Display for QuotaPercent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cpus().fmt(f)
    }
}

/// Use of a quota in a run (Documentation/scheduler/sched-bwc.rst, "Statistics").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// Periods in which the tree ran or was ready to.
    pub periods: u64,
    /// Periods in which the quota was used up, so that the tree was throttled.
    pub throttled_periods: u64,
    /// Time for which CPUs were denied to the tree, summed over the CPUs on which it was ready to
    /// run.
    pub throttled_ns: Nanos,
}

impl Bandwidth {
    /// Use since an earlier reading of the same counters.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            periods: self.periods.saturating_sub(earlier.periods),
            throttled_periods: self.throttled_periods.saturating_sub(earlier.throttled_periods),
            throttled_ns: self.throttled_ns.since(earlier.throttled_ns),
        }
    }

    /// Share of the time for which the tree had or wanted a CPU that throttling took.
    /// `used` is its CPU time.
    pub fn throttled_share(self, used: Nanos) -> Option<f64> {
        let wanted = self.throttled_ns + used;
        (wanted > Nanos::ZERO).then(|| self.throttled_ns.0 as f64 / wanted.0 as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_a_coordinate_and_a_number_of_cpus() {
        let axis = QuotaPercent::axis(&[QuotaPercent(50), QuotaPercent(200)]);
        assert_eq!(axis.key(), QUOTA_AXIS);
        assert_eq!([QuotaPercent(150).to_string(), QuotaPercent(200).to_string()], ["1.5", "2"]);
        assert_eq!(QuotaPercent::from_coordinates(&Coordinates::new()), None);
        let coordinates = [(QUOTA_AXIS.to_owned(), 150_u32.into())].into();
        assert_eq!(QuotaPercent::from_coordinates(&coordinates), Some(QuotaPercent(150)));
    }

    #[test]
    fn the_throttled_share_is_of_the_wanted_time() {
        let before = Bandwidth { periods: 2, throttled_periods: 1, throttled_ns: Nanos(5) };
        let after = Bandwidth { periods: 12, throttled_periods: 9, throttled_ns: Nanos(80) };
        let used = after.since(before);
        assert_eq!((used.periods, used.throttled_periods), (10, 8));
        assert_eq!(used.throttled_share(Nanos(25)), Some(0.75));
        assert_eq!(Bandwidth::default().throttled_share(Nanos::ZERO), None);
    }
}
