//! Knee by the bandwidth of the memory: what the machine's measured bandwidth says about a program.
//!
//! There are two hypotheses about a program:
//!
//! - It lives on the bandwidth. Its user time grows as the time per copied byte does.
//! - It does not. Its user time does not grow, or it grows for another reason.
//!
//! The growth of the program's user time between its measured counts decides between them by Bayes'
//! rule. This module knows no model of the program.

use std::f64::consts::{FRAC_PI_2, TAU};

use morecores_view::Estimate;
use morecores_view::machine_memory::MemoryPoint;

use crate::forecast::evidence::{MeasuredPoint, estimate_error};

/// Chance that a program lives on the bandwidth, before its user time is compared. The value has no
/// source and is a choice: that of a knee in one doubling without a measured bandwidth.
const STREAMING_CHANCE: f64 = 0.125;

/// Spread of the logarithm of a growth. It is the standard deviation around the growth of the time
/// per byte, and the mean of an exponential distribution of the growth by other causes. It is also
/// the range of the growth beyond the measured counts, relative to that of the time per byte. The
/// value is a choice.
const GROWTH_SPREAD: f64 = 0.1;

/// Bandwidth of the memory beyond the measured counts of a program.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::forecast) struct MemoryKnee {
    /// Chance that the program lives on the bandwidth.
    pub(in crate::forecast) chance: f64,
    /// Largest measured count of the program.
    largest: u32,
    /// Growth of the time per byte by the number of CPUs.
    curve: Vec<CurvePoint>,
}

/// Time per copied byte on `cpus` CPUs that copy at once.
#[derive(Clone, Copy, Debug, PartialEq)]
struct CurvePoint {
    cpus: u32,
    /// Logarithm of the time.
    log_time: f64,
    /// Standard error of the logarithm.
    error: f64,
}

impl CurvePoint {
    fn new(point: &MemoryPoint) -> Self {
        let Estimate { value, .. } = point.copy_bytes_per_s;
        Self {
            cpus: point.cpus,
            log_time: (f64::from(point.cpus) / value).ln(),
            error: estimate_error(point.copy_bytes_per_s),
        }
    }
}

impl MemoryKnee {
    /// Compares the program at its `known` counts with the machine's memory. `None` unless the
    /// memory was measured on all these counts and beyond, and for one count or without CPU times:
    /// there is then no growth to compare.
    pub(in crate::forecast) fn new(memory: &[MemoryPoint], known: &[MeasuredPoint]) -> Option<Self> {
        let (first, last) = known.first().zip(known.last())?;
        let usable = memory.iter().filter(|point| point.copy_bytes_per_s.value > 0.0);
        let curve: Vec<CurvePoint> = usable.map(CurvePoint::new).collect();
        let covered = curve.first()?.cpus..curve.last()?.cpus;
        if !(covered.contains(&first.cpus) && covered.contains(&last.cpus)) {
            return None;
        }
        let mut knee = Self { chance: STREAMING_CHANCE, largest: last.cpus, curve };
        let (user, memory) = (user_growth(*first, *last)?, knee.growth(first.cpus, last.cpus));
        let odds = STREAMING_CHANCE / (1.0 - STREAMING_CHANCE) * likelihood_ratio(user, memory);
        knee.chance = odds / (1.0 + odds);
        Some(knee)
    }

    /// Largest number of CPUs for which the bandwidth is known.
    pub(in crate::forecast) fn most_cpus(&self) -> u32 {
        self.curve.last().map_or(0, |point| point.cpus)
    }

    /// Whether the measured counts make the bandwidth the likelier hypothesis.
    pub(in crate::forecast) fn is_likely(&self) -> bool {
        self.chance > 0.5
    }

    /// Capacity of 1, 2, … CPUs for a program that lives on the bandwidth. `place` from 0 to 1 is a
    /// place in the range of the growth, the largest growth first.
    pub(super) fn capacities(&self, place: f64) -> Vec<f64> {
        let power = 1.0 + GROWTH_SPREAD * (1.0 - 2.0 * place);
        let capacity = |cpus: u32| {
            let growth = self.growth(self.largest, cpus.max(self.largest));
            f64::from(cpus) / (power * growth.log.max(0.0)).exp()
        };
        (1..=self.most_cpus()).map(capacity).collect()
    }

    /// Growth of the time per byte from one count to another.
    fn growth(&self, from: u32, to: u32) -> Growth {
        let (from, to) = (self.at(from), self.at(to));
        Growth { log: to.log_time - from.log_time, error: to.error.hypot(from.error) }
    }

    /// Point of the curve, which is straight between measured counts on logarithmic axes.
    fn at(&self, cpus: u32) -> CurvePoint {
        let above = self.curve.partition_point(|point| point.cpus < cpus).min(self.curve.len() - 1);
        let (low, high) = (self.curve[above.saturating_sub(1)], self.curve[above]);
        let log = |cpus: u32| f64::from(cpus).ln();
        let span = log(high.cpus) - log(low.cpus);
        let share = if span > 0.0 { (log(cpus) - log(low.cpus)) / span } else { 0.0 };
        let between = |low: f64, high: f64| low + share * (high - low);
        CurvePoint {
            cpus,
            log_time: between(low.log_time, high.log_time),
            error: between(low.error, high.error),
        }
    }
}

/// Growth of a time with more CPUs.
#[derive(Clone, Copy, Debug)]
struct Growth {
    /// Logarithm of the ratio of the times.
    log: f64,
    /// Standard error of the logarithm.
    error: f64,
}

