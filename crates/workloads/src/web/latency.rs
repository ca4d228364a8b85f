//! Latencies of responses: a histogram in bounded memory, and its percentiles.

use hdrhistogram::Histogram;
use morecores_study::Nanos;

use crate::{Figure, WorkloadError};

/// Longest latency that the histogram distinguishes, in nanoseconds: an hour, longer than any run
/// here.
const MAX_LATENCY: u64 = 3_600_000_000_000;

/// Significant digits of the histogram. A percentile is correct to 0.1%, and a histogram takes 270
/// KiB.
const DIGITS: u8 = 3;

/// Figures: a name, and the share of responses that took no longer.
const PERCENTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)];

/// Latencies of responses.
#[derive(Clone, Debug)]
pub(super) struct Latencies(Histogram<u64>);

impl Latencies {
    /// An empty histogram.
    pub(super) fn new() -> Result<Self, WorkloadError> {
        // The constructor fails only for invalid bounds or digits, and these are valid.
        let histogram = Histogram::new_with_max(MAX_LATENCY, DIGITS);
        histogram.map(Self).map_err(|error| WorkloadError::CannotRun(format!("no histogram: {error}")))
    }

    /// Adds one latency.
    pub(super) fn add(&mut self, latency: Nanos) {
        self.0.saturating_record(latency.0);
    }

    /// Adds all latencies of another histogram.
    pub(super) fn merge(&mut self, other: &Self) {
        // Both have equal bounds.
        let _ = self.0.add(&other.0);
    }

    /// Number of latencies.
    pub(super) fn count(&self) -> u64 {
        self.0.len()
    }

    /// Percentiles, in milliseconds.
    pub(super) fn figures(&self) -> Vec<Figure> {
        let value = |share| self.0.value_at_quantile(share) as f64 / 1e6;
        PERCENTILES.map(|(name, share)| Figure { name, value: value(share), unit: "ms" }).to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_latencies() {
        // Two threads record 1 us, 2 us, … 10 ms: the share q took no longer than q times 10 ms.
        let (mut odd, mut even) = (Latencies::new().unwrap(), Latencies::new().unwrap());
        for us in 1..=10_000 {
            if us % 2 == 1 { &mut odd } else { &mut even }.add(Nanos::from_micros(us));
        }
        odd.merge(&even);
        assert_eq!(odd.count(), 10_000);
        for (figure, truth) in odd.figures().iter().zip([5.0, 9.0, 9.9, 9.99, 10.0]) {
            assert!((figure.value / truth - 1.0).abs() < 0.001, "{figure}: {truth}");
        }
    }

    #[test]
    fn a_latency_above_the_maximum_is_kept() {
        let mut latencies = Latencies::new().unwrap();
        latencies.add(Nanos(u64::MAX));
        assert!(latencies.figures()[4].value >= MAX_LATENCY as f64 / 1e6);
    }
}
