//! The two matrices, their product and the data of its check, in memory that processes share.
//!
//! Rows run from top to bottom, entries from left to right, each as the bits of an `f64`. The
//! entries are small whole numbers, so that every sum of products is exact in any order, and all
//! kernels must find identical bits. Each row can be made without the others.

use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use morecores_study::Bytes;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::WorkloadError;
use crate::shared::SharedWords;

/// Bound of the entries, which are from -8 to 7: four bits of a random byte.
pub(super) const LARGEST_ENTRY: i64 = 8;

/// First stream number for the rows of the right matrix. The lower numbers are for the rows of the
/// left one.
const RIGHT_STREAM: u64 = 1 << 32;

/// Stream number for the vector of the check.
pub(super) const VECTOR_STREAM: u64 = 1 << 33;

/// Matrices, and words for one vector.
pub(super) struct Matrices {
    size: usize,
    words: SharedWords,
}

/// Bytes of the matrices and the vector.
pub(super) const fn memory(size: usize) -> Bytes {
    Bytes((size_of::<AtomicU64>() * words(size)) as u64)
}

/// Words of the matrices and the vector.
const fn words(size: usize) -> usize {
    3 * size * size + size
}

impl Matrices {
    /// Matrices of `size` rows with `size` entries each, all zero. `arguments` names the arguments
    /// to change if the memory is not available.
    pub(super) fn new(size: usize, arguments: &'static str) -> Result<Self, WorkloadError> {
        Ok(Self { size, words: SharedWords::new(words(size), arguments)? })
    }

    /// Number of rows, and of columns.
    pub(super) const fn size(&self) -> usize {
        self.size
    }

    /// The left factor.
    pub(super) fn left(&self) -> &[AtomicU64] {
        self.part(0)
    }

    /// The right factor.
    pub(super) fn right(&self) -> &[AtomicU64] {
        self.part(1)
    }

    /// The result, to which products are added.
    pub(super) fn product(&self) -> &[AtomicU64] {
        self.part(2)
    }

    /// The right factor times the vector of the check, an entry for each row.
    pub(super) fn vector(&self) -> &[AtomicU64] {
        &self.words[3 * self.size * self.size..]
    }

    fn part(&self, index: usize) -> &[AtomicU64] {
        let entries = self.size * self.size;
        &self.words[index * entries..(index + 1) * entries]
    }

    /// Makes some rows of both factors, and touches those rows of the result, so that they lie on
    /// the NUMA node of the caller.
    pub(super) fn fill(&self, rows: Range<usize>, seed: u64) {
        let generator = ChaCha8Rng::seed_from_u64(seed);
        let mut bytes = vec![0; self.size];
        for row in rows {
            let entries = row * self.size..(row + 1) * self.size;
            for (matrix, first_stream) in [(self.left(), 0), (self.right(), RIGHT_STREAM)] {
                stream(&generator, first_stream + row as u64).fill_bytes(&mut bytes);
                for (word, byte) in matrix[entries.clone()].iter().zip(&bytes) {
                    let entry = f64::from(byte & 15) - LARGEST_ENTRY as f64;
                    word.store(entry.to_bits(), Relaxed);
                }
            }
            self.product()[entries].iter().for_each(|word| word.store(0.0f64.to_bits(), Relaxed));
        }
    }
}

/// An entry of a matrix.
pub(super) fn entry(word: &AtomicU64) -> f64 {
    f64::from_bits(word.load(Relaxed))
}

/// `generator` at the start of stream `number` of its 2^64 independent streams.
pub(super) fn stream(generator: &ChaCha8Rng, number: u64) -> ChaCha8Rng {
    let mut generator = generator.clone();
    generator.set_stream(number);
    generator
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both factors, made in parts that begin at these rows.
    fn factors(seed: u64, parts: &[usize]) -> Vec<f64> {
        let matrices = Matrices::new(20, "--size").unwrap();
        for first in parts {
            let next = parts.iter().filter(|other| *other > first).min().unwrap_or(&20);
            matrices.fill(*first..*next, seed);
        }
        matrices.words[..800].iter().map(entry).collect()
    }

    #[test]
    fn rows_do_not_depend_on_who_makes_them_and_seeds_differ() {
        let whole = factors(7, &[0]);
        assert_eq!(whole, factors(7, &[5, 0, 1]));
        assert_ne!(whole, factors(8, &[0]));
        assert_ne!(whole[..400], whole[400..]);
    }

    #[test]
    fn entries_take_every_value_and_no_other() {
        let mut entries = factors(1, &[0]);
        entries.sort_by(f64::total_cmp);
        entries.dedup();
        assert_eq!(entries, (-8..8).map(f64::from).collect::<Vec<_>>());
    }
}
