//! Number of requests that a device serves at once, estimated from the extra wait of requests that
//! find others waiting.
//!
//! By Little's law, the number in service equals the arrivals during one service time, and that
//! time is the wait at an idle device. If requests at a busy device wait no longer, each is delayed
//! alone. If their wait grows in proportion to the number already there, they queue.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use morecores_study::Nanos;

/// Gain in log-likelihood from which a device counts as serving several requests at once. By chance
/// alone, one in twenty gains as much (half of the 95% quantile of chi-square with one degree of
/// freedom).
const TOLD: f64 = 1.92;

/// Mean squared residual of the logarithms below which two fits are equal: waits are known to a
/// percent at best.
const ALIKE: f64 = 1e-4;

/// Number of waits that found others at the device, below which no estimate is made: a variance of
/// fewer waits is chance.
const ENOUGH: usize = 10;

/// Number of requests served at once, from the waits for the device as (from, to), in order of
/// their start.
///
/// A request that finds `k` others at `c` channels waits for `1 + max(0, k + 1 - c) / c` services.
/// The estimate is the number of channels with the least squares in logarithms.
///
/// `u32::MAX` if no queue formed at any number of waiting requests. One if the waits do not decide.
pub(super) fn channels(waits: &[(Nanos, Nanos)]) -> u32 {
    let found = found(waits);
    if found.iter().filter(|(others, _)| *others > 0).count() < ENOUGH {
        return 1;
    }
    let most = found.iter().map(|(others, _)| others + 1).max().unwrap_or(1);
    let likeliest = (2..=most).map(|channels| (channels, likelihood(&found, channels)));
    let Some((channels, best)) = likeliest.max_by(|a, b| a.1.total_cmp(&b.1)) else { return 1 };
    if best - likelihood(&found, 1) < TOLD {
        return 1;
    }
    // If the trace never used more channels, any larger number fits as well.
    if channels == most { u32::MAX } else { channels as u32 }
}

/// Number of other requests found, and logarithm of the length, for each wait.
fn found(waits: &[(Nanos, Nanos)]) -> Vec<(usize, f64)> {
    let mut ends: BinaryHeap<Reverse<Nanos>> = BinaryHeap::new();
    let mut found = Vec::with_capacity(waits.len());
    for (from, to) in waits.iter().filter(|(from, to)| from < to) {
        while ends.peek().is_some_and(|Reverse(end)| end <= from) {
            ends.pop();
        }
        found.push((ends.len(), to.since(*from).as_secs_f64().ln()));
        ends.push(Reverse(*to));
    }
    found
}

/// Log-likelihood of a number of channels, up to a constant.
fn likelihood(found: &[(usize, f64)], channels: usize) -> f64 {
    let services = |others: usize| {
        let before = (others + 1).saturating_sub(channels) as f64;
        (before / channels as f64).ln_1p()
    };
    let count = found.len() as f64;
    let left = || found.iter().map(|(others, length)| length - services(*others));
    let mean = left().sum::<f64>() / count;
    let variance = left().map(|left| (left - mean).powi(2)).sum::<f64>() / count;
    -count / 2.0 * variance.max(ALIKE).ln()
}

/// Separation of service from queueing: the first request in line gets the first free channel.
pub(super) struct Service {
    channels: u32,
    /// Time at which each used channel becomes free.
    free: BinaryHeap<Reverse<Nanos>>,
}

impl Service {
    pub(super) const fn new(channels: u32) -> Self {
        Self { channels, free: BinaryHeap::new() }
    }

    /// Service time within a wait; waits come in order of their start.
    pub(super) fn of(&mut self, from: Nanos, to: Nanos) -> Nanos {
        if self.channels == u32::MAX {
            return to.since(from);
        }
        let mut begun = from;
        let mut until = to;
        if self.free.len() >= self.channels as usize
            && let Some(Reverse(free)) = self.free.pop()
        {
            begun = from.max(free).min(to);
            until = to.max(free);
        }
        self.free.push(Reverse(until));
        to.since(begun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: fn(u64) -> Nanos = Nanos::from_micros;

    /// Requests of one millisecond each that arrive in threes, at a device with this number of
    /// channels.
    fn waits(channels: usize) -> Vec<(Nanos, Nanos)> {
        let mut free = vec![0; channels];
        let mut waits = Vec::new();
        for request in 0..300_u64 {
            let from = request / 3 * 4000 + request % 3 * 100;
            free.sort_unstable();
            let begun = from.max(free[0]);
            free[0] = begun + 1000;
            waits.push((US(from), US(free[0])));
        }
        waits
    }

    #[test]
    fn littles_law_tells_a_delay_from_a_queue() {
        assert_eq!([1, 2, 3].map(|served| channels(&waits(served))), [1, 2, u32::MAX]);
    }

    #[test]
    fn waits_that_never_overlap_tell_nothing() {
        let apart: Vec<_> = (0..100).map(|request| (US(request * 10), US(request * 10 + 5))).collect();
        assert_eq!(channels(&apart), 1);
        assert_eq!(channels(&[]), 1);
        // A single pair is chance.
        assert_eq!(channels(&[(US(0), US(10)), (US(1), US(11))]), 1);
    }

    #[test]
    fn each_is_served_for_as_long_as_it_takes_alone() {
        for served in [1, 2, 3] {
            let told = channels(&waits(served));
            let mut service = Service::new(told);
            for (from, to) in waits(served) {
                assert_eq!(service.of(from, to), US(1000));
            }
        }
    }
}
