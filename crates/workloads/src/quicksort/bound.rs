//! Position of a cut: a bound, estimated from a sample, with the wanted share of the range's
//! numbers below it.

use super::mix;

/// Numbers in the range per number in the sample. At this ratio, taking and sorting the sample
/// costs less than 1% of a partition, which touches every number of the range.
const PER_SAMPLE: usize = 4096;

/// Sizes of the sample. A sample of 64 numbers finds the middle to 6% of the range (half of
/// 64^-1/2), one of 1024 to 1.6%.
const SAMPLE_SIZES: std::ops::RangeInclusive<usize> = 64..=1024;

/// Estimate from a sample of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cut {
    /// Bound with numbers on both sides, and the estimated share of the numbers below it.
    Bound { bound: u64, share: f64 },
    /// The sample holds only this number.
    Equal(u64),
}

/// Cut with about `share` of `numbers` below it. `numbers` must not be empty.
pub(super) fn choose_cut(numbers: &[u64], share: f64) -> Cut {
    let sample = sample(numbers);
    let last = sample.len() - 1;
    let wanted = share * sample.len() as f64;
    let number = sample[(wanted as usize).min(last)];
    // Equal numbers stay together: the bound has either all or none of them below it.
    let (below, up_to) = (sample.partition_point(|n| *n < number), sample.partition_point(|n| *n <= number));
    let share = |count: usize| count as f64 / sample.len() as f64;
    let nearer_below = wanted - below as f64 <= up_to as f64 - wanted;
    if below > 0 && (nearer_below || up_to > last) {
        Cut::Bound { bound: number, share: share(below) }
    } else if up_to <= last {
        // A larger number exists, so the addition cannot overflow.
        Cut::Bound { bound: number + 1, share: share(up_to) }
    } else {
        Cut::Equal(number)
    }
}

/// Whether each number is so frequent that a handful of cuts leave only equal numbers. The
/// criterion is that the sample holds each of its numbers eight times or more on average.
pub(super) fn has_few_distinct(numbers: &[u64]) -> bool {
    let mut sample = sample(numbers);
    let drawn = sample.len();
    sample.dedup();
    8 * sample.len() <= drawn
}

/// Sample of the numbers, in order.
fn sample(numbers: &[u64]) -> Vec<u64> {
    let mut sample: Vec<u64> = sample_positions(numbers.len()).map(|place| numbers[place]).collect();
    sample.sort_unstable();
    sample
}

/// Places of the sample in a range of `len` numbers. The places are always the same, and have no
/// pattern that data could also have.
fn sample_positions(len: usize) -> impl Iterator<Item = usize> {
    let count = (len / PER_SAMPLE).clamp(*SAMPLE_SIZES.start(), *SAMPLE_SIZES.end());
    // Steps by the golden ratio never come near each other (Weyl's sequence).
    (1..=count as u64).map(move |i| {
        let random = mix(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        ((u128::from(random) * len as u128) >> 64) as usize
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn below(numbers: &[u64], bound: u64) -> f64 {
        numbers.iter().filter(|n| **n < bound).count() as f64 / numbers.len() as f64
    }

    #[test]
    fn the_share_below_the_bound_is_the_requested_one() {
        let numbers: Vec<u64> = (0..4_000_000).map(|n| n * 7919 % 4_000_000).collect();
        for wanted in [0.25, 0.5, 2.0 / 3.0] {
            let Cut::Bound { bound, share } = choose_cut(&numbers, wanted) else { panic!("no cut") };
            // The tolerance is three times the standard deviation of the share below a quantile of
            // 976 samples.
            assert!((below(&numbers, bound) - wanted).abs() < 0.05, "{wanted}");
            assert!((below(&numbers, bound) - share).abs() < 0.05, "{wanted}");
        }
    }

    #[test]
    fn few_distinct_numbers_are_recognised() {
        let among =
            |kinds: u64| has_few_distinct(&(0..1u64 << 20).map(|n| mix(n) % kinds).collect::<Vec<_>>());
        assert!(among(1) && among(16));
        assert!(!among(1000) && !among(u64::MAX));
        assert!(!has_few_distinct(&[3]) || sample_positions(1).count() >= 8);
    }

    #[test]
    fn equal_numbers_stay_together_on_the_better_side() {
        let mixed = |counts: &[(u64, usize)]| {
            let mut numbers: Vec<u64> = counts.iter().flat_map(|(n, count)| vec![*n; *count]).collect();
            numbers.reverse();
            numbers
        };
        let bound = |counts: &[(u64, usize)]| match choose_cut(&mixed(counts), 0.5) {
            Cut::Bound { bound, .. } => Ok(bound),
            Cut::Equal(number) => Err(number),
        };
        assert_eq!(bound(&[(5, 400), (6, 1000), (7, 100)]), Ok(6));
        assert_eq!(bound(&[(5, 100), (6, 1000), (7, 400)]), Ok(7));
        assert_eq!(bound(&[(5, 1000), (7, 400)]), Ok(6));
        assert_eq!(bound(&[(5, 400), (u64::MAX, 1000)]), Ok(u64::MAX));
        assert_eq!(bound(&[(u64::MAX, 1000)]), Err(u64::MAX));
        assert_eq!(bound(&[(9, 1)]), Err(9));
    }
}
