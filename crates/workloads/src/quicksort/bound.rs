//! Where to cut a range: a bound that leaves a wanted share of its numbers below it, from a sample.

use super::mix;

/// One number in so many goes into the sample: so that taking and sorting it costs less than 1% of a partition of the
/// range, which touches every number.
const PER_SAMPLE: usize = 4096;

/// Sizes of the sample. 64 numbers find the middle to 6% of the range (half of 64^-1/2), 1024 to 1.6%.
const SAMPLE: std::ops::RangeInclusive<usize> = 64..=1024;

/// What a sample says of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cut {
    /// Both sides of this bound have numbers: below it about this share of them.
    At { bound: u64, share: f64 },
    /// The sample holds this number alone.
    Equal(u64),
}

/// A cut that leaves about `share` of `numbers`, which must not be empty, below it.
pub(super) fn cut(numbers: &[u64], share: f64) -> Cut {
    let sample = sample(numbers);
    let last = sample.len() - 1;
    let wanted = share * sample.len() as f64;
    let number = sample[(wanted as usize).min(last)];
    // Equal numbers stay together: either all of them are below the bound, or none.
    let (below, up_to) = (sample.partition_point(|n| *n < number), sample.partition_point(|n| *n <= number));
    let share = |count: usize| count as f64 / sample.len() as f64;
    let nearer_below = wanted - below as f64 <= up_to as f64 - wanted;
    if below > 0 && (nearer_below || up_to > last) {
        Cut::At { bound: number, share: share(below) }
    } else if up_to <= last {
        // There is a larger one, so that this is no overflow.
        Cut::At { bound: number + 1, share: share(up_to) }
    } else {
        Cut::Equal(number)
    }
}

/// Whether each number is there so often that a handful of cuts leave nothing but equal ones: whether the sample holds
/// each eight times or more.
pub(super) fn few_distinct(numbers: &[u64]) -> bool {
    let mut sample = sample(numbers);
    let drawn = sample.len();
    sample.dedup();
    8 * sample.len() <= drawn
}

/// Some of the numbers, in order.
fn sample(numbers: &[u64]) -> Vec<u64> {
    let mut sample: Vec<u64> = places(numbers.len()).map(|place| numbers[place]).collect();
    sample.sort_unstable();
    sample
}

/// Places of the sample in a range of `len`: the same ones each time, and without any pattern that data could have too.
fn places(len: usize) -> impl Iterator<Item = usize> {
    let count = (len / PER_SAMPLE).clamp(*SAMPLE.start(), *SAMPLE.end());
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
    fn the_share_is_as_wanted() {
        let numbers: Vec<u64> = (0..4_000_000).map(|n| n * 7919 % 4_000_000).collect();
        for wanted in [0.25, 0.5, 2.0 / 3.0] {
            let Cut::At { bound, share } = cut(&numbers, wanted) else { panic!("no cut") };
            // Three times the standard deviation of the share below a quantile of 976 samples.
            assert!((below(&numbers, bound) - wanted).abs() < 0.05, "{wanted}");
            assert!((below(&numbers, bound) - share).abs() < 0.05, "{wanted}");
        }
    }

    #[test]
    fn few_are_told_from_many() {
        let among = |kinds: u64| few_distinct(&(0..1u64 << 20).map(|n| mix(n) % kinds).collect::<Vec<_>>());
        assert!(among(1) && among(16));
        assert!(!among(1000) && !among(u64::MAX));
        assert!(!few_distinct(&[3]) || places(1).count() >= 8);
    }

    #[test]
    fn equal_numbers_stay_together_on_the_better_side() {
        let mixed = |counts: &[(u64, usize)]| {
            let mut numbers: Vec<u64> = counts.iter().flat_map(|(n, count)| vec![*n; *count]).collect();
            numbers.reverse();
            numbers
        };
        let bound = |counts: &[(u64, usize)]| match cut(&mixed(counts), 0.5) {
            Cut::At { bound, .. } => Ok(bound),
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
