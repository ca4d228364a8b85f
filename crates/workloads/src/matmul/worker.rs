//! The part of one process or thread: it makes rows, computes a block of the product, and checks
//! rows.
//!
//! All workers wait for each other between these steps, and nowhere else.

use std::ops::Range;

use morecores_study::Nanos;

use super::kernel::{self, Block};
use super::matrices::{Matrices, entry};
use super::{Kernel, Plan, freivalds};
use crate::barrier::Barrier;
use crate::clock::Span;
use crate::{Checksum, WorkloadError, team};

/// Words that a worker returns.
const WORDS: usize = 3;

/// One of `count` workers on a product.
pub(super) struct Worker<'a> {
    pub(super) plan: Plan,
    pub(super) index: usize,
    pub(super) count: usize,
    /// Barrier that opens when both factors are complete.
    pub(super) factors_ready: &'a Barrier,
    /// Barrier that opens when the whole result is complete.
    pub(super) product_ready: &'a Barrier,
}

/// Result of a worker.
pub(super) struct WorkerResult {
    /// Time span of the computation of its block.
    span: Span,
    /// CRC-32 of its rows of the result.
    crc: u32,
}

impl Worker<'_> {
    /// Does the worker's part. Returns the time span of the computation and the checksum of its
    /// rows of the result.
    pub(super) fn run(self, matrices: &Matrices) -> Result<[u64; WORDS], WorkloadError> {
        let Plan { size, repeat, kernel, seed } = self.plan;
        let rows = part_range(size, self.index, self.count);
        matrices.fill(rows.clone(), seed);
        let x = freivalds::vector(seed, size);
        freivalds::multiply_right(matrices, &x, rows.clone());
        let block = block(kernel, size, self.index, self.count);
        self.factors_ready.wait();
        let (span, ()) = Span::measure(|| {
            for _ in 0..repeat {
                match kernel {
                    Kernel::Classic => kernel::classic(matrices, &block),
                    // SAFETY: between the two barriers no worker writes to the factors, and the
                    // other workers' blocks are disjoint.
                    #[allow(unsafe_code)]
                    Kernel::Tuned => unsafe { kernel::tuned(matrices, &block) },
                }
            }
        });
        self.product_ready.wait();
        if let Some(wrong) = freivalds::find_wrong_row(matrices, &x, repeat, rows.clone()) {
            return Err(WorkloadError::WrongResult {
                what: format!("matmul, row {} of the product by Freivalds' check", wrong.row),
                expected: wrong.expected.to_string(),
                got: wrong
                    .got
                    .map_or_else(|| "entries that no such sum can be".to_owned(), |got| got.to_string()),
            });
        }
        let mut crc = crc32fast::Hasher::new();
        for word in &matrices.product()[rows.start * size..rows.end * size] {
            crc.update(&entry(word).to_le_bytes());
        }
        Ok([span.start.0, span.end.0, u64::from(crc.finalize())])
    }
}

impl WorkerResult {
    /// Decodes the words that a worker returned.
    pub(super) fn from_words([from, to, crc]: [u64; WORDS]) -> Self {
        Self { span: Span { start: Nanos(from), end: Nanos(to) }, crc: crc as u32 }
    }
}

/// Checksum of the whole result, row by row, from those of the workers in order.
pub(super) fn checksum(results: &[WorkerResult], size: usize) -> Checksum {
    let mut whole = crc32fast::Hasher::new();
    for (index, part) in results.iter().enumerate() {
        let rows = part_range(size, index, results.len()).len();
        let bytes = (rows * size * size_of::<f64>()) as u64;
        whole.combine(&crc32fast::Hasher::new_with_initial_len(part.crc, bytes));
    }
    Checksum(whole.finalize())
}

/// Time from the first worker's start to the last worker's end.
pub(super) fn parallel_time(results: &[WorkerResult]) -> Nanos {
    Span::elapsed_time(results.iter().map(|result| result.span))
}

/// Part `index` of `size` rows or columns in `count` parts of nearly equal length.
const fn part_range(size: usize, index: usize, count: usize) -> Range<usize> {
    let Range { start, end } = team::range(size as u64, index, count);
    start as usize..end as usize
}

/// Block of the result that worker `index` of `count` computes. With the classic kernel it is a
/// band of rows, as published. With the tuned kernel the workers form a grid as near to a square as
/// their number allows, with no more columns than rows. A worker packs its entries of the factors,
/// and a square needs the fewest.
fn block(kernel: Kernel, size: usize, index: usize, count: usize) -> Block {
    let across = match kernel {
        Kernel::Classic => 1,
        Kernel::Tuned => (1..=count.isqrt()).rev().find(|across| count.is_multiple_of(*across)).unwrap_or(1),
    };
    let down = count / across;
    Block { rows: part_range(size, index / across, down), columns: part_range(size, index % across, across) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blocks_are_the_whole_result_and_do_not_overlap() {
        for (size, count) in [(10, 1), (10, 2), (10, 4), (11, 6), (13, 12), (13, 13), (40, 36), (40, 40)] {
            for kernel in [Kernel::Classic, Kernel::Tuned] {
                let mut times = vec![0; size * size];
                for index in 0..count {
                    let Block { rows, columns } = block(kernel, size, index, count);
                    assert!(!rows.is_empty() && !columns.is_empty());
                    rows.for_each(|row| columns.clone().for_each(|column| times[row * size + column] += 1));
                }
                assert!(times.iter().all(|times| *times == 1), "{size} {count} {kernel}");
            }
        }
    }

    #[test]
    fn blocks_are_bands_of_rows_or_a_grid() {
        assert_eq!(block(Kernel::Classic, 8, 1, 4), Block { rows: 2..4, columns: 0..8 });
        assert_eq!(block(Kernel::Tuned, 8, 1, 4), Block { rows: 0..4, columns: 4..8 });
        assert_eq!(block(Kernel::Tuned, 8, 1, 2), Block { rows: 4..8, columns: 0..8 });
    }
}