/// Growth of the program's user time. `None` for one count, or without CPU times.
fn user_growth(first: MeasuredPoint, last: MeasuredPoint) -> Option<Growth> {
    let user = |point: MeasuredPoint| {
        Some(point.work? * (1.0 - point.kernel.unwrap_or(0.0))).filter(|time| *time > 0.0)
    };
    let log = (user(last)? / user(first)?).ln();
    (first.cpus < last.cpus).then_some(Growth { log, error: last.error.hypot(first.error) })
}

/// Likelihood of the growth of the `user` time for a program that lives on the bandwidth, over that
/// for any other program. The former is normal around the growth of the `memory`'s time. The latter
/// is exponential above zero and half of a normal distribution below.
fn likelihood_ratio(user: Growth, memory: Growth) -> f64 {
    let spread = GROWTH_SPREAD.hypot(user.error).hypot(memory.error);
    let log_bell = |steps: f64| -0.5 * steps.powi(2);
    let (user, excess) = (user.log / spread, (user.log - memory.log.max(0.0)) / spread);
    let streaming = log_bell(excess) - TAU.sqrt().ln();
    let other = if user < 0.0 { log_bell(user) } else { -user } - (1.0 + FRAC_PI_2.sqrt()).ln();
    (streaming - other).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    impl MemoryKnee {
        /// Knee of a program that was measured on 1 and `largest` CPUs, on a machine of 16 CPUs
        /// whose memory is exhausted by the copies of `enough` CPUs.
        pub(in crate::forecast::band) fn exhausted_by(enough: f64, largest: u32, user_growth: f64) -> Self {
            Self::new(&memory_for(enough), &program(largest, user_growth)).expect("a bandwidth")
        }
    }

    /// Memory that is exhausted by the copies of `enough` CPUs.
    fn memory_for(enough: f64) -> Vec<MemoryPoint> {
        let point = |cpus: u32| {
            let rate = 1e10 * f64::from(cpus).min(enough);
            let copy_bytes_per_s = Estimate { value: rate, ci95: Some([0.99 * rate, 1.01 * rate]) };
            MemoryPoint { cpus, copy_bytes_per_s, access_s: Estimate { value: 9e-8, ci95: None } }
        };
        [1, 2, 4, 8, 16].map(point).to_vec()
    }

    /// Program with this user time, relative to one CPU, on its largest count.
    fn program(cpus: u32, growth: f64) -> Vec<MeasuredPoint> {
        let point = |cpus: u32, work: f64| MeasuredPoint {
            cpus,
            elapsed: work / f64::from(cpus),
            error: 0.01,
            speedup_error: 0.01,
            deviation: 0.02,
            work: Some(work),
            kernel: Some(0.0),
        };
        vec![point(1, 1.0), point(cpus, growth)]
    }

    fn chance(cpus: u32, growth: f64) -> f64 {
        MemoryKnee::exhausted_by(6.0, cpus, growth).chance
    }

    #[test]
    fn the_growth_of_the_user_time_decides_between_the_hypotheses() {
        // Up to 4 CPUs neither grows, so nothing is learnt.
        assert!((chance(4, 1.0) - STREAMING_CHANCE).abs() < 0.02, "{}", chance(4, 1.0));
        // On 8 CPUs a copied byte takes a third longer.
        assert!(chance(8, 1.0) < 0.01, "{}", chance(8, 1.0));
        assert!(chance(8, 8.0 / 6.0) > 0.6, "{}", chance(8, 8.0 / 6.0));
        // A much larger growth has another cause.
        assert!(chance(8, 3.0) < 0.01, "{}", chance(8, 3.0));
        // A noisy measurement tells less.
        let mut noisy = program(8, 1.0);
        noisy.iter_mut().for_each(|point| point.error = 0.3);
        let noisy = MemoryKnee::new(&memory_for(6.0), &noisy).expect("a curve").chance;
        assert!(noisy > 10.0 * chance(8, 1.0), "{noisy}");
    }

    #[test]
    fn the_capacity_follows_the_bandwidth_beyond_the_measured_counts() {
        let knee = MemoryKnee::exhausted_by(6.0, 4, 1.0);
        let middle = knee.capacities(0.5);
        assert_eq!(middle[..4], [1.0, 2.0, 3.0, 4.0]);
        assert!((middle[7] - 6.0).abs() < 1e-9 && (middle[15] - 6.0).abs() < 1e-9, "{middle:?}");
        assert!(middle[4] > 4.0 && middle[4] < 6.0, "{middle:?}");
        assert!(knee.capacities(0.0)[15] < 6.0 && knee.capacities(1.0)[15] > 6.0);
        // Measured on 8 CPUs, beyond the bandwidth: further CPUs add nothing to these 8.
        let beyond = MemoryKnee::exhausted_by(6.0, 8, 8.0 / 6.0);
        assert!((beyond.capacities(0.5)[15] - 8.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_is_compared_without_a_bandwidth_or_a_growth() {
        assert_eq!(MemoryKnee::new(&memory_for(6.0), &program(4, 1.0)[..1]), None);
        assert_eq!(MemoryKnee::new(&memory_for(6.0), &program(16, 1.0)), None);
        assert_eq!(MemoryKnee::new(&memory_for(6.0)[1..], &program(4, 1.0)), None);
        assert_eq!(MemoryKnee::new(&[], &program(4, 1.0)), None);
    }
}
