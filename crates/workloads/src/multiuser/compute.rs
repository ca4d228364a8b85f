//! Activities of a single process: sorting, computing, memory.

use std::path::Path;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

use super::user::same;
use crate::{WorkloadError, memory};

/// Numbers to sort: some milliseconds.
const NUMBERS: usize = 50_000;

/// Upper limit of the prime search, and the number of primes up to it (OEIS A000720).
const SIEVE: usize = 200_000;
const PRIMES: usize = 17_984;

/// Bytes of memory that the activity allocates, writes and frees.
const MEMORY: usize = 8 << 20;

/// Bytes of a page, or less: each page is written to at least once.
const PAGE: usize = 4096;

/// Sorts random numbers.
pub(super) fn sort(_: &Path, random: &mut ChaCha8Rng) -> Result<u64, WorkloadError> {
    let mut numbers: Vec<u64> = (0..NUMBERS).map(|_| random.next_u64()).collect();
    let sum = |numbers: &[u64]| numbers.iter().fold(0u64, |sum, number| sum.wrapping_add(*number));
    let before = sum(&numbers);
    numbers.sort_unstable();
    same("numbers sorted", &(true, before), &(numbers.is_sorted(), sum(&numbers)))?;
    Ok(numbers[NUMBERS / 2])
}

/// Finds primes by the sieve of Eratosthenes.
pub(super) fn sieve(_: &Path, _: &mut ChaCha8Rng) -> Result<u64, WorkloadError> {
    let mut prime = vec![true; SIEVE + 1];
    prime[..2].fill(false);
    for factor in 2..=SIEVE.isqrt() {
        if prime[factor] {
            (factor * factor..=SIEVE).step_by(factor).for_each(|multiple| prime[multiple] = false);
        }
    }
    let primes = prime.iter().filter(|prime| **prime).count();
    same("primes found", &PRIMES, &primes)?;
    Ok(primes as u64)
}

/// Touches memory for the first time.
pub(super) fn memory(_: &Path, random: &mut ChaCha8Rng) -> Result<u64, WorkloadError> {
    let mut bytes = memory::reserve(MEMORY, "--threads")?;
    bytes.resize(MEMORY, 0u8);
    let key = random.next_u32() as u8 | 1;
    let value = |page: usize| (page as u8).wrapping_mul(key);
    bytes.chunks_mut(PAGE).enumerate().for_each(|(page, bytes)| bytes[0] = value(page));
    let kept = bytes.chunks(PAGE).enumerate().filter(|(page, bytes)| bytes[0] == value(*page)).count();
    same("pages that kept what was written", &(MEMORY / PAGE), &kept)?;
    Ok(u64::from(key))
}
