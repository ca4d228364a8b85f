//! Slowdown of work by other busy CPUs, from shared memory and caches, SMT siblings, and a falling
//! clock frequency.
//!
//! The slowdown is known at the measured concurrency. Beyond it only a shape can be assumed, and
//! several shapes exist.

/// Shape of the slowdown beyond the measured concurrency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Constant increase per added CPU: a resource that is used up evenly.
    Linear,
    /// Decreasing increase: `log2` of the CPUs. Sharing costs most with the first CPUs, and each
    /// later CPU adds less.
    Logarithmic,
    /// Growing increase, with the number of pairs of CPUs, as in coherency.
    Pairs,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 3] = [Self::Linear, Self::Logarithmic, Self::Pairs];

    /// Growth at a number of busy CPUs: zero with one, one with two.
    fn growth(self, busy: f64) -> f64 {
        let more = (busy - 1.0).max(0.0);
        match self {
            Self::Linear => more,
            Self::Logarithmic => busy.max(1.0).log2(),
            Self::Pairs => more * busy / 2.0,
        }
    }
}

/// Slowdown with a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inflation {
    /// Shape of the slowdown.
    pub shape: Shape,
    /// Extra time of a piece of work with a second busy CPU, relative to its time alone; not
    /// negative.
    pub second: f64,
}

impl Inflation {
    /// No slowdown.
    pub const NONE: Self = Self { shape: Shape::Linear, second: 0.0 };

    /// Fits the slowdown to pairs of the mean number of busy CPUs and the program's CPU time
    /// relative to one CPU. The fit is by least squares, and fixes no slowdown at one CPU.
    pub fn fit(shape: Shape, measured: &[(f64, f64)]) -> Self {
        // Slope of the sum of squares in the second CPU's effect; it is positive beyond the
        // minimum.
        let slope = |second: f64| -> f64 {
            let with = Self { shape, second };
            measured
                .iter()
                .map(|(busy, ratio)| (1.0 + with.growth(*busy) - ratio) * with.growth_derivative(*busy))
                .sum()
        };
        if slope(0.0) >= 0.0 {
            return Self { shape, second: 0.0 };
        }
        let (mut low, mut high) = (0.0, MAX_SECOND);
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            if slope(middle) > 0.0 { high = middle } else { low = middle }
        }
        Self { shape, second: (low + high) / 2.0 }
    }

    /// Time of a piece of work with 1, 2, … `cpus` busy CPUs, relative to its time alone.
    pub fn slowdown(self, cpus: u32) -> Vec<f64> {
        (1..=cpus).map(|busy| 1.0 + self.growth(f64::from(busy))).collect()
    }

    /// Extra time of a piece of work, relative to its time alone.
    fn growth(self, busy: f64) -> f64 {
        let unlevelled = self.second.min(LEVELLING_THRESHOLD);
        unlevelled * self.shape.growth(busy) + (self.second - unlevelled) * levelling_growth(busy)
    }

    /// Derivative of the growth with respect to the second CPU's effect.
    fn growth_derivative(self, busy: f64) -> f64 {
        if self.second < LEVELLING_THRESHOLD { self.shape.growth(busy) } else { levelling_growth(busy) }
    }
}

/// Growth that levels off: each doubling halves the remaining part.
fn levelling_growth(busy: f64) -> f64 {
    2.0 * (1.0 - 1.0 / busy.max(1.0))
}

/// Effect of the second CPU beyond which the slowdown levels off, for every shape. So large a cost,
/// such as a falling clock frequency, cannot continue to grow for long.
const LEVELLING_THRESHOLD: f64 = 0.15;

/// Upper limit of the second CPU's effect.
const MAX_SECOND: f64 = 4.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fit_passes_through_the_measured_point() {
        for shape in Shape::ALL {
            let found = Inflation::fit(shape, &[(1.0, 1.0), (2.0, 1.06)]);
            assert!((found.slowdown(2)[1] - 1.06).abs() < 1e-12);
        }
        let [linear, log, pairs] =
            Shape::ALL.map(|shape| Inflation::fit(shape, &[(2.0, 1.06)]).slowdown(8)[7]);
        assert!(log < linear && linear < pairs);
    }

    #[test]
    fn fit_averages_several_counts() {
        let found = Inflation::fit(Shape::Linear, &[(2.0, 1.1), (3.0, 1.1)]);
        // The expected value minimises (s - 0.1)² + (2s - 0.1)².
        assert!((found.second - 0.06).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn large_slowdown_levels_off_without_a_jump() {
        let at_16 = |second: f64| Inflation::fit(Shape::Logarithmic, &[(2.0, 1.0 + second)]).slowdown(16)[15];
        assert!((at_16(0.15) - 1.6).abs() < 1e-6);
        // The expected value is 0.15 for each of four doublings, plus 0.3 that is nearly doubled.
        assert!((at_16(0.45) - (1.0 + 0.6 + 0.3 * 1.875)).abs() < 1e-6);
        assert!(at_16(0.149) < at_16(0.151) && at_16(0.151) < at_16(0.153));
    }

    #[test]
    fn is_never_negative() {
        assert_eq!(Inflation::fit(Shape::Linear, &[(2.0, 0.97)]).slowdown(4), [1.0; 4]);
        assert_eq!(Inflation::fit(Shape::Linear, &[]).slowdown(2), [1.0; 2]);
    }
}
