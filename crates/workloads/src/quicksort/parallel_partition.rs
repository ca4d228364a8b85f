//! The first cuts, with fewer ranges than threads: several threads partition one range together.
//!
//! Each thread takes one part before and one part after the sample's estimate of the bound's place.
//! It partitions the two parts as if they were adjacent. Numbers on the wrong side remain if the
//! estimate was inexact or the numbers are not random. One thread then exchanges them: a few
//! hundredths of random numbers.

use std::mem;

use super::MIN_RANGE;
use super::bound::{self, Cut};
use super::partition::partition_both;
use crate::{WorkloadError, team};

/// A range and the number of threads that cut it.
struct SharedRange<'a> {
    numbers: &'a mut [u64],
    threads: usize,
    /// Bound, and the expected count of numbers below it.
    bound: u64,
    before: usize,
}

/// Part of a range, and the count of its numbers below the bound, which are at its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    len: usize,
    below: usize,
}

/// Cuts `numbers` into about `threads` ranges of about equal length, each below the next.
pub(super) fn split(numbers: &mut [u64], threads: usize) -> Result<Vec<&mut [u64]>, WorkloadError> {
    let mut done = Vec::new();
    let mut pending = vec![(numbers, threads)];
    while !pending.is_empty() {
        let mut shared = Vec::new();
        for (numbers, threads) in mem::take(&mut pending) {
            match SharedRange::new(numbers, threads) {
                Ok(range) => shared.push(range),
                Err(numbers) => done.push(numbers),
            }
        }
        let pieces = shared.iter_mut().flat_map(SharedRange::pieces).collect();
        let mut parts = team::run("quicksort", pieces)?.into_iter();
        for range in shared {
            let parts: Vec<_> = parts.by_ref().take(range.threads).collect();
            pending.extend(range.halves(&parts));
        }
    }
    Ok(done)
}

