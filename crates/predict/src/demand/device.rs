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
const MIN_LIKELIHOOD_GAIN: f64 = 1.92;

/// Mean squared residual of the logarithms below which two fits are equal: waits are known to a
/// percent at best.
const MIN_VARIANCE: f64 = 1e-4;

/// Number of waits that found others at the device, below which no estimate is made: a variance of
/// fewer waits is chance.
const MIN_QUEUED_WAITS: usize = 10;

/// Number of requests served at once, from the waits for the device as (from, to), in order of
/// their start.
///
/// A request that finds `k` others at `c` channels waits for `1 + max(0, k + 1 - c) / c` services.
/// The estimate is the number of channels with the least squares in logarithms.
///
/// `u32::MAX` if no queue formed at any number of waiting requests. One if the waits do not decide.
pub(super) fn estimate_channels(waits: &[(Nanos, Nanos)]) -> u32 {
    let found = requests_found(waits);
    if found.iter().filter(|(others, _)| *others > 0).count() < MIN_QUEUED_WAITS {
        return 1;
    }
    let most = found.iter().map(|(others, _)| others + 1).max().unwrap_or(1);
    let likeliest = (2..=most).map(|channels| (channels, likelihood(&found, channels)));
    let Some((channels, best)) = likeliest.max_by(|a, b| a.1.total_cmp(&b.1)) else { return 1 };
    if best - likelihood(&found, 1) < MIN_LIKELIHOOD_GAIN {
        return 1;
    }
    // If the trace never used more channels, any larger number fits as well.
    if channels == most { u32::MAX } else { channels as u32 }
}

/// Number of other requests found, and logarithm of the length, for each wait.
fn requests_found(waits: &[(Nanos, Nanos)]) -> Vec<(usize, f64)> {
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
    let relative_wait = |others: usize| {
        let before = (others + 1).saturating_sub(channels) as f64;
        (before / channels as f64).ln_1p()
    };
    let count = found.len() as f64;
    let residuals = || found.iter().map(|(others, length)| length - relative_wait(*others));
    let mean = residuals().sum::<f64>() / count;
    let variance = residuals().map(|residual| (residual - mean).powi(2)).sum::<f64>() / count;
    -count / 2.0 * variance.max(MIN_VARIANCE).ln()
}

/// Separation of service from queueing: the first request in line gets the first free channel.
pub(super) struct ChannelQueue {
    channels: u32,
    /// Time at which each used channel becomes free.
    free: BinaryHeap<Reverse<Nanos>>,
}

impl ChannelQueue {
    pub(super) const fn new(channels: u32) -> Self {
        Self { channels, free: BinaryHeap::new() }
    }

    /// Service time within a wait; waits come in order of their start.
    pub(super) fn service_time(&mut self, from: Nanos, to: Nanos) -> Nanos {
        if self.channels == u32::MAX {
            return to.since(from);
        }
        let mut start = from;
        let mut end = to;
        if self.free.len() >= self.channels as usize
            && let Some(Reverse(free)) = self.free.pop()
        {
            start = from.max(free).min(to);
            end = to.max(free);
        }
        self.free.push(Reverse(end));
        to.since(start)
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
            let start = from.max(free[0]);
            free[0] = start + 1000;
            waits.push((US(from), US(free[0])));
        }
        waits
    }

    #[test]
    fn littles_law_distinguishes_a_delay_from_a_queue() {
        assert_eq!([1, 2, 3].map(|served| estimate_channels(&waits(served))), [1, 2, u32::MAX]);
    }

    #[test]
    fn waits_without_overlap_give_one_channel() {
        let apart: Vec<_> = (0..100).map(|request| (US(request * 10), US(request * 10 + 5))).collect();
        assert_eq!(estimate_channels(&apart), 1);
        assert_eq!(estimate_channels(&[]), 1);
        // A single pair is chance.
        assert_eq!(estimate_channels(&[(US(0), US(10)), (US(1), US(11))]), 1);
    }

    #[test]
    fn service_time_is_that_of_a_request_alone() {
        for served in [1, 2, 3] {
            let found = estimate_channels(&waits(served));
            let mut service = ChannelQueue::new(found);
            for (from, to) in waits(served) {
                assert_eq!(service.service_time(from, to), US(1000));
            }
        }
    }
}
