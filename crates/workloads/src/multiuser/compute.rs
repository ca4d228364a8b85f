//! Activities of a single process: sorting, computing, memory.

use std::path::Path;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

use super::user::expect_equal;
use crate::{WorkloadError, memory};

/// Numbers to sort: some milliseconds.
const NUMBER_COUNT: usize = 50_000;

/// Upper limit of the prime search, and the number of primes up to it (OEIS A000720).
const SIEVE_LIMIT: usize = 200_000;
const PRIME_COUNT: usize = 17_984;

/// Bytes of memory that the activity allocates, writes and frees.
const MEMORY_BYTES: usize = 8 << 20;

/// Bytes of a page, or less: each page is written to at least once.
const PAGE_BYTES: usize = 4096;

/// Sorts random numbers.
pub(super) fn sort(_: &Path, random: &mut ChaCha8Rng) -> Result<u64, WorkloadError> {
    let mut numbers: Vec<u64> = (0..NUMBER_COUNT).map(|_| random.next_u64()).collect();
    let sum = |numbers: &[u64]| numbers.iter().fold(0u64, |sum, number| sum.wrapping_add(*number));
    let before = sum(&numbers);
    numbers.sort_unstable();
    expect_equal("numbers sorted", &(true, before), &(numbers.is_sorted(), sum(&numbers)))?;
    Ok(numbers[NUMBER_COUNT / 2])
}

/// Finds primes by the sieve of Eratosthenes.
pub(super) fn sieve(_: &Path, _: &mut ChaCha8Rng) -> Result<u64, WorkloadError> {
    let mut prime = vec![true; SIEVE_LIMIT + 1];
    prime[..2].fill(false);
    for factor in 2..=SIEVE_LIMIT.isqrt() {
        if prime[factor] {
            (factor * factor..=SIEVE_LIMIT).step_by(factor).for_each(|multiple| prime[multiple] = false);
        }
    }
    let primes = prime.iter().filter(|prime| **prime).count();
    expect_equal("primes found", &PRIME_COUNT, &primes)?;
    Ok(primes as u64)
}

/// Touches memory for the first time.
pub(super) fn memory(_: &Path, random: &mut ChaCha8Rng) -> Result<u64, WorkloadError> {
    let mut bytes = memory::reserve(MEMORY_BYTES, "--threads")?;
    bytes.resize(MEMORY_BYTES, 0u8);
    let key = random.next_u32() as u8 | 1;
    let value = |page: usize| (page as u8).wrapping_mul(key);
    bytes.chunks_mut(PAGE_BYTES).enumerate().for_each(|(page, bytes)| bytes[0] = value(page));
    let intact =
        bytes.chunks(PAGE_BYTES).enumerate().filter(|(page, bytes)| bytes[0] == value(*page)).count();
    expect_equal("pages that kept what was written", &(MEMORY_BYTES / PAGE_BYTES), &intact)?;
    Ok(u64::from(key))
}
