//! Capacity of a machine: the number of CPUs like the measured ones that its CPUs amount to.
//!
//! Two things make it smaller than the number of CPUs, and no measurement on fewer CPUs shows
//! them: a knee, where a shared resource such as the memory's bandwidth is exhausted, and CPUs of
//! another kind. This module draws both from priors; `memory_knee` narrows that of the knee. It
//! knows no program and no model.

use morecores_study::CpuKind;

use super::even::even_quantile;
use super::memory_knee::MemoryKnee;

/// Chance of a knee in each doubling of the CPUs beyond the measured ones. The place of the knee
/// within a doubling is log-uniform. The value has no source and is a choice: with it, the lower
/// end of a 90% band of the speedup is a knee four tenths of a doubling beyond the measured counts.
const KNEE_CHANCE: f64 = 0.125;

/// The same chance for a program whose machine has a measured bandwidth, which the draw of a
/// [`MemoryKnee`] covers: other resources have the rest. Half of the chance is a choice, too.
const OTHER_KNEE_CHANCE: f64 = KNEE_CHANCE / 2.0;

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
    /// Bandwidth of the machine's memory, if it is known for the predicted count.
    pub(in crate::forecast) memory: Option<&'a MemoryKnee>,
}

/// Steps of the quantiles of the knee and of the other kinds: powers of the root of `x³ = x + 1`,
/// the golden ratio of two dimensions.
const EVEN_STEPS: [f64; 2] = [0.754_877_666_246_692_8, 0.569_840_290_998_053_3];

/// One possible capacity for each number of busy CPUs.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::forecast) struct Capacity {
    /// Largest measured count.
    largest: u32,
    knee: Knee,
    /// Capacity of 1, 2, … CPUs without the knee; a further CPU adds one.
    without_knee: Vec<f64>,
}

/// Exhaustion of a shared resource.
#[derive(Clone, Debug, PartialEq)]
enum Knee {
    /// Count beyond which no further CPU adds capacity.
    At(f64),
    /// Bandwidth of the memory, on which the program lives.
    Memory {
        /// Capacity of 1, 2, … CPUs.
        capacities: Vec<f64>,
        /// Whether the measured counts make this knee the likelier case.
        is_likely: bool,
    },
}

impl Knee {
    /// Largest capacity of `cpus` CPUs.
    fn capacity(&self, cpus: u32) -> f64 {
        match self {
            Self::At(count) => *count,
            Self::Memory { capacities, .. } => {
                capacities.get(cpus.saturating_sub(1) as usize).copied().unwrap_or(f64::INFINITY)
            }
        }
    }
}

impl<'a> CapacityRange<'a> {
    /// Facts about a machine with `cpus` CPUs. `kinds` and `memory` are those of the measured
    /// machine; a larger machine is assumed to have CPUs like the first ones alone, and nothing is
    /// known about its memory.
    pub(in crate::forecast) fn for_target(
        largest: u32,
        kinds: &'a [CpuKind],
        memory: Option<&'a MemoryKnee>,
        cpus: u32,
    ) -> Self {
        Self {
            largest,
            kinds: if cpus as usize <= kinds.len() { kinds } else { &[] },
            memory: memory.filter(|memory| cpus <= memory.most_cpus()),
        }
    }

    /// Capacity of the draw with this number. The first draws, however many, are spread evenly over
    /// both priors: few random ones would leave the ends of a distribution to chance.
    pub(in crate::forecast) fn draw(&self, number: u64) -> Capacity {
        let [knee_chance, share] = EVEN_STEPS.map(|step| even_quantile(number, step));
        self.at(knee_chance, share)
    }

    /// Capacity with the knee at the quantile `knee_chance` of its prior, and with CPUs of other
    /// kinds at the place `share` in their ranges; both from 0 to 1.
    fn at(&self, knee_chance: f64, share: f64) -> Capacity {
        let measured = self.kinds.get(..self.largest as usize).unwrap_or(self.kinds);
        let mut sum = 0.0;
        let add = |kind: &CpuKind| {
            let [least, most] = if measured.contains(kind) { LIKE_FIRST } else { share_of_kind(*kind) };
            sum += least + share * (most - least);
            sum
        };
        let without_knee = self.kinds.iter().map(add).collect();
        Capacity { largest: self.largest, knee: self.knee_at(knee_chance), without_knee }
    }

    /// Knee at this quantile of its prior. The bandwidth of the memory comes first.
    fn knee_at(&self, chance: f64) -> Knee {
        let (streaming_chance, other_chance) =
            self.memory.map_or((0.0, KNEE_CHANCE), |memory| (memory.chance, OTHER_KNEE_CHANCE));
        match self.memory {
            Some(memory) if chance < streaming_chance => Knee::Memory {
                capacities: memory.capacities(chance / streaming_chance),
                is_likely: memory.is_likely(),
            },
            _ => {
                let chance = (chance - streaming_chance) / (1.0 - streaming_chance);
                let doublings = (1.0 - chance).ln() / (1.0 - other_chance).ln();
                Knee::At(f64::from(self.largest.max(FIRST_KNEE)) * doublings.exp2())
            }
        }
    }
}

