//! Whether a device serves one at a time or many at once, by how much longer those wait who find others waiting.
//!
//! By Little's law as many are in service as come in the time that it takes to serve one, and that time is the wait of
//! who comes to an idle device. Where those who come to a busy one wait no longer, each is delayed alone; where they wait
//! in proportion to the number that they find, they stand in a queue.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use morecores_study::Nanos;

/// Gain of the logarithm of the likelihood from which a device is taken to serve several at once: by chance alone one in
/// twenty gains as much (half of the 95% quantile of chi-square with one degree of freedom).
const TOLD: f64 = 1.92;

/// Mean square of what is left of the logarithms below which two fits are alike: waits are no better known than to a
/// percent.
const ALIKE: f64 = 1e-4;

/// Waits that found others at the device below which nothing is made of them: a variance of fewer is chance.
const ENOUGH: usize = 10;

/// Number of requests served at once, by the waits for the device as (from, to), in the order in which they begin.
///
/// Who finds `k` others at a device with `c` channels waits for `1 + max(0, k + 1 - c) / c` services; of the numbers of
/// channels the one with the least squares in logarithms is taken. `u32::MAX` where no queue was seen, whatever the
/// number that waited. One where the waits do not tell.
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
    // More channels than ever were used cannot be told from any number.
    if channels == most { u32::MAX } else { channels as u32 }
}

/// Of each wait, how many others it found and the logarithm of its length.
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

/// Logarithm of the likelihood of so many channels, but for what is the same of every number.
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

/// Tells service from standing in line: the first in line is served by the first channel that is free.
pub(super) struct Service {
    channels: u32,
    /// Time at which each channel that was used is free.
    free: BinaryHeap<Reverse<Nanos>>,
}

impl Service {
    pub(super) const fn new(channels: u32) -> Self {
        Self { channels, free: BinaryHeap::new() }
    }

    /// Time for which a wait was served; waits come in the order in which they begin.
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

    /// Requests of one millisecond each that arrive in threes, at a device with so many channels.
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
        // One pair is chance.
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
