//! Record of the completed operations, in any order and by any worker: their count, and a sum that
//! depends on their numbers.
//!
//! The module is independent of the kind of operation.

use std::fmt;
use std::iter::Sum;

use crate::Checksum;

/// Tally of operations, each identified by its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Number of operations.
    pub(super) count: u64,
    /// Sum of the scattered operation numbers. Scattering prevents that an operation done twice
    /// compensates for a missing one.
    pub(super) sum: u64,
}

impl Tally {
    /// Tally of these operations, each once.
    pub(super) fn from_numbers(operations: impl Iterator<Item = u64>) -> Self {
        let mut tally = Self::default();
        operations.for_each(|number| tally.add(number));
        tally
    }

    /// Adds one operation.
    pub(super) fn add(&mut self, number: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(scatter(number));
    }

    /// Checksum that is equal for equal operations.
    pub(super) fn checksum(self) -> Checksum {
        Checksum(crc32fast::hash(&[self.count.to_le_bytes(), self.sum.to_le_bytes()].concat()))
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies
            .fold(Self::default(), |a, b| Self { count: a.count + b.count, sum: a.sum.wrapping_add(b.sum) })
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with the sum {:016x}", self.count, self.sum)
    }
}

/// Scatters numbers over 64 bits without collisions: the output function of SplitMix64 (Steele, Lea
/// & Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014) with its increment as
/// the stride.
pub(super) const fn scatter(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_scattered_as_published() {
        // The first outputs of SplitMix64 from the seed 0, which correspond to the numbers from 0
        // here.
        assert_eq!(
            [0, 1, 2].map(scatter),
            [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]
        );
    }

    #[test]
    fn a_tally_depends_on_the_operations_and_not_on_their_order() {
        assert_eq!(
            Tally::from_numbers(0..100),
            [Tally::from_numbers((50..100).rev()), Tally::from_numbers(0..50)].into_iter().sum()
        );
        assert_ne!(Tally::from_numbers([1, 4].into_iter()), Tally::from_numbers([2, 3].into_iter()));
        assert_ne!(Tally::from_numbers(0..3).checksum(), Tally::from_numbers(0..4).checksum());
    }
}
