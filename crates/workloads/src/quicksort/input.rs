//! The numbers: their initial order, and a fingerprint that is independent of their order.
//!
//! All threads make and read the numbers, each thread its part. The numbers are identical for any
//! number of threads.

use clap::ValueEnum;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::mix;
use crate::{Checksum, WorkloadError, team};

/// Initial order of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum InputOrder {
    /// Random numbers, out of 2^64
    Random,
    /// Ascending numbers, from zero
    Sorted,
    /// Descending numbers, to zero
    Reverse,
    /// Random numbers, out of sixteen
    FewDistinct,
}

/// Numbers from one stream of random numbers, so that any thread can make any of them: 512 KiB.
const STREAM: usize = 1 << 16;

/// Numbers whose bytes are prepared for the checksum at a time: 4 KiB.
const STRETCH: usize = 512;

/// Fingerprint of a set of numbers. It is equal for equal numbers in any order, and almost
/// certainly different for other numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fingerprint {
    /// Sum of the numbers.
    pub(super) sum: u64,
    /// Sum of the mixed numbers.
    pub(super) mixed: u64,
    /// First place of a number that is less than its predecessor.
    pub(super) disorder: Option<usize>,
}

impl Fingerprint {
    fn compute(numbers: &[u64]) -> Self {
        let (mut sum, mut mixed) = (0u64, 0u64);
        for number in numbers {
            sum = sum.wrapping_add(*number);
            mixed = mixed.wrapping_add(mix(*number));
        }
        Self { sum, mixed, disorder: None }
    }

    fn combine(self, other: Self) -> Self {
        Self {
            sum: self.sum.wrapping_add(other.sum),
            mixed: self.mixed.wrapping_add(other.mixed),
            disorder: self.disorder.or(other.disorder),
        }
    }
}

/// Writes the numbers.
pub(super) fn fill(
    numbers: &mut [u64],
    order: InputOrder,
    seed: u64,
    threads: usize,
) -> Result<Fingerprint, WorkloadError> {
    let all = numbers.len();
    let length = part_length(all, threads);
    let piece = |(index, part): (usize, &mut [u64])| {
        for (stream, numbers) in part.chunks_mut(STREAM).enumerate() {
            let from = index * length + stream * STREAM;
            write(numbers, from, all, order, seed);
        }
        Fingerprint::compute(part)
    };
    let parts = numbers.chunks_mut(length).enumerate();
    let fingerprints = team::run("quicksort", parts.map(|part| move || piece(part)).collect())?;
    Ok(fingerprints.into_iter().fold(Fingerprint::default(), Fingerprint::combine))
}

/// Writes the numbers of one stream, which start at place `from` of `all`.
fn write(numbers: &mut [u64], from: usize, all: usize, order: InputOrder, seed: u64) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream((from / STREAM) as u64);
    for (number, place) in numbers.iter_mut().zip(from..) {
        *number = match order {
            InputOrder::Random => random.next_u64(),
            InputOrder::Sorted => place as u64,
            InputOrder::Reverse => (all - 1 - place) as u64,
            InputOrder::FewDistinct => random.next_u64() % 16,
        };
    }
}

/// Fingerprint of the numbers, and the CRC-32 of their bytes in order, least significant byte
/// first.
pub(super) fn fingerprint_and_checksum(
    numbers: &[u64],
    threads: usize,
) -> Result<(Fingerprint, Checksum), WorkloadError> {
    let length = part_length(numbers.len(), threads);
    let piece = |start: usize| {
        move || {
            let part = &numbers[start..numbers.len().min(start + length)];
            // The slice includes the predecessor, to compare across the boundary.
            let first = start.saturating_sub(1);
            let pairs = &numbers[first..start + part.len()];
            let disorder = (!pairs.is_sorted()).then(|| {
                let place = pairs.windows(2).position(|pair| pair[0] > pair[1]);
                first + 1 + place.unwrap_or(0)
            });
            (Fingerprint { disorder, ..Fingerprint::compute(part) }, crc(part))
        }
    };
    let pieces = (0..numbers.len()).step_by(length).map(piece).collect();
    let mut whole = (Fingerprint::default(), crc32fast::Hasher::new());
    for (fingerprint, crc) in team::run("quicksort", pieces)? {
        whole.0 = whole.0.combine(fingerprint);
        whole.1.combine(&crc);
    }
    Ok((whole.0, Checksum(whole.1.finalize())))
}

fn crc(numbers: &[u64]) -> crc32fast::Hasher {
    let mut crc = crc32fast::Hasher::new();
    let mut bytes = [0; STRETCH * size_of::<u64>()];
    for stretch in numbers.chunks(STRETCH) {
        for (number, bytes) in stretch.iter().zip(bytes.chunks_exact_mut(size_of::<u64>())) {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
        crc.update(&bytes[..size_of_val(stretch)]);
    }
    crc
}

/// Length of each thread's part: whole streams.
const fn part_length(all: usize, threads: usize) -> usize {
    let part = all.div_ceil(threads).next_multiple_of(STREAM);
    if part == 0 { 1 } else { part }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_the_same_for_any_number_of_threads() {
        for &order in InputOrder::value_variants() {
            let generate = |threads| {
                let mut numbers = vec![0; 200_001];
                let fingerprint = fill(&mut numbers, order, 7, threads).unwrap();
                let (mut read, crc) = fingerprint_and_checksum(&numbers, threads).unwrap();
                assert_eq!(read.disorder.is_some(), order != InputOrder::Sorted);
                read.disorder = None;
                assert_eq!(fingerprint, read);
                (numbers, fingerprint, crc)
            };
            assert!(generate(1) == generate(3), "{order:?}");
        }
    }

    #[test]
    fn numbers_of_other_streams_and_seeds_are_others() {
        let generate = |seed| {
            let mut numbers = vec![0; 3 * STREAM];
            fill(&mut numbers, InputOrder::Random, seed, 2).unwrap();
            numbers
        };
        let mut all = [generate(1), generate(2)].concat();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 6 * STREAM);
    }

    #[test]
    fn the_checksum_is_that_of_the_bytes_and_the_place_that_of_the_first_disorder() {
        let numbers: Vec<u64> = (0..150_000).map(|n| if n == 140_000 { 3 } else { n << 20 }).collect();
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        for threads in [1, 2, 3] {
            let (fingerprint, checksum) = fingerprint_and_checksum(&numbers, threads).unwrap();
            assert_eq!(checksum, Checksum(crc32fast::hash(&bytes)));
            assert_eq!(fingerprint.disorder, Some(140_000));
        }
    }
}
