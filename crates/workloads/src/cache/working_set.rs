//! The working set: lines that each contain the place of the next one, in a random order through
//! all of them.
//!
//! Each load needs the result of the previous one, and no CPU can predict the next place. The time
//! of a walk is therefore the sum of its load latencies. This module has no threads and no CPUs.

use morecores_study::Bytes;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::MEMORY_ARGUMENTS;
use super::size::Size;
use crate::{WorkloadError, memory};

/// Bytes of a cache line on x86 CPUs since the Pentium 4, and on most others.
const LINE: usize = 64;

/// Words of a line; only the first one is used.
const STRIDE: usize = LINE / size_of::<u64>();

/// Loads between two calls of `between_stretches`: at 1 ns each, some hundred times as long as the
/// clock takes.
const STRETCH_LOADS: u64 = 4096;

/// Words. The first word of each line holds the place of the next line.
#[derive(Debug)]
pub(super) struct WorkingSet {
    words: Vec<u64>,
    /// Number of lines of the linked size.
    lines: u64,
    size: Option<Size>,
}

impl WorkingSet {
    /// Reserves room for sizes up to the largest. The pages stay untouched.
    pub(super) fn reserve(largest: Bytes) -> Result<Self, WorkloadError> {
        let words = largest.0 as usize / size_of::<u64>();
        Ok(Self { words: memory::zeroed(words, MEMORY_ARGUMENTS)?, lines: 0, size: None })
    }

    /// Number of linked lines.
    pub(super) const fn lines(&self) -> u64 {
        self.lines
    }

    /// Links the lines of a size, at most the largest, in an order of one cycle (S. Sattolo, "An
    /// algorithm to generate a random cyclic permutation", Information Processing Letters 22,
    /// 1986).
    pub(super) fn link(&mut self, size: Size, seed: u64) {
        let lines = size.bytes().0 as usize / LINE;
        let words = &mut self.words[..lines * STRIDE];
        for place in (0..words.len()).step_by(STRIDE) {
            words[place] = place as u64;
        }
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        for line in (1..lines).rev() {
            // The other line is any line before this one, never itself.
            let other = ((u128::from(random.next_u64()) * line as u128) >> 64) as usize;
            words.swap(line * STRIDE, other * STRIDE);
        }
        self.lines = lines as u64;
        self.size = Some(size);
    }

    /// Goes round once, and checks that the walk meets all lines before it returns to the start.
    /// Returns a fingerprint of the order.
    pub(super) fn check(&self) -> Result<u64, WorkloadError> {
        let (mut place, mut visited, mut fingerprint) = (0, 0, 0u64);
        loop {
            place = self.words[place] as usize;
            visited += 1;
            // The fingerprint is a polynomial of the places, so it depends on their order.
            fingerprint = fingerprint.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(place as u64);
            if place == 0 || visited == self.lines {
                break;
            }
        }
        if place == 0 && visited == self.lines {
            return Ok(fingerprint);
        }
        Err(WorkloadError::WrongResult {
            what: format!("cache, the cycle of the set of {}", self.size.map_or("no lines", Size::name)),
            expected: format!("back at the start after {} lines", self.lines),
            got: format!("at {place} after {visited}"),
        })
    }

    /// Makes `loads` loads from the start, calls `between_stretches` now and then, and returns the
    /// final place.
    pub(super) fn walk(&self, loads: u64, mut between_stretches: impl FnMut()) -> usize {
        let (mut place, mut left) = (0, loads);
        while left > 0 {
            let stretch = left.min(STRETCH_LOADS);
            for _ in 0..stretch {
                place = self.words[place] as usize;
            }
            left -= stretch;
            between_stretches();
        }
        place
    }
}

/// Checks that a walk of whole rounds ends at its start.
pub(super) fn require_start(size: Size, end: usize) -> Result<(), WorkloadError> {
    if end == 0 {
        return Ok(());
    }
    Err(WorkloadError::WrongResult {
        what: format!("cache, the end of a walk through the set of {}", size.name()),
        expected: "its start".to_owned(),
        got: format!("word {end}"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::size::parse;
    use super::*;
    use std::collections::HashSet;

    fn linked_set(size: &str, seed: u64) -> WorkingSet {
        let size = parse(size).unwrap();
        let mut set = WorkingSet::reserve(Bytes(size.bytes().0 * 2)).unwrap();
        set.link(size, seed);
        set
    }

    #[test]
    fn the_order_is_one_cycle_through_every_line() {
        for (name, lines) in [("1KiB", 16), ("16KiB", 256), ("1MiB", 16_384)] {
            let set = linked_set(name, 3);
            assert_eq!(set.lines(), lines);
            let mut visited = HashSet::new();
            let mut place = 0;
            while visited.insert(place) {
                place = set.words[place] as usize;
            }
            assert!(visited.len() as u64 == lines && place == 0, "{name}");
            assert!(visited.iter().all(|place| place % STRIDE == 0));
            set.check().unwrap();
            for rounds in [1, 5] {
                assert_eq!(set.walk(rounds * lines, || {}), 0);
            }
            assert_ne!(set.walk(lines + 1, || {}), 0);
        }
    }

    #[test]
    fn every_cyclic_order_comes_up_and_about_as_often() {
        // Of sixteen lines, each of the other fifteen follows the first with probability 1/15.
        let mut follows = [0; 16];
        for seed in 0..3000 {
            follows[linked_set("1KiB", seed).words[0] as usize / STRIDE] += 1;
        }
        assert_eq!(follows[0], 0);
        // The bounds are five standard deviations, the square root of 3000 * 1/15 * 14/15, around
        // 200.
        assert!(follows[1..].iter().all(|count| (132..=268).contains(count)), "{follows:?}");
    }

    #[test]
    fn a_short_cycle_and_a_lost_line_are_found() {
        let mut set = linked_set("16KiB", 3);
        let fingerprint = set.check().unwrap();
        assert_ne!(linked_set("16KiB", 4).check().unwrap(), fingerprint);
        // Two lines exchange their followers, which makes two cycles instead of one.
        set.words.swap(STRIDE, 2 * STRIDE);
        let error = set.check().unwrap_err();
        assert!(error.exit_status() == 1 && error.to_string().contains("the set of 16KiB"), "{error}");
        let mut set = linked_set("16KiB", 3);
        // The line follows itself.
        set.words[STRIDE] = STRIDE as u64;
        assert!(set.check().is_err());
        assert!(require_start(parse("1KiB").unwrap(), 8).is_err());
    }

    #[test]
    fn the_callback_runs_between_stretches() {
        let set = linked_set("1KiB", 1);
        let mut checks = 0;
        set.walk(3 * STRETCH_LOADS + 1, || checks += 1);
        assert_eq!(checks, 4);
    }
}
