//! Operands of the cipher: a number of 32 bits, or a vector of them for as many keys at once.
//!
//! A vector is an array with operations that are loops over all its lanes. Inlined into a function
//! that is compiled for an instruction set, each operation becomes a few vector instructions. There
//! is no code for a particular instruction set here.

/// Lanes of a vector: two registers of AVX-512, four of AVX2. Every step of the cipher waits for
/// the previous one, so a core needs the steps of several registers to choose from. With more lanes
/// there are too few registers.
pub(super) const LANES: usize = 32;

/// A number modulo 2^32, or a vector of such numbers.
pub(super) trait Word: Copy {
    /// One number for every key.
    fn splat(number: u32) -> Self;
    /// Sum.
    fn plus(self, other: Self) -> Self;
    /// Exclusive or.
    fn xor(self, other: Self) -> Self;
    /// Rotation to the left by the low five bits of `distance`.
    fn rotate(self, distance: Self) -> Self;
    /// Rotation to the left by three bits.
    fn rotate_by_3(self) -> Self;
}

impl Word for u32 {
    #[inline(always)]
    fn splat(number: u32) -> Self {
        number
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self ^ other
    }

    #[inline(always)]
    fn rotate(self, distance: Self) -> Self {
        // The method takes the distance modulo 32.
        self.rotate_left(distance)
    }

    #[inline(always)]
    fn rotate_by_3(self) -> Self {
        self.rotate_left(3)
    }
}

/// Numbers for as many keys, aligned to the widest register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub(super) struct Lanes(pub(super) [u32; LANES]);

impl Lanes {
    #[inline(always)]
    fn zip(mut self, other: Self, combine: impl Fn(u32, u32) -> u32) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(lane, other)| *lane = combine(*lane, other));
        self
    }
}

impl Word for Lanes {
    #[inline(always)]
    fn splat(number: u32) -> Self {
        Self([number; LANES])
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.zip(other, u32::wrapping_add)
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self.zip(other, |a, b| a ^ b)
    }

    #[inline(always)]
    fn rotate(self, distance: Self) -> Self {
        self.zip(distance, u32::rotate_left)
    }

    #[inline(always)]
    fn rotate_by_3(self) -> Self {
        self.zip(self, |a, _| a.rotate_left(3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_lane_is_a_number_of_its_own(a: [u32; LANES], b: [u32; LANES]) {
            let each = |both: fn(u32, u32) -> u32| std::array::from_fn(|lane| both(a[lane], b[lane]));
            prop_assert_eq!(Lanes(a).plus(Lanes(b)).0, each(u32::plus));
            prop_assert_eq!(Lanes(a).xor(Lanes(b)).0, each(u32::xor));
            prop_assert_eq!(Lanes(a).rotate(Lanes(b)).0, each(u32::rotate));
            prop_assert_eq!(Lanes(a).rotate_by_3().0, each(|a, _| a.rotate_by_3()));
        }
    }

    #[test]
    fn a_distance_counts_modulo_32() {
        assert_eq!((1u32.rotate(33), 1u32.rotate(32), 0x8000_0001u32.rotate(31)), (2, 1, 0xc000_0000));
    }
}
