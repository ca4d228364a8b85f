//! Interval of a proportion that holds at every number of runs at once, so that the runs may stop
//! at any time and for any reason.
//!
//! An exact interval of a fixed number of runs would miss far more often than 5% after "until six
//! have failed". This one comes from a test martingale: for the true proportion `p`, the
//! likelihood of the runs under a mixture of proportions, divided by that under `p`, is at least
//! `1 / ALPHA` at some time with a probability of at most `ALPHA` (J. Ville, *Étude critique de la
//! notion de collectif*, 1939; H. Robbins, Annals of Mathematical Statistics 41(5), 1970). The
//! interval has all proportions with a smaller ratio.

use statrs::function::beta::ln_beta;

use crate::Interval;

/// Probability that the interval misses at any time.
const ALPHA: f64 = 0.05;
/// Parameters of the mixture, a beta distribution: Jeffreys's prior, which is about as good for
/// rare events as for others.
const MIXTURE: f64 = 0.5;
/// Halvings that find an end of the interval to the resolution of a number.
const HALVINGS: usize = 60;

/// 95% interval of the probability of an event that occurred in `events` of `runs` independent
/// runs, under any stopping rule. From 0 to 1 without runs.
///
/// # Panics
/// Panics if there are more events than runs.
pub fn proportion_interval(events: u64, runs: u64) -> Interval {
    assert!(events <= runs, "{events} events in {runs} runs");
    let estimate = if runs == 0 { 0.5 } else { events as f64 / runs as f64 };
    let lo = if events == 0 { 0.0 } else { end(events, runs, 0.0, estimate) };
    let hi = if events == runs { 1.0 } else { end(events, runs, 1.0, estimate) };
    Interval { lo, hi }
}

/// End of the interval between `outside` and `inside`.
fn end(events: u64, runs: u64, mut outside: f64, mut inside: f64) -> f64 {
    for _ in 0..HALVINGS {
        let middle = 0.5 * (outside + inside);
        if log_ratio(events, runs, middle) < -ALPHA.ln() {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    outside
}

/// Logarithm of the likelihood under the mixture, divided by that under `p`.
fn log_ratio(events: u64, runs: u64, p: f64) -> f64 {
    let (k, n) = (events as f64, runs as f64);
    let mixture = ln_beta(MIXTURE + k, MIXTURE + n - k) - ln_beta(MIXTURE, MIXTURE);
    let power = |count: f64, base: f64| if count == 0.0 { 0.0 } else { count * base.ln() };
    mixture - power(k, p) - power(n - k, 1.0 - p)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn without_runs_nothing_is_known() {
        assert_eq!(proportion_interval(0, 0).ends(), [0.0, 1.0]);
    }

    #[test]
    fn the_ends_mirror_each_other() {
        for (events, runs) in [(0, 40), (3, 40), (27, 223), (40, 40)] {
            let [lo, hi] = proportion_interval(events, runs).ends();
            let [other_lo, other_hi] = proportion_interval(runs - events, runs).ends();
            assert!((lo - (1.0 - other_hi)).abs() < 1e-9 && (hi - (1.0 - other_lo)).abs() < 1e-9);
            let share = events as f64 / runs as f64;
            assert!(lo <= share && share <= hi, "{lo} {hi}");
        }
    }

    /// By hand: with no event, the upper end solves `-n ln(1 - p) = ln 20 - ln(B(½, n + ½)/π)`; for
    /// n = 436 the beta function is `√(π/n)` to 0.1%.
    #[test]
    fn no_event_bounds_the_proportion() {
        let n = 436.0_f64;
        let expected = 1.0 - (-(20.0_f64.ln() + (std::f64::consts::PI * n).sqrt().ln()) / n).exp();
        let found = proportion_interval(0, 436).hi;
        assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}");
    }

    /// A watcher who stops as soon as the interval misses: in at most 5% of studies at any time.
    #[test]
    fn it_holds_under_a_malicious_stopping_rule() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        for p in [0.01, 0.1, 0.5] {
            const STUDIES: u32 = 400;
            let missed = (0..STUDIES).filter(|_| {
                let mut events = 0;
                (1..=400).any(|runs| {
                    events += u64::from(random.random_bool(p));
                    !proportion_interval(events, runs).contains(p)
                })
            });
            // Four standard errors above 5% of 400.
            let missed = missed.count();
            assert!(missed <= 20 + 17, "{missed} of {STUDIES} at {p}");
        }
    }
}
