//! Capacity of a machine: the number of CPUs like the measured ones that its CPUs amount to.
//!
//! Two things make it smaller than the number of CPUs, and no measurement on fewer CPUs shows
//! them: a knee, where a shared resource such as the memory's bandwidth is exhausted, and CPUs of
//! another kind. This module draws both from priors. It knows no program and no model.

use morecores_study::CpuKind;

/// Chance of a knee in each doubling of the CPUs beyond the measured ones. The place of the knee
/// within a doubling is log-uniform. The value has no source and is a choice: with it, the lower
/// end of a 90% band of the speedup is a knee four tenths of a doubling beyond the measured counts.
const KNEE_CHANCE: f64 = 0.125;

/// Smallest count at which a knee is assumed: one CPU alone does not exhaust a shared resource.
const FIRST_KNEE: u32 = 2;

/// Range of the work that a CPU of another kind does in the time in which one like the measured
/// ones does a unit. The ranges are choices, and wide.
const fn share_of_kind(kind: CpuKind) -> [f64; 2] {
    match kind {
        CpuKind::First | CpuKind::Core => LIKE_FIRST,
        CpuKind::SmtSibling => [0.0, 0.6],
        CpuKind::OtherNode | CpuKind::OtherPackage => [0.4, 1.0],
        CpuKind::OtherCoreType => [0.2, 1.0],
    }
}

/// Range of a CPU of the first kind, and of a kind that was measured and so is in the curve.
const LIKE_FIRST: [f64; 2] = [1.0, 1.0];

/// Known facts about the CPUs of the predicted machine.
#[derive(Clone, Copy, Debug)]
pub(in crate::forecast) struct CapacityRange<'a> {
    /// Largest measured count.
    pub(in crate::forecast) largest: u32,
    /// Kind of each CPU, in the order in which counts add them; empty if all are alike.
    pub(in crate::forecast) kinds: &'a [CpuKind],
}

/// Steps of an even sequence of points in the unit square: powers of the root of `x³ = x + 1`, the
/// golden ratio of two dimensions (H. Niederreiter, Random Number Generation and Quasi-Monte Carlo
/// Methods, 1992, describes such sequences).
const EVEN_STEPS: [f64; 2] = [0.754_877_666_246_692_8, 0.569_840_290_998_053_3];

/// One possible capacity for each number of busy CPUs.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::forecast) struct Capacity {
    /// Count beyond which no further CPU adds capacity.
    knee: f64,
    /// Capacity of 1, 2, … CPUs without the knee; a further CPU adds one.
    without_knee: Vec<f64>,
}

impl<'a> CapacityRange<'a> {
    /// Facts about a machine with `cpus` CPUs. `kinds` are those of the measured machine; a larger
    /// machine is assumed to have CPUs like the first ones alone.
    pub(in crate::forecast) fn for_target(largest: u32, kinds: &'a [CpuKind], cpus: u32) -> Self {
        Self { largest, kinds: if cpus as usize <= kinds.len() { kinds } else { &[] } }
    }

    /// Capacity of the draw with this number. The first draws, however many, are spread evenly over
    /// both priors: few random ones would leave the ends of a distribution to chance.
    pub(in crate::forecast) fn draw(&self, number: u64) -> Capacity {
        let [knee_chance, share] = EVEN_STEPS.map(|step| ((number + 1) as f64 * step).fract());
        self.at(knee_chance, share)
    }

    /// Capacity with the knee at the quantile `knee_chance` of its prior, and with CPUs of other
    /// kinds at the place `share` in their ranges; both from 0 to 1.
    fn at(&self, knee_chance: f64, share: f64) -> Capacity {
        let doublings = (1.0 - knee_chance).ln() / (1.0 - KNEE_CHANCE).ln();
        let measured = self.kinds.get(..self.largest as usize).unwrap_or(self.kinds);
        let mut sum = 0.0;
        let add = |kind: &CpuKind| {
            let [least, most] = if measured.contains(kind) { LIKE_FIRST } else { share_of_kind(*kind) };
            sum += least + share * (most - least);
            sum
        };
        Capacity {
            knee: f64::from(self.largest.max(FIRST_KNEE)) * doublings.exp2(),
            without_knee: self.kinds.iter().map(add).collect(),
        }
    }
}

impl Capacity {
    /// Number of CPUs like the measured ones that `cpus` CPUs amount to.
    pub(in crate::forecast) fn effective_cpus(&self, cpus: u32) -> f64 {
        let known = self.without_knee.get(cpus.saturating_sub(1) as usize);
        known.copied().unwrap_or_else(|| f64::from(cpus)).min(self.knee).max(1.0)
    }

    /// Whether the knee is below `cpus` CPUs.
    pub(in crate::forecast) fn has_knee_below(&self, cpus: u32) -> bool {
        self.knee < f64::from(cpus)
    }

    /// Multiplies the time of a piece of work with 1, 2, … busy CPUs by the lack of capacity.
    pub(in crate::forecast) fn slow_down(&self, slowdown: &mut [f64]) {
        for (busy, slowdown) in (1..).zip(slowdown) {
            *slowdown *= f64::from(busy) / self.effective_cpus(busy);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALIKE: CapacityRange<'_> = CapacityRange { largest: 4, kinds: &[] };

    #[test]
    fn knees_are_beyond_the_measured_counts() {
        let places: Vec<f64> = (0..100)
            .map(|step| ALIKE.at((f64::from(step) + 0.5) / 100.0, 0.0).effective_cpus(1 << 20))
            .collect();
        assert!(places[0] >= 4.0 && places.is_sorted());
        // One doubling has the stated chance, and three have that of at least one in three.
        let chance = |count: f64| places.iter().filter(|place| **place <= count).count() as f64 / 100.0;
        assert!((chance(8.0) - KNEE_CHANCE).abs() < 0.011);
        assert!((chance(32.0) - (1.0 - (1.0 - KNEE_CHANCE).powi(3))).abs() < 0.011);
    }

    #[test]
    fn siblings_add_less_than_cores() {
        let kinds = [vec![CpuKind::Core; 8], vec![CpuKind::SmtSibling; 8]].concat();
        let range = CapacityRange { largest: 8, kinds: &kinds };
        let no_knee = |share: f64| range.at(0.999_999, share);
        assert_eq!(no_knee(0.5).effective_cpus(8), 8.0);
        assert!((no_knee(0.0).effective_cpus(16) - 8.0).abs() < 1e-9);
        assert!((no_knee(0.5).effective_cpus(16) - (8.0 + 8.0 * 0.3)).abs() < 1e-9);
        // A kind that was measured is in the curve already.
        let measured = CapacityRange { largest: 9, kinds: &kinds };
        assert!((measured.at(0.999_999, 0.0).effective_cpus(16) - 16.0).abs() < 1e-9);
    }

    #[test]
    fn work_slows_down_beyond_a_knee_alone() {
        let at_knee = CapacityRange { largest: 2, kinds: &[] }.at(0.0, 0.0);
        let mut slowdown = vec![1.0; 4];
        at_knee.slow_down(&mut slowdown);
        assert_eq!(slowdown, [1.0, 1.0, 1.5, 2.0]);
    }
}
