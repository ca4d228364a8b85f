//! How much longer work takes when other CPUs are busy: memory and caches that are shared, hyper-threads, a clock that sinks.
//!
//! Known at the concurrency that was measured; beyond it only a shape can be assumed, and several are.

/// How the slowdown goes on beyond what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// By as much with each CPU more: a resource that is used up evenly.
    Linear,
    /// By less and less: `log2` of the CPUs. What is shared is felt at first, and then less of it is left to lose.
    Logarithmic,
    /// By more and more: with the pairs of CPUs, as coherency does.
    Pairs,
}

impl Shape {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Linear, Self::Logarithmic, Self::Pairs];

    /// Zero with one CPU busy, one with two.
    fn growth(self, busy: f64) -> f64 {
        let more = (busy - 1.0).max(0.0);
        match self {
            Self::Linear => more,
            Self::Logarithmic => busy.max(1.0).log2(),
            Self::Pairs => more * busy / 2.0,
        }
    }
}

/// A slowdown of some shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inflation {
    /// How it goes on.
    pub shape: Shape,
    /// What the second busy CPU adds to the time of a piece of work, relative to that alone; not negative.
    pub second: f64,
}

impl Inflation {
    /// None at all.
    pub const NONE: Self = Self { shape: Shape::Linear, second: 0.0 };

    /// From how many CPUs were busy on average and how much CPU time the program then took, relative to one CPU; least squares
    /// through one CPU and no slowdown.
    pub fn fit(shape: Shape, measured: &[(f64, f64)]) -> Self {
        // How the sum of squares changes with what the second CPU adds: it grows beyond the least one.
        let slope = |second: f64| -> f64 {
            let with = Self { shape, second };
            measured
                .iter()
                .map(|(busy, ratio)| (1.0 + with.growth(*busy) - ratio) * with.steepness(*busy))
                .sum()
        };
        if slope(0.0) >= 0.0 {
            return Self { shape, second: 0.0 };
        }
        let (mut low, mut high) = (0.0, MOST);
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            if slope(middle) > 0.0 { high = middle } else { low = middle }
        }
        Self { shape, second: (low + high) / 2.0 }
    }

    /// How much longer a piece of work takes with 1, 2, … `cpus` CPUs busy than alone.
    pub fn slowdown(self, cpus: u32) -> Vec<f64> {
        (1..=cpus).map(|busy| 1.0 + self.growth(f64::from(busy))).collect()
    }

    /// What that adds to the time of a piece of work.
    fn growth(self, busy: f64) -> f64 {
        let usual = self.second.min(STEEP);
        usual * self.shape.growth(busy) + (self.second - usual) * levelling(busy)
    }

    /// How fast that grows with what the second CPU adds.
    fn steepness(self, busy: f64) -> f64 {
        if self.second < STEEP { self.shape.growth(busy) } else { levelling(busy) }
    }
}

/// Half as much is left to lose with each doubling.
fn levelling(busy: f64) -> f64 {
    2.0 * (1.0 - 1.0 / busy.max(1.0))
}

/// What the second CPU adds beyond this levels off, whatever the shape: what costs so much at once, as does a clock that sinks, cannot go
/// on for long.
const STEEP: f64 = 0.15;

/// No slowdown by the second CPU is larger.
const MOST: f64 = 4.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goes_through_what_was_measured() {
        for shape in Shape::ALL {
            let found = Inflation::fit(shape, &[(1.0, 1.0), (2.0, 1.06)]);
            assert!((found.slowdown(2)[1] - 1.06).abs() < 1e-12);
        }
        let [linear, log, pairs] =
            Shape::ALL.map(|shape| Inflation::fit(shape, &[(2.0, 1.06)]).slowdown(8)[7]);
        assert!(log < linear && linear < pairs);
    }

    #[test]
    fn more_counts_are_met_on_average() {
        let found = Inflation::fit(Shape::Linear, &[(2.0, 1.1), (3.0, 1.1)]);
        // The least of (s - 0.1)² + (2s - 0.1)².
        assert!((found.second - 0.06).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn what_costs_much_at_once_levels_off_without_a_jump() {
        let at_16 = |second: f64| Inflation::fit(Shape::Logarithmic, &[(2.0, 1.0 + second)]).slowdown(16)[15];
        assert!((at_16(0.15) - 1.6).abs() < 1e-6);
        // 0.15 for each of four doublings, and 0.3 that is nearly doubled.
        assert!((at_16(0.45) - (1.0 + 0.6 + 0.3 * 1.875)).abs() < 1e-6);
        assert!(at_16(0.149) < at_16(0.151) && at_16(0.151) < at_16(0.153));
    }

    #[test]
    fn is_never_negative() {
        assert_eq!(Inflation::fit(Shape::Linear, &[(2.0, 0.97)]).slowdown(4), [1.0; 4]);
        assert_eq!(Inflation::fit(Shape::Linear, &[]).slowdown(2), [1.0; 2]);
    }
}
