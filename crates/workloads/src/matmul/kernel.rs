//! The product of a band of rows with a band of columns, added to a block of the result: as
//! published, and tuned.
//!
//! Both kernels find identical bits, since all their additions are exact. This module has no
//! threads.

use std::iter;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use gemm::Parallelism;
use morecores_study::Bytes;

use super::Kernel;
use super::matrices::{Matrices, entry};
use crate::WorkloadError;

/// Rows of the product that prepares the library: just enough for its path for large products,
/// which begins above 64 (`gemm_basic_generic` of gemm-common 0.19).
const PREPARE_SIZE: usize = 65;

/// A block of the result, not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) rows: Range<usize>,
    pub(super) columns: Range<usize>,
}

/// Memory of the kernels besides the matrices. The library keeps a packed copy of the part of the
/// right factor that fits the last-level cache, for each of the `count` callers. It does not report
/// that size, but the copy never exceeds the whole factor.
pub(super) const fn memory(kernel: Kernel, size: usize, count: usize) -> Bytes {
    match kernel {
        Kernel::Classic => Bytes(0),
        Kernel::Tuned => Bytes((count * size * size * size_of::<f64>()) as u64),
    }
}

/// Makes the library read the sizes of the caches, from about a hundred files at its first call.
/// This happens once, before the processes are made and outside their measured time.
pub(super) fn prepare(arguments: &'static str) -> Result<(), WorkloadError> {
    let matrices = Matrices::new(PREPARE_SIZE, arguments)?;
    // SAFETY: no other code has access to these matrices.
    #[allow(unsafe_code)]
    unsafe {
        tuned(&matrices, &Block { rows: 0..PREPARE_SIZE, columns: 0..PREPARE_SIZE });
    }
    Ok(())
}

/// Adds a block of the product to the result, by three nested loops. Each entry is a row times a
/// column; the column's entries are a row apart in memory.
pub(super) fn classic(matrices: &Matrices, block: &Block) {
    let size = matrices.size();
    for row in block.rows.clone() {
        let left = &matrices.left()[row * size..][..size];
        let result = &matrices.product()[row * size..][..size];
        for column in block.columns.clone() {
            let right = matrices.right()[column..].iter().step_by(size);
            let product = |sum, (left, right): (&AtomicU64, &AtomicU64)| sum + entry(left) * entry(right);
            let sum = iter::zip(left, right).fold(entry(&result[column]), product);
            result[column].store(sum.to_bits(), Relaxed);
        }
    }
}

/// Adds a block of the product to the result, by the crate `gemm`.
///
/// # Safety
/// No other thread or process may write to the factors or access the block of the result during the
/// call.
#[allow(unsafe_code)]
pub(super) unsafe fn tuned(matrices: &Matrices, block: &Block) {
    let size = matrices.size();
    let (down, across) = (size as isize, 1);
    let at = |matrix: &[AtomicU64], row: usize, column: usize| {
        matrix[row * size + column..].as_ptr().cast_mut().cast::<f64>()
    };
    let Block { rows, columns } = block;
    // SAFETY: the three blocks lie inside their matrices, whose rows are `down` apart, and any word
    // is an `f64`. The words are atomic, so they may be written through a shared reference. The
    // caller excludes other accesses.
    unsafe {
        gemm::gemm(
            rows.len(),
            columns.len(),
            size,
            at(matrices.product(), rows.start, columns.start),
            across,
            down,
            true,
            at(matrices.left(), rows.start, 0),
            across,
            down,
            at(matrices.right(), 0, columns.start),
            across,
            down,
            1.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn add_product(kernel: Kernel, matrices: &Matrices, block: &Block) {
        match kernel {
            Kernel::Classic => classic(matrices, block),
            // SAFETY: only this thread has the matrices.
            #[allow(unsafe_code)]
            Kernel::Tuned => unsafe { tuned(matrices, block) },
        }
    }

    fn values(words: &[AtomicU64]) -> Vec<i64> {
        words.iter().map(|word| entry(word) as i64).collect()
    }

    #[test]
    fn a_product_known_by_hand() {
        for kernel in [Kernel::Classic, Kernel::Tuned] {
            let matrices = Matrices::new(2, "").unwrap();
            let put = |words: &[AtomicU64], values: [i32; 4]| {
                iter::zip(words, values).for_each(|(word, v)| word.store(f64::from(v).to_bits(), Relaxed));
            };
            put(matrices.left(), [1, 2, 3, 4]);
            put(matrices.right(), [5, 6, 7, 8]);
            put(matrices.product(), [0, 0, 0, 1000]);
            add_product(kernel, &matrices, &Block { rows: 0..2, columns: 0..2 });
            assert_eq!(values(matrices.product()), [19, 22, 43, 1050], "{kernel}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]
        #[test]
        fn both_kernels_agree_with_whole_numbers_and_keep_to_their_block(
            size in 1usize..140, edges in prop::array::uniform4(0.0..1.0), seed: u64,
        ) {
            let [a, b, c, d] = edges.map(|edge: f64| (edge * (size + 1) as f64) as usize);
            let block = Block { rows: a.min(b)..a.max(b), columns: c.min(d)..c.max(d) };
            prop_assume!(!block.rows.is_empty() && !block.columns.is_empty());
            for kernel in [Kernel::Classic, Kernel::Tuned] {
                let matrices = Matrices::new(size, "").unwrap();
                matrices.fill(0..size, seed);
                add_product(kernel, &matrices, &block);
                add_product(kernel, &matrices, &block);
                let (left, right) = (values(matrices.left()), values(matrices.right()));
                for (index, got) in values(matrices.product()).into_iter().enumerate() {
                    let (row, column) = (index / size, index % size);
                    let sum: i64 = (0..size).map(|k| left[row * size + k] * right[k * size + column]).sum();
                    let inside = block.rows.contains(&row) && block.columns.contains(&column);
                    prop_assert_eq!(got, if inside { 2 * sum } else { 0 }, "{} {} {}", kernel, row, column);
                }
            }
        }
    }
}
