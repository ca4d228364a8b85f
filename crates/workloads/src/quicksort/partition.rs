//! Partitioning: the numbers below a bound move to the front, the others behind them.
//!
//! One thread partitions here; several threads share a range in `parallel_partition`.

/// Numbers that one part prepares before it exchanges them with the other: 64 KiB. Two blocks then
/// stay in the second-level cache of any core of the last ten years until the exchange. In shorter
/// blocks the two places of [`partition`] are too often too close for the CPU to move a load ahead
/// of a store: blocks of 512 take half as long again.
const BLOCK: usize = 8192;

/// Moves the numbers below `bound` to the front and returns their count. The algorithm is N.
/// Lomuto's, without a branch that depends on the numbers. A CPU mispredicts every second such
/// branch, at about 15 cycles each. The numbers rotate in one cycle instead of being exchanged (O.
/// Peters, L. Bergdoll, *sort-research-rs*, 2024: "branchless cyclic Lomuto"). The first number is
/// taken out and put back at the end.
pub(super) fn partition(numbers: &mut [u64], bound: u64) -> usize {
    let Some(&first) = numbers.first() else { return 0 };
    let last = numbers.len() - 1;
    // The numbers before `below` are below the bound, and the place before `next` is free.
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

/// Exchanges numbers between `left` and `right` until all of `left` is below `bound` or nothing of
/// `right` is. Then partitions the remaining slice. Returns the count of numbers below the bound in
/// each slice. Two adjacent slices are then partitioned as a whole.
pub(super) fn partition_both(left: &mut [u64], right: &mut [u64], bound: u64) -> (usize, usize) {
    // In the left slice [0, from) is below, [from, high) is not, and the rest is unexamined.
    let (mut from, mut high) = (0, 0);
    // In the right slice [to, ..) is not below, [low, to) is, and the rest is unexamined.
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
    // One of the two has nothing left to examine or exchange. In the other slice the unexamined
    // part lies next to one finished stretch.
    let more = partition(&mut left[high..], bound);
    exchange_ends(&mut left[from..high + more], high - from);
    let less = partition(&mut right[..low], bound);
    exchange_ends(&mut right[less..to], low - less);
    (from + more, less + to - low)
}

/// Moves the numbers from `middle` on before their predecessors, in any order.
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
        fn smaller_numbers_come_first_and_none_is_lost(
            len in 0..4 * BLOCK, cut: f64, seed: u64, bound in prop_oneof![0..7u64, any::<u64>(), Just(u64::MAX)],
        ) {
            // Every second number is one of a few, including the bound.
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
    fn blocks_of_every_order_are_partitioned() {
        // The cases are: all on the wrong side, all on the right side, and mixtures.
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
