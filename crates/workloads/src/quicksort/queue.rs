//! Ranges that wait for a thread. A free thread takes the longest range and either sorts it or cuts
//! it in two.
//!
//! A range is cut as long as it is long compared with the total of the waiting ranges. The first
//! sorted ranges are therefore long and the last ones short, so that threads of different speeds
//! end together.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::bound::{self, Cut};
use super::partition::partition;
use super::{MIN_RANGE, runs};

/// Ranges of this length per thread at which a range counts as short. It is the smallest number
/// with which other threads can compensate for a slow one. Each doubling would cut every number
/// once more here.
const PER_THREAD: usize = 2;

/// Maximum number of cuts that lead to one range. No memory can be halved more often, so a range
/// with so many cuts was cut badly.
const MAX_CUTS: u32 = 64;

/// A part of the numbers that is independent of the other parts.
#[derive(Debug)]
struct Range<'a> {
    numbers: &'a mut [u64],
    cuts: u32,
}

/// The ranges of all threads.
#[derive(Debug)]
pub(super) struct Queue<'a> {
    threads: usize,
    state: Mutex<State<'a>>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State<'a> {
    waiting: Vec<Range<'a>>,
    /// Threads that are cutting a range, which will yield more ranges.
    cutting: usize,
}

/// Next task of a thread.
enum Task<'a> {
    Sort(Range<'a>),
    Cut(Range<'a>),
}

impl<'a> Queue<'a> {
    /// Queue of `ranges` for `threads` threads.
    pub(super) fn new(ranges: Vec<&'a mut [u64]>, threads: usize) -> Self {
        let waiting = ranges.into_iter().map(|numbers| Range { numbers, cuts: 0 }).collect();
        Self { threads, state: Mutex::new(State { waiting, cutting: 0 }), changed: Condvar::new() }
    }

    /// Works until there is no range left to start.
    pub(super) fn work(&self) {
        while let Some(next) = self.next_task() {
            match next {
                Task::Sort(range) => range.sort(),
                Task::Cut(range) => {
                    let halves = range.cut();
                    let mut state = self.state();
                    state.waiting.extend(halves.into_iter().flatten().filter(|half| half.numbers.len() > 1));
                    state.cutting -= 1;
                    drop(state);
                    self.changed.notify_all();
                }
            }
        }
    }

    fn next_task(&self) -> Option<Task<'a>> {
        let mut state = self.state();
        loop {
            let all: usize = state.waiting.iter().map(|range| range.numbers.len()).sum();
            let longest = (0..state.waiting.len()).max_by_key(|index| state.waiting[*index].numbers.len());
            match longest {
                Some(index) => {
                    let range = state.waiting.swap_remove(index);
                    let long = range.numbers.len() * PER_THREAD * self.threads > all;
                    if range.cuts == MAX_CUTS || range.numbers.len() < MIN_RANGE || !long {
                        return Some(Task::Sort(range));
                    }
                    state.cutting += 1;
                    return Some(Task::Cut(range));
                }
                None if state.cutting == 0 => return None,
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Range<'a> {
    /// Sorts the range. The standard library's sort reads all-equal numbers twice more before it
    /// detects them, and writes them. Ranges with few distinct numbers are therefore cut until a
    /// sample shows that they are equal.
    fn sort(self) {
        let mut pending = vec![self];
        while let Some(range) = pending.pop() {
            let short = range.numbers.len() < MIN_RANGE;
            if short || range.cuts == MAX_CUTS || !bound::has_few_distinct(range.numbers) {
                range.numbers.sort_unstable();
            } else {
                pending.extend(range.cut().into_iter().flatten());
            }
        }
    }

    /// Ranges that remain to be sorted after a cut in the middle.
    fn cut(self) -> [Option<Self>; 2] {
        let Self { numbers, cuts } = self;
        let range = |numbers| Some(Self { numbers, cuts: cuts + 1 });
        match bound::choose_cut(numbers, 0.5) {
            Cut::Bound { bound, .. } => {
                let below = partition(numbers, bound);
                let (left, right) = numbers.split_at_mut(below);
                [range(left), range(right)]
            }
            Cut::Equal(_) if runs::ascends(numbers) => [None, None],
            // Most numbers are probably equal. They are in place once the others are on both sides
            // of them.
            Cut::Equal(number) => {
                let below = partition(numbers, number);
                let (left, rest) = numbers.split_at_mut(below);
                let equal = number.checked_add(1).map_or(rest.len(), |above| partition(rest, above));
                [range(left), range(&mut rest[equal..])]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_sorted_and_stay_where_they_are() {
        let len = 20 * MIN_RANGE as u64;
        // The cases are: equal numbers, two values, values up to the largest possible one, and all
        // different numbers.
        let kinds: [fn(u64) -> u64; 4] =
            [|n| n % 2 * 5, |n| u64::MAX - n / 1_000_000, |n| n * 7919 % 65_536, |n| n ^ 0xff];
        for (index, value) in kinds.iter().enumerate() {
            for threads in [1, 3] {
                let mut numbers: Vec<u64> = (0..len).map(value).collect();
                let mut expected = numbers.clone();
                let (front, back) = expected.split_at_mut(len as usize / 3);
                front.sort();
                back.sort();
                let (front, back) = numbers.split_at_mut(len as usize / 3);
                let queue = Queue::new(vec![back, front], threads);
                std::thread::scope(|scope| {
                    for _ in 0..threads {
                        scope.spawn(|| queue.work());
                    }
                });
                assert!(queue.next_task().is_none());
                assert!(numbers == expected, "{index} {threads}");
            }
        }
    }

    #[test]
    fn a_long_range_is_cut_and_a_short_one_is_not() {
        let mut numbers = vec![0; 8 * MIN_RANGE];
        let (short, long) = numbers.split_at_mut(2 * MIN_RANGE);
        let queue = Queue::new(vec![short, long], 1);
        // Six of eight are more than half, then two of two are.
        assert!(matches!(queue.next_task(), Some(Task::Cut(range)) if range.numbers.len() == 6 * MIN_RANGE));
        assert!(matches!(queue.next_task(), Some(Task::Cut(range)) if range.numbers.len() == 2 * MIN_RANGE));
        let mut numbers = vec![0; 8 * MIN_RANGE];
        let queue = Queue::new(numbers.chunks_mut(2 * MIN_RANGE).collect(), 2);
        assert!(matches!(queue.next_task(), Some(Task::Sort(_))));
    }
}
