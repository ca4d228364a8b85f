//! The sort: ordered input is left alone, other input is cut into ranges, and the ranges are
//! sorted.

use super::queue::Queue;
use super::{MIN_RANGE, parallel_partition, runs};
use crate::{WorkloadError, team};

/// Sorts `numbers` on `threads` threads, which it starts and ends. Equal numbers are
/// indistinguishable, so the result is identical for any number of threads.
///
/// One thread uses the standard library's `sort_unstable` (L. Bergdoll, O. Peters: ipnsort), so
/// that the gain of more threads is not measured against a slow sort.
///
/// # Errors
/// A refused thread; the numbers are then in some other order.
pub fn sort(numbers: &mut [u64], threads: usize) -> Result<(), WorkloadError> {
    if threads < 2 || numbers.len() < 2 * MIN_RANGE {
        // The standard library also checks for that, but one pair at a time.
        if !runs::ascends(numbers) {
            numbers.sort_unstable();
        }
        return Ok(());
    }
    if runs::sort(numbers, threads)? {
        return Ok(());
    }
    let queue = Queue::new(parallel_partition::split(numbers, threads)?, threads);
    team::run("quicksort", vec![|| queue.work(); threads])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn the_result_is_that_of_the_standard_librarys_stable_sort(
            len in 0..6 * MIN_RANGE, threads in 1usize..6, kinds: u64, seed: u64, steps in 1u64..1 << 20,
        ) {
            let random = |n: u64| (n ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(n | 1);
            let mut numbers: Vec<u64> = (0..len as u64)
                .map(|n| match kinds % 5 {
                    0 => random(n),
                    1 => random(n) % (1 + steps % 9),
                    2 => n / steps,
                    3 => u64::MAX - n / (1 + steps % 9),
                    // The numbers go up and down.
                    _ => (n % steps).min(steps - n % steps),
                })
                .collect();
            let mut expected = numbers.clone();
            expected.sort();
            sort(&mut numbers, threads).unwrap();
            prop_assert!(numbers == expected);
        }
    }
}