impl Capacity {
    /// Number of CPUs like the measured ones that `cpus` CPUs amount to.
    pub(in crate::forecast) fn effective_cpus(&self, cpus: u32) -> f64 {
        let known = self.without_knee.get(cpus.saturating_sub(1) as usize);
        known.copied().unwrap_or_else(|| f64::from(cpus)).min(self.knee.capacity(cpus)).max(1.0)
    }

    /// Whether a knee below `cpus` CPUs is assumed: the measured counts do not make it likely.
    pub(in crate::forecast) fn has_assumed_knee_below(&self, cpus: u32) -> bool {
        let is_likely = matches!(self.knee, Knee::Memory { is_likely: true, .. });
        !is_likely && self.knee.capacity(cpus) < f64::from(cpus)
    }

    /// Multiplies the time of a piece of work with 1, 2, … busy CPUs by the lack of capacity.
    pub(in crate::forecast) fn slow_down(&self, slowdown: &mut [f64]) {
        let measured = slowdown.get(self.largest.saturating_sub(1) as usize).copied().unwrap_or(1.0);
        for (busy, slowdown) in (1..).zip(slowdown) {
            let lack = f64::from(busy) / self.effective_cpus(busy);
            *slowdown = match self.knee {
                Knee::At(_) => *slowdown * lack,
                // The measured slowdown is that of the bandwidth already, and so is its growth.
                Knee::Memory { .. } => slowdown.max(measured * lack),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALIKE: CapacityRange<'_> = CapacityRange { largest: 4, kinds: &[], memory: None };

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
        let range = CapacityRange { largest: 8, kinds: &kinds, memory: None };
        let no_knee = |share: f64| range.at(0.999_999, share);
        assert_eq!(no_knee(0.5).effective_cpus(8), 8.0);
        assert!((no_knee(0.0).effective_cpus(16) - 8.0).abs() < 1e-9);
        assert!((no_knee(0.5).effective_cpus(16) - (8.0 + 8.0 * 0.3)).abs() < 1e-9);
        // A kind that was measured is in the curve already.
        let measured = CapacityRange { largest: 9, kinds: &kinds, memory: None };
        assert!((measured.at(0.999_999, 0.0).effective_cpus(16) - 16.0).abs() < 1e-9);
    }

    #[test]
    fn a_bandwidth_that_is_likely_is_no_assumption() {
        let kinds = [CpuKind::Core; 16];
        for (user_growth, is_likely) in [(1.0, false), (4.0 / 3.0, true)] {
            let memory = MemoryKnee::exhausted_by(6.0, 8, user_growth);
            let range = CapacityRange::for_target(8, &kinds, Some(&memory), 16);
            let draws: Vec<Capacity> = (0..100).map(|number| range.draw(number)).collect();
            let limited = draws.iter().filter(|draw| (draw.effective_cpus(16) - 8.0).abs() < 1.0).count();
            assert_eq!(limited > 50, is_likely, "{limited}");
            let assumed = draws.iter().filter(|draw| draw.has_assumed_knee_below(16)).count();
            assert!(assumed < 10, "{assumed}");
        }
        // Beyond the machine the prior is that without a measured bandwidth.
        let memory = MemoryKnee::exhausted_by(6.0, 8, 1.0);
        let larger = CapacityRange::for_target(8, &kinds, Some(&memory), 32);
        assert_eq!(larger.at(0.3, 0.5), CapacityRange::for_target(8, &kinds, None, 32).at(0.3, 0.5));
    }

    #[test]
    fn the_bandwidth_replaces_the_growth_of_the_measured_slowdown() {
        let memory = MemoryKnee::exhausted_by(6.0, 8, 4.0 / 3.0);
        let range = CapacityRange { largest: 8, kinds: &[], memory: Some(&memory) };
        let capacity = range.at(0.5 * memory.chance, 0.0);
        let mut slowdown = vec![1.0; 16];
        (slowdown[7], slowdown[15]) = (1.3, 1.6);
        capacity.slow_down(&mut slowdown);
        // Twice the time of the measured count, and not twice the growth beyond it.
        assert!((slowdown[7] - 1.3).abs() < 1e-9 && (slowdown[15] - 2.6).abs() < 1e-9, "{slowdown:?}");
    }

    #[test]
    fn work_slows_down_beyond_a_knee_alone() {
        let at_knee = CapacityRange { largest: 2, kinds: &[], memory: None }.at(0.0, 0.0);
        let mut slowdown = vec![1.0; 4];
        at_knee.slow_down(&mut slowdown);
        assert_eq!(slowdown, [1.0, 1.0, 1.5, 2.0]);
    }
}
