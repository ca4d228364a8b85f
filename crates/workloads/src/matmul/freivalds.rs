//! Check of a product without a second multiplication: R. Freivalds, "Probabilistic machines can
//! use less running time", IFIP Congress 1977.
//!
//! For a random vector x, (A B) x is compared with A (B x), which takes only as many steps as the
//! matrices have entries. All numbers are whole numbers modulo a prime p, so that a wrong row is
//! missed with probability 1/p. The kernels compute differently, with sums of floating-point
//! numbers.

use std::iter;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::matrices::{LARGEST_ENTRY, Matrices, VECTOR_STREAM, entry, stream};

/// The prime: 2^61 - 1. An entry of the product, below 2^42, times a number below the prime, summed
/// over 2^16 columns, fits in 128 bits.
const PRIME: i128 = (1 << 61) - 1;

/// A row with a failed check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WrongRow {
    pub(super) row: usize,
    /// The row times the vector, modulo p, from the factors.
    pub(super) expected: i128,
    /// The row times the vector, modulo p, from the result; `None` if an entry cannot be a sum of
    /// whole numbers.
    pub(super) got: Option<i128>,
}

/// The vector x of a seed.
pub(super) fn vector(seed: u64, size: usize) -> Vec<i128> {
    let mut generator = stream(&ChaCha8Rng::seed_from_u64(seed), VECTOR_STREAM);
    (0..size).map(|_| i128::from(generator.next_u64()) % PRIME).collect()
}

/// Stores these rows of B x for the other workers.
pub(super) fn multiply_right(matrices: &Matrices, x: &[i128], rows: Range<usize>) {
    for row in rows {
        let entries = &matrices.right()[row * x.len()..][..x.len()];
        let sum: i128 = iter::zip(entries, x).map(|(word, x)| i128::from(entry(word) as i64) * x).sum();
        matrices.vector()[row].store(sum.rem_euclid(PRIME) as u64, Relaxed);
    }
}

/// Compares these rows of the result times x with `repeat` times the rows of A times the vector of
/// `multiply_right`.
pub(super) fn find_wrong_row(
    matrices: &Matrices,
    x: &[i128],
    repeat: u32,
    mut rows: Range<usize>,
) -> Option<WrongRow> {
    let size = x.len();
    let largest = LARGEST_ENTRY * LARGEST_ENTRY * size as i64 * i64::from(repeat);
    rows.find_map(|row| {
        let entries = row * size..(row + 1) * size;
        let left = &matrices.left()[entries.clone()];
        let times = |(word, y): (&AtomicU64, &AtomicU64)| {
            i128::from(entry(word) as i64) * i128::from(y.load(Relaxed))
        };
        let once: i128 = iter::zip(left, matrices.vector()).map(times).sum();
        let expected = (once.rem_euclid(PRIME) * i128::from(repeat)).rem_euclid(PRIME);
        let result = &matrices.product()[entries];
        let times = |(word, x): (&AtomicU64, &i128)| Some(i128::from(as_integer(entry(word), largest)?) * x);
        let got = iter::zip(result, x).map(times).sum::<Option<i128>>().map(|sum| sum.rem_euclid(PRIME));
        (got != Some(expected)).then_some(WrongRow { row, expected, got })
    })
}

/// The value as an integer, if it is a whole number of at most this magnitude.
fn as_integer(value: f64, largest: i64) -> Option<i64> {
    (value.abs() <= largest as f64 && value.fract() == 0.0).then_some(value as i64)
}

#[cfg(test)]
mod tests {
    use super::super::kernel::{Block, classic};
    use super::*;

    const SIZE: usize = 33;

    /// A correct product, `repeat` times, and its vector.
    fn product(repeat: u32) -> (Matrices, Vec<i128>) {
        let matrices = Matrices::new(SIZE, "").unwrap();
        matrices.fill(0..SIZE, 5);
        (0..repeat).for_each(|_| classic(&matrices, &Block { rows: 0..SIZE, columns: 0..SIZE }));
        let x = vector(5, SIZE);
        multiply_right(&matrices, &x, 0..SIZE);
        (matrices, x)
    }

    #[test]
    fn a_right_product_passes_and_a_wrong_number_of_repetitions_does_not() {
        let (matrices, x) = product(3);
        assert_eq!(find_wrong_row(&matrices, &x, 3, 0..SIZE), None);
        assert_eq!(find_wrong_row(&matrices, &x, 2, 0..SIZE).map(|wrong| wrong.row), Some(0));
    }

    #[test]
    fn every_wrong_entry_is_found() {
        let (matrices, x) = product(1);
        for row in [0, 17, SIZE - 1] {
            for (column, wrong) in [(0, 1.0), (4, -1.0), (SIZE - 1, 0.5), (2, 1e300), (3, f64::NAN)] {
                let word = &matrices.product()[row * SIZE + column];
                let right = entry(word);
                word.store((right + wrong).to_bits(), Relaxed);
                let found = find_wrong_row(&matrices, &x, 1, 0..SIZE).unwrap();
                assert_eq!((found.row, found.got.is_some()), (row, wrong.abs() == 1.0), "{column} {wrong}");
                word.store(right.to_bits(), Relaxed);
            }
        }
        assert_eq!(find_wrong_row(&matrices, &x, 1, 0..SIZE), None);
    }

    #[test]
    fn swapped_rows_and_columns_are_found() {
        let (matrices, x) = product(1);
        let product = matrices.product();
        for (one, other) in [(0, 1), (0, SIZE)] {
            let (a, b) = (product[one].load(Relaxed), product[other].load(Relaxed));
            assert_ne!(a, b);
            product[one].store(b, Relaxed);
            product[other].store(a, Relaxed);
            assert!(find_wrong_row(&matrices, &x, 1, 0..SIZE).is_some());
            product[one].store(a, Relaxed);
            product[other].store(b, Relaxed);
        }
    }
}
