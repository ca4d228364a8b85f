//! Partitioning: the numbers below a bound to the front, the others behind them.
//!
//! By one thread; how several share a range is in `together`.

/// Numbers that one part gets ready before it exchanges them with the other: 64 KiB, so that two of them stay in the
/// second cache of any core of the last ten years until they are exchanged. In shorter ones the two places of
/// [`partition`] are too often too near each other for the CPU to overtake a store with a load: 512 take half as long
/// again.
const BLOCK: usize = 8192;

/// Moves the numbers below `bound` to the front and returns how many they are. N. Lomuto's way, without a branch that
/// depends on the numbers: a CPU guesses every second one of those wrong, at some 15 cycles each. Numbers move round in
/// one cycle instead of being exchanged (O. Peters, L. Bergdoll, *sort-research-rs*, 2024: "branchless cyclic Lomuto"): the
/// first is taken out, and put in at the end.
pub(super) fn partition(numbers: &mut [u64], bound: u64) -> usize {
    let Some(&first) = numbers.first() else { return 0 };
    let last = numbers.len() - 1;
    // What is in front of `below` is below the bound, and the place before `next` is free.
    let mut below = 0;
    for next in 1..=last {
        let number = numbers[next];
        numbers[next - 1] = numbers[below];
        numbers[below] = number;
        below += usize::from(number < bound);
    }
    numbers[last] = numbers[below];
    numbers[below] = first;
    below + usize::from(first < bound)
}

/// Exchanges numbers between `left` and `right` until all of `left` is below `bound` or nothing of `right` is, and
/// partitions the one that is left over. Returns how many of each are below. So where the two are neighbours, they are
/// then partitioned as a whole.
pub(super) fn partition_both(left: &mut [u64], right: &mut [u64], bound: u64) -> (usize, usize) {
    // Of the left: [0, from) is below, [from, high) is not, the rest is to be seen.
    let (mut from, mut high) = (0, 0);
    // Of the right: [to, ..) is not below, [low, to) is, the rest is to be seen.
    let (mut low, mut to) = (right.len(), right.len());
    loop {
        if from == high {
            if high == left.len() {
                break;
            }
            let end = left.len().min(high + BLOCK);
            from = high + partition(&mut left[high..end], bound);
            high = end;
        }
        if low == to {
            if low == 0 {
                break;
            }
            let start = low.saturating_sub(BLOCK);
            to = start + partition(&mut right[start..low], bound);
            low = start;
        }
        let exchanged = (high - from).min(to - low);
        left[from..from + exchanged].swap_with_slice(&mut right[to - exchanged..to]);
        from += exchanged;
        to -= exchanged;
    }
    // One of the two has nothing left to be seen or exchanged. In the other, what is still to be seen lies beside one
    // stretch that is done.
    let more = partition(&mut left[high..], bound);
    exchange_ends(&mut left[from..high + more], high - from);
    let less = partition(&mut right[..low], bound);
    exchange_ends(&mut right[less..to], low - less);
    (from + more, less + to - low)
}

/// Brings the numbers from `middle` on before those that precede it, in any order.
fn exchange_ends(numbers: &mut [u64], middle: usize) {
    let behind = numbers.len() - middle;
    let moved = behind.min(middle);
    let (front, back) = numbers.split_at_mut(numbers.len() - moved);
    front[..moved].swap_with_slice(back);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn what_is_below_is_in_front_and_nothing_is_lost(
            len in 0..4 * BLOCK, cut: f64, seed: u64, bound in prop_oneof![0..7u64, any::<u64>(), Just(u64::MAX)],
        ) {
            // Every second number is one of a few, the bound among them.
            let number = |n: u64| match (n ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32) {
                random if n.is_multiple_of(2) => random,
                random => bound.wrapping_add(random % 5).wrapping_sub(2),
            };
            let mut got: Vec<u64> = (0..len as u64).map(number).collect();
            let mut expected = got.clone();
            let below = expected.iter().filter(|number| **number < bound).count();
            let cut = (cut.abs().fract() * len as f64) as usize;
            let (left, right) = got.split_at_mut(cut);
            let (l, r) = partition_both(left, right, bound);
            prop_assert!(l + r == below && (l == left.len() || r == 0));
            prop_assert!(got[..below].iter().all(|number| *number < bound));
            prop_assert!(got[below..].iter().all(|number| *number >= bound));
            got.sort();
            expected.sort();
            prop_assert!(got == expected);
            got.reverse();
            prop_assert_eq!(partition(&mut got, bound), below);
            prop_assert!(got[..below].iter().all(|number| *number < bound));
        }
    }

    #[test]
    fn blocks_of_every_kind_meet() {
        // All on the wrong side, all on the right side, and everything in between.
        for (lefts, rights) in [
            (0..20_000, 20_000..44_000),
            (20_000..44_000, 0..20_000),
            (0..44_000, 0..44_000),
            (7..7, 0..36_000),
        ] {
            let (mut left, mut right): (Vec<u64>, Vec<u64>) = (lefts.collect(), rights.collect());
            let below = left.iter().chain(&right).filter(|number| **number < 20_000).count();
            let (l, r) = partition_both(&mut left, &mut right, 20_000);
            assert!(l + r == below && (l == left.len() || r == 0));
            assert!(left[..l].iter().chain(&right[..r]).all(|number| *number < 20_000));
            assert!(left[l..].iter().chain(&right[r..]).all(|number| *number >= 20_000));
        }
    }
}
