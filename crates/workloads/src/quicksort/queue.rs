//! Ranges that wait for a thread: whoever is free takes the longest, and either sorts it or cuts it in two.
//!
//! A range is cut as long as it is long compared with all that wait, so that the first ones sorted are long and the
//! last ones short, and threads end together however fast each of them was.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::bound::{self, Cut};
use super::partition::partition;
use super::{MIN_RANGE, runs};

/// Ranges a thread, counted as long as this one, for a range to be short: the fewest that let others make good what
/// one does too slowly. Each doubling would cut every number once more here.
const PER_THREAD: usize = 2;

/// Cuts that lead to one range at most. No memory is halved more often: whoever gets that far has been cut badly.
const MAX_CUTS: u32 = 64;

/// A part of the numbers, which has nothing to do with the other ones any more.
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
    /// Threads that are cutting a range, from which more will come.
    cutting: usize,
}

/// What a thread does next.
enum Next<'a> {
    Sort(Range<'a>),
    Cut(Range<'a>),
}

impl<'a> Queue<'a> {
    /// The work of `threads` threads.
    pub(super) fn new(ranges: Vec<&'a mut [u64]>, threads: usize) -> Self {
        let waiting = ranges.into_iter().map(|numbers| Range { numbers, cuts: 0 }).collect();
        Self { threads, state: Mutex::new(State { waiting, cutting: 0 }), changed: Condvar::new() }
    }

    /// Works until nothing is left to begin.
    pub(super) fn work(&self) {
        while let Some(next) = self.next() {
            match next {
                Next::Sort(range) => range.sort(),
                Next::Cut(range) => {
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

    fn next(&self) -> Option<Next<'a>> {
        let mut state = self.state();
        loop {
            let all: usize = state.waiting.iter().map(|range| range.numbers.len()).sum();
            let longest = (0..state.waiting.len()).max_by_key(|index| state.waiting[*index].numbers.len());
            match longest {
                Some(index) => {
                    let range = state.waiting.swap_remove(index);
                    let long = range.numbers.len() * PER_THREAD * self.threads > all;
                    if range.cuts == MAX_CUTS || range.numbers.len() < MIN_RANGE || !long {
                        return Some(Next::Sort(range));
                    }
                    state.cutting += 1;
                    return Some(Next::Cut(range));
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
    /// Sorts it. The standard library's sort looks at numbers that are all equal twice more before it knows, and writes
    /// them; where few are distinct, they are cut until a look at a sample says that they are.
    fn sort(self) {
        let mut open = vec![self];
        while let Some(range) = open.pop() {
            let short = range.numbers.len() < MIN_RANGE;
            if short || range.cuts == MAX_CUTS || !bound::few_distinct(range.numbers) {
                range.numbers.sort_unstable();
            } else {
                open.extend(range.cut().into_iter().flatten());
            }
        }
    }

    /// What is left to sort after a cut in the middle.
    fn cut(self) -> [Option<Self>; 2] {
        let Self { numbers, cuts } = self;
        let range = |numbers| Some(Self { numbers, cuts: cuts + 1 });
        match bound::cut(numbers, 0.5) {
            Cut::At { bound, .. } => {
                let below = partition(numbers, bound);
                let (left, right) = numbers.split_at_mut(below);
                [range(left), range(right)]
            }
            Cut::Equal(_) if runs::ascends(numbers) => [None, None],
            // Most are probably equal, and done when the others have been put on both sides of them.
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
        // Any two numbers that are equal, or only two, or the largest there is, or all different.
        let kinds: [fn(u64) -> u64; 4] =
            [|n| n % 2 * 5, |n| u64::MAX - n / 1_000_000, |n| n * 7919 % 65_536, |n| n ^ 0xff];
        for (index, kind) in kinds.iter().enumerate() {
            for threads in [1, 3] {
                let mut numbers: Vec<u64> = (0..len).map(kind).collect();
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
                assert!(queue.next().is_none());
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
        assert!(matches!(queue.next(), Some(Next::Cut(range)) if range.numbers.len() == 6 * MIN_RANGE));
        assert!(matches!(queue.next(), Some(Next::Cut(range)) if range.numbers.len() == 2 * MIN_RANGE));
        let mut numbers = vec![0; 8 * MIN_RANGE];
        let queue = Queue::new(numbers.chunks_mut(2 * MIN_RANGE).collect(), 2);
        assert!(matches!(queue.next(), Some(Next::Sort(_))));
    }
}