impl<'a> SharedRange<'a> {
    /// A range to be cut; returns the numbers unchanged if the cut is not worth several threads.
    fn new(numbers: &'a mut [u64], threads: usize) -> Result<Self, &'a mut [u64]> {
        if threads < 2 || numbers.len() < threads * MIN_RANGE {
            return Err(numbers);
        }
        match bound::choose_cut(numbers, (threads / 2) as f64 / threads as f64) {
            Cut::Bound { bound, share } => {
                let before = (share * numbers.len() as f64) as usize;
                Ok(Self { numbers, threads, bound, before })
            }
            Cut::Equal(_) => Err(numbers),
        }
    }

    /// Task of each thread.
    fn pieces(&mut self) -> Vec<impl FnOnce() -> [Part; 2] + Send> {
        let (threads, bound) = (self.threads, self.bound);
        let (left, right) = self.numbers.split_at_mut(self.before);
        let pairs = parts(left, threads).zip(parts(right, threads));
        let piece = |(left, right)| move || Part::partition_pair(left, right, bound);
        pairs.map(piece).collect()
    }

    /// Result of the cut: two halves, with the threads for each half.
    fn halves(self, parts: &[[Part; 2]]) -> [(&'a mut [u64], usize); 2] {
        let [left, right] = [0, 1].map(|side| parts.iter().map(move |both| both[side]));
        let below = exchange_misplaced(self.numbers, left.chain(right));
        let share = below as f64 / self.numbers.len() as f64 * self.threads as f64;
        let threads = (share.round() as usize).clamp(1, self.threads - 1);
        let (left, right) = self.numbers.split_at_mut(below);
        [(left, threads), (right, self.threads - threads)]
    }
}

impl Part {
    /// Partitions two parts against each other.
    fn partition_pair(left: &mut [u64], right: &mut [u64], bound: u64) -> [Self; 2] {
        let (l, r) = partition_both(left, right, bound);
        [Self { len: left.len(), below: l }, Self { len: right.len(), below: r }]
    }
}

/// `numbers` in `count` parts whose lengths differ by at most one.
fn parts(mut numbers: &mut [u64], count: usize) -> impl Iterator<Item = &mut [u64]> {
    let total = numbers.len() as u64;
    (0..count).map(move |index| {
        let length = team::range_length(total, index, count) as usize;
        let (part, rest) = mem::take(&mut numbers).split_at_mut(length);
        numbers = rest;
        part
    })
}

/// Exchanges the numbers on the wrong side after each part of `numbers` has been partitioned.
/// Returns the count of numbers below the bound.
fn exchange_misplaced(numbers: &mut [u64], parts: impl Iterator<Item = Part> + Clone) -> usize {
    let below = parts.clone().map(|part| part.below).sum();
    // Ranges of the numbers below the bound, and of the others.
    let (mut lows, mut highs, mut start) = (Vec::new(), Vec::new(), 0);
    for Part { len, below } in parts {
        lows.push(start..start + below);
        highs.push(start + below..start + len);
        start += len;
    }
    let (front, back) = numbers.split_at_mut(below);
    // Places in the front that hold numbers of the back, and places in the back that hold numbers
    // of the front. Both have equal counts.
    let highs = highs.into_iter().map(|range| range.start..range.end.min(below));
    let lows = lows.into_iter().map(|range| range.start.max(below) - below..range.end.max(below) - below);
    let mut lows = lows.filter(|range| !range.is_empty());
    let mut low = 0..0;
    for mut high in highs {
        while !high.is_empty() {
            if low.is_empty() {
                match lows.next() {
                    Some(range) => low = range,
                    None => return below,
                }
            }
            let length = high.len().min(low.len());
            let (to, from) = (high.start, low.start);
            front[to..to + length].swap_with_slice(&mut back[from..from + length]);
            high.start += length;
            low.start += length;
        }
    }
    below
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_become_a_whole(parts in prop::collection::vec((0..50usize, 0..50usize), 1..12)) {
            let mut numbers = Vec::new();
            for (low, high) in &parts {
                numbers.extend((0..low + high).map(|index| u64::from(index >= *low)));
            }
            let (before, expected) = (numbers.len(), numbers.iter().filter(|number| **number == 0).count());
            let parts = parts.iter().map(|&(low, high)| Part { len: low + high, below: low });
            prop_assert_eq!(exchange_misplaced(&mut numbers, parts), expected);
            prop_assert!(numbers.is_sorted() && numbers.len() == before);
        }
    }

    #[test]
    fn every_kind_of_numbers_is_cut_into_ranges_in_order() {
        let len = 40 * MIN_RANGE as u64;
        let kinds: [fn(u64) -> u64; 5] = [
            |n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            |n| n % 3,
            |n| 1_000_000_000 - n,
            |n| n ^ 1,
            |n| u64::MAX - u64::from(n % 1000 == 0),
        ];
        for (index, value) in kinds.iter().enumerate() {
            for threads in [2, 3, 8] {
                let mut numbers: Vec<u64> = (0..len).map(value).collect();
                let sum = numbers.iter().fold(0u64, |sum, number| sum.wrapping_add(*number));
                let ranges = split(&mut numbers, threads).unwrap();
                let mut ranges: Vec<_> = ranges.into_iter().filter(|range| !range.is_empty()).collect();
                // The ranges may be finished in any order.
                ranges.sort_by_key(|range| range.as_ptr());
                for pair in ranges.windows(2) {
                    assert!(pair[0].iter().max() <= pair[1].iter().min(), "{index} {threads}");
                }
                let longest = ranges.iter().map(|range| range.len()).max().unwrap();
                // If the numbers differ, no thread gets much more than its share.
                assert!(
                    [1, 4].contains(&index) || longest < 3 * len as usize / threads / 2,
                    "{index} {threads}"
                );
                let got = numbers.iter().fold(0u64, |sum, number| sum.wrapping_add(*number));
                assert_eq!(got, sum);
            }
        }
    }
}
