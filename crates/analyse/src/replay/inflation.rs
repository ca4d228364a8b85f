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
    /// By half as much with each doubling: something that is nearly used up by the second CPU, as is a clock that sinks once
    /// a second core works.
    Levelling,
    /// By more and more: with the pairs of CPUs, as coherency does.
    Pairs,
}

impl Shape {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Linear, Self::Logarithmic, Self::Levelling, Self::Pairs];

    /// Zero with one CPU busy, one with two.
    fn growth(self, busy: f64) -> f64 {
        let more = (busy - 1.0).max(0.0);
        match self {
            Self::Linear => more,
            Self::Logarithmic => busy.max(1.0).log2(),
            Self::Levelling => 2.0 * (1.0 - 1.0 / busy.max(1.0)),
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
        let growth = |busy: &f64| shape.growth(*busy);
        let product: f64 = measured.iter().map(|(busy, ratio)| growth(busy) * (ratio - 1.0)).sum();
        let square: f64 = measured.iter().map(|(busy, _)| growth(busy).powi(2)).sum();
        let second = if square > 0.0 { (product / square).max(0.0) } else { 0.0 };
        Self { shape, second }
    }

    /// How much longer a piece of work takes with 1, 2, … `cpus` CPUs busy than alone.
    pub fn slowdown(self, cpus: u32) -> Vec<f64> {
        (1..=cpus).map(|busy| 1.0 + self.second * self.shape.growth(f64::from(busy))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goes_through_what_was_measured() {
        for shape in Shape::ALL {
            let found = Inflation::fit(shape, &[(1.0, 1.0), (2.0, 1.06)]);
            assert!((found.slowdown(2)[1] - 1.06).abs() < 1e-12);
        }
        let [linear, log, levelling, pairs] =
            Shape::ALL.map(|shape| Inflation::fit(shape, &[(2.0, 1.06)]).slowdown(8)[7]);
        assert!(levelling < log && log < linear && linear < pairs);
    }

    #[test]
    fn is_never_negative() {
        assert_eq!(Inflation::fit(Shape::Linear, &[(2.0, 0.97)]).slowdown(4), [1.0; 4]);
        assert_eq!(Inflation::fit(Shape::Linear, &[]).slowdown(2), [1.0; 2]);
    }
}
