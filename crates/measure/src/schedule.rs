//! Order of the runs: rounds, each with every CPU count once, in an order that is shuffled for each
//! round from the seed.
//!
//! The function is pure. Interleaving spreads a drift of the machine over all counts. Shuffling
//! prevents a count from always following the same other count (design of experiments; here:
//! Kalibera & Jones, ISMM 2013, section 4).

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Order of `points` counts in one round: positions 0 to `points - 1`. Equal seed, stream and round
/// always give an equal order, so a resumed study continues as if it had not stopped.
pub fn round_order(seed: u64, stream: Stream, round: u32, points: usize) -> Vec<usize> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream.number(round));
    let mut order: Vec<usize> = (0..points).collect();
    order.shuffle(&mut random);
    order
}

/// Numbering of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Timed rounds, which count.
    Timed,
    /// Warm-up rounds, which precede them.
    Warmup,
    /// Rounds of traced runs, which follow them.
    Traced,
}

impl Stream {
    /// Number of a round among the rounds of all streams.
    fn number(self, round: u32) -> u64 {
        let round = u64::from(round);
        match self {
            Self::Timed => round << 1,
            Self::Warmup => (round << 1) + 1,
            Self::Traced => (1 << 40) + round,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_has_every_count_once_in_its_own_order() {
        let orders: Vec<_> = (0..50).map(|round| round_order(1, Stream::Timed, round, 5)).collect();
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
        }
        assert!(orders.windows(2).any(|pair| pair[0] != pair[1]));
        assert_eq!(orders[7], round_order(1, Stream::Timed, 7, 5));
        let firsts = |n| orders.iter().filter(|order| order[0] == n).count();
        // The expected number is 10 of 50; a number below 2 has a probability below 0.0002.
        assert!((0..5).all(|n| firsts(n) >= 2));
    }
}
