//! Numbers that are already in order or in reverse order: detected, and reversed if needed, by
//! several threads without a sort.

use crate::{WorkloadError, team};

/// Numbers compared between two checks of whether to go on: enough for the compiler to use vector
/// instructions.
const STRETCH: usize = 128;

/// Order of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Ascending,
    Descending,
    None,
}

/// Sorts `numbers` if they ascend or descend throughout, and returns whether they did. The cost is
/// a few comparisons if they do neither.
pub(super) fn sort(numbers: &mut [u64], threads: usize) -> Result<bool, WorkloadError> {
    let order = match numbers.get(..STRETCH.min(numbers.len())) {
        Some(start) if ascends(start) => Order::Ascending,
        Some(start) if descends(start) => Order::Descending,
        _ => Order::None,
    };
    let is_in_order = match order {
        Order::Ascending => ascends,
        Order::Descending => descends,
        Order::None => return Ok(false),
    };
    let (all, length) = (&*numbers, numbers.len().div_ceil(threads).max(1));
    let piece = |start: usize| {
        // The part includes one number of the next part, to compare across the boundary.
        let part = &all[start..all.len().min(start + length + 1)];
        move || is_in_order(part)
    };
    let pieces = (0..numbers.len()).step_by(length).map(piece).collect();
    if !team::run("quicksort", pieces)?.into_iter().all(|all| all) {
        return Ok(false);
    }
    if order == Order::Descending {
        reverse(numbers, threads)?;
    }
    Ok(true)
}

fn reverse(numbers: &mut [u64], threads: usize) -> Result<(), WorkloadError> {
    let half = numbers.len() / 2;
    let (front, back) = numbers.split_at_mut(half);
    // The middle one of an odd number of items stays in place.
    let odd = back.len() - half;
    let length = half.div_ceil(threads).max(1);
    let pairs = front.chunks_mut(length).zip(back[odd..].rchunks_mut(length));
    let piece = |(front, back): (&mut [u64], &mut [u64])| {
        for (a, b) in front.iter_mut().zip(back.iter_mut().rev()) {
            std::mem::swap(a, b);
        }
    };
    team::run("quicksort", pairs.map(|pair| move || piece(pair)).collect())?;
    Ok(())
}

/// Whether no number is less than its predecessor.
pub(super) fn ascends(numbers: &[u64]) -> bool {
    all_neighbours(numbers, |before, number| before <= number)
}

fn descends(numbers: &[u64]) -> bool {
    all_neighbours(numbers, |before, number| before >= number)
}

/// Whether all neighbours satisfy `is_in_order`. The loop alternates between two places, half of
/// the numbers apart. One core gets more memory bandwidth from two places than from one, by a
/// twelfth on the tested machine.
fn all_neighbours(numbers: &[u64], is_in_order: impl Fn(u64, u64) -> bool) -> bool {
    let Some(followers) = numbers.get(1..) else { return true };
    let stretches =
        |from: usize, to: usize| numbers[from..to].chunks(STRETCH).zip(followers[from..to].chunks(STRETCH));
    let all = |(before, after): (&[u64], &[u64])| {
        before.iter().zip(after).fold(true, |all, (a, b)| all & is_in_order(*a, *b))
    };
    let middle = followers.len() / 2;
    let (mut front, mut back) = (stretches(0, middle), stretches(middle, followers.len()));
    loop {
        match [front.next(), back.next()] {
            [None, None] => return true,
            pair if pair.into_iter().flatten().all(all) => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordered_runs_are_found_and_descending_ones_reversed() {
        for len in [0, 1, 2, 3, 127, 128, 129, 1000, 1001] {
            for threads in [1, 2, 3, 7] {
                let ascending: Vec<u64> = (0..len).map(|n| n / 2).collect();
                for reverse in [false, true] {
                    let mut numbers = ascending.clone();
                    if reverse {
                        numbers.reverse();
                    }
                    assert!(sort(&mut numbers, threads).unwrap());
                    assert_eq!(numbers, ascending, "{len} {threads} {reverse}");
                }
            }
        }
    }

    #[test]
    fn one_number_out_of_place_is_found_wherever_it_is() {
        for place in 1..600 {
            let mut numbers: Vec<u64> = (0..600).map(|n| 2 * n).collect();
            numbers[place] = numbers[place - 1] - u64::from(place > 1);
            let ordered = place == 1;
            let before = numbers.clone();
            assert_eq!(sort(&mut numbers, 3).unwrap(), ordered, "{place}");
            assert_eq!(numbers, before);
        }
    }
}
