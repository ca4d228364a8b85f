//! Work of one thread on memory of its own: copies, and accesses at random.

use std::hint::black_box;
use std::time::Duration;

use morecores_study::{Bytes, Nanos};

use crate::clock::monotonic;

/// Words of one copy: 64 KiB, so that the clock is read once in some microseconds, and no function
/// for larger copies bypasses the caches.
const CHUNK: usize = (64 << 10) / WORD;

/// Bytes of a word.
const WORD: usize = size_of::<u64>();

/// Words between two places that accesses at random can reach: a cache line.
const LINE: usize = 64 / WORD;

/// Words of a page.
const PAGE: usize = 4096 / WORD;

/// Accesses between two readings of the clock.
const BATCH: u32 = 1000;

/// Multiplier of the sequence of places: Knuth, *The Art of Computer Programming*, volume 2,
/// section 3.3.4, table 1, line 26.
const MULTIPLIER: u64 = 6_364_136_223_846_793_005;

/// Memory of one thread. All words are zero.
pub(super) struct Memory {
    words: Vec<u64>,
}

impl Memory {
    /// Allocates at least two chunks, and touches every page from the calling thread, so that the
    /// kernel places it near to this thread's CPU.
    pub(super) fn new(bytes: Bytes) -> Self {
        let words = usize::try_from(bytes.0).unwrap_or(usize::MAX) / WORD;
        let mut words = vec![0; words.max(2 * CHUNK)];
        for word in words.iter_mut().step_by(PAGE) {
            *word = black_box(0);
        }
        Self { words }
    }

    /// Bytes per second of copies from one half of the memory to the other, for `length`.
    pub(super) fn copy_bytes_per_s(&mut self, length: Duration) -> f64 {
        let half = self.words.len() / 2;
        let (source, target) = self.words.split_at_mut(half);
        let begin = monotonic();
        let end = begin + Nanos::from(length);
        let mut copied = 0;
        loop {
            for (from, to) in source.chunks_exact(CHUNK).zip(target.chunks_exact_mut(CHUNK)) {
                black_box(&mut *to).copy_from_slice(black_box(from));
                copied += CHUNK * WORD;
                let now = monotonic();
                if now >= end {
                    return copied as f64 / now.since(begin).as_secs_f64();
                }
            }
        }
    }

    /// Mean time of accesses at random, for `length`. Each begins when the one before has ended,
    /// because its place depends on the value there.
    pub(super) fn access_ns(&self, length: Duration) -> f64 {
        let words = black_box(self.words.as_slice());
        // The high bits of the sequence are the random ones.
        let shift = u64::BITS - (words.len() / LINE).ilog2();
        let begin = monotonic();
        let end = begin + Nanos::from(length);
        let (mut state, mut accesses) = (1_u64, 0.0);
        loop {
            for _ in 0..BATCH {
                let line = (state >> shift) as usize;
                // The word is zero, which the compiler cannot know.
                state = state.wrapping_mul(MULTIPLIER).wrapping_add(1 | words[line * LINE]);
            }
            accesses += f64::from(BATCH);
            let now = monotonic();
            if now >= end {
                black_box(state);
                return now.since(begin).0 as f64 / accesses;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted_for_the_time_asked_for() {
        let mut memory = Memory::new(Bytes(1 << 20));
        let length = Duration::from_millis(2);
        // Any machine copies at 1 MB/s to 10 TB/s, and an access takes 0.1 ns to 0.1 ms.
        let rate = memory.copy_bytes_per_s(length);
        assert!((1e6..1e13).contains(&rate), "{rate}");
        let access = memory.access_ns(length);
        assert!((0.1..1e5).contains(&access), "{access}");
        assert!(memory.words.iter().all(|word| *word == 0));
    }
}
