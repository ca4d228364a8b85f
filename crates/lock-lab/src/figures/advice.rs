//! Recommended locks by situation: among the locks that let no thread starve, the ones that no
//! other lock beats.
//!
//! The recommendation is a rule of thumb. It covers the measured points, all with the same weight,
//! and nothing between them.

use morecores_study::lock::{LockCell, LockName};
use morecores_view::Estimate;
use morecores_view::locks::{LockAdvice, LockPoint, LockSituation, Prices};

use super::cells::{Cells, ContentionPoint, Rounds};
use super::points::ratio;

/// Wait for a lock, in nanoseconds, that starves a thread. A choice: people notice a tenth of a
/// second (R. Miller, *Response time in man-computer conversational transactions*, AFIPS 1968), and
/// the wait equals many time slices of any scheduler.
const STARVED_NS: u64 = 100_000_000;

/// Threshold of a lock's share of the best lock's rate; a lock above it is as good, however certain
/// the difference is. A choice.
const AS_GOOD: f64 = 0.95;

/// Share of the best lock's rate below which a lock is to be avoided. A choice.
const NEVER: f64 = 0.5;

/// Returns whether a program can use the lock. The kernel's lock is only measured for comparison.
fn can_be_taken(lock: LockName) -> bool {
    lock != LockName::Kernel
}

/// Returns the recommendation for each situation that has figures.
pub(super) fn advice(cells: &Cells<'_>, points: &[LockPoint], prices: &Prices) -> Vec<LockAdvice> {
    let mut advice: Vec<LockAdvice> = free(cells).into_iter().collect();
    let bound = prices.wake_ns.map(|wake| wake.value);
    for situation in [LockSituation::ShortHolds, LockSituation::LongHolds, LockSituation::MoreThreadsThanCpus]
    {
        let here = |point: &&LockPoint| point_situation(point, cells.cpus(), bound) == Some(situation);
        let points: Vec<&LockPoint> = points.iter().filter(here).collect();
        advice.extend(contended(cells, situation, &points));
    }
    advice
}

/// Returns the situation of a point. Returns none without contention, and for at most one thread
/// per CPU if the spin bound is unknown.
fn point_situation(point: &LockPoint, cpus: u32, bound_ns: Option<f64>) -> Option<LockSituation> {
    if point.threads > cpus {
        return Some(LockSituation::MoreThreadsThanCpus);
    }
    let short = (point.hold_ns as f64) < bound_ns?;
    let situation = if short { LockSituation::ShortHolds } else { LockSituation::LongHolds };
    (point.threads > 1).then_some(situation)
}

/// Recommends by the time of a lock and an unlock. No lock is to be avoided here, because the
/// slowest one costs nanoseconds.
fn free(cells: &Cells<'_>) -> Option<LockAdvice> {
    let speed = |lock| {
        let times = cells.times(LockCell::Free { lock });
        // The inverse is a rate, so that a larger value is better as in the other situations.
        Rounds(times.0.into_iter().filter(|(_, ns)| *ns > 0.0).map(|(round, ns)| (round, 1.0 / ns)).collect())
    };
    let locks = cells.plan.locks.iter().copied().filter(|lock| can_be_taken(*lock));
    let merits = locks.map(|lock| (lock, speed(lock))).filter(|(_, merit)| !merit.0.is_empty()).collect();
    let ranking = Ranking::from_merits(merits, &|_| true)?;
    let situation = LockSituation::Free;
    Some(LockAdvice { situation, take: ranking.take(), never: Vec::new(), worst: None })
}

/// Recommends by the geometric mean of the rates over the points of a situation.
fn contended(cells: &Cells<'_>, situation: LockSituation, points: &[&LockPoint]) -> Option<LockAdvice> {
    let has = |point: &LockPoint, lock| point.results.iter().any(|result| result.lock == lock);
    let locks: Vec<LockName> = cells
        .plan
        .locks
        .iter()
        .copied()
        .filter(|&lock| can_be_taken(lock) && points.iter().any(|point| has(point, lock)))
        .collect();
    // Means over different points would not be comparable.
    let common = points.iter().filter(|point| locks.iter().all(|&lock| has(point, lock)));
    let common: Vec<ContentionPoint> =
        common.map(|point| (point.threads, point.hold_ns, point.think_ns)).collect();
    let merit = |lock| {
        let rates: Vec<Rounds> = common.iter().map(|&at| cells.rates(lock, at)).collect();
        (lock, Rounds::geometric_mean(&rates))
    };
    let merits = locks.iter().map(|&lock| merit(lock)).filter(|(_, merit)| !merit.0.is_empty()).collect();
    // A shorter measurement of the waits can only show a thread that never got the lock.
    let starved = STARVED_NS.min(cells.plan.watched_ns.0);
    let starves =
        |lock| common.iter().any(|&at| cells.longest_wait(lock, at).is_some_and(|ns| ns >= starved));
    let ranking = Ranking::from_merits(merits, &|lock| !starves(lock))?;
    let never = ranking.never();
    let worst = never.first().map(|(_, share)| *share);
    let never = never.into_iter().map(|(lock, _)| lock).collect();
    Some(LockAdvice { situation, take: ranking.take(), never, worst })
}

/// Locks with their shares of the best lock's rate, best first.
struct Ranking {
    shares: Vec<(LockName, Estimate)>,
    /// Locks that may be recommended.
    fit: Vec<LockName>,
}

impl Ranking {
    /// Ranks the locks by rate, in pairs of rounds with the best of the locks that are fit. If no
    /// lock is fit, all are. Returns none without a lock.
    fn from_merits(merits: Vec<(LockName, Rounds)>, is_fit: &dyn Fn(LockName) -> bool) -> Option<Self> {
        let all: Vec<LockName> = merits.iter().map(|(lock, _)| *lock).collect();
        let mut fit: Vec<LockName> = all.iter().copied().filter(|&lock| is_fit(lock)).collect();
        if fit.is_empty() {
            fit = all;
        }
        let best = merits
            .iter()
            .filter(|(lock, _)| fit.contains(lock))
            .max_by(|a, b| a.1.median().unwrap_or(0.0).total_cmp(&b.1.median().unwrap_or(0.0)))?;
        let mut shares: Vec<(LockName, Estimate)> =
            merits.iter().map(|(lock, merit)| (*lock, ratio(merit, &best.1))).collect();
        shares.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
        Some(Self { shares, fit })
    }

    /// Returns the fit locks that cannot be told from the best one, or are as good.
    fn take(&self) -> Vec<LockName> {
        let good =
            |share: &Estimate| share.value >= AS_GOOD || share.ci95.is_some_and(|[_, high]| high >= 1.0);
        let fit = self.shares.iter().filter(|(lock, share)| self.fit.contains(lock) && good(share));
        fit.map(|(lock, _)| *lock).collect()
    }

    /// Returns the locks with less than half of the best one's rate, worst first.
    fn never(&self) -> Vec<(LockName, f64)> {
        let below = self.shares.iter().rev().filter(|(_, share)| share.value < NEVER);
        below.map(|(lock, share)| (*lock, share.value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use morecores_study::Nanos;
    use morecores_study::lock::LockStudy;

    use super::super::locks_view;
    use super::super::synthetic::Synthetic;
    use super::*;

    use LockName::{Adaptive, Block, Kernel, Spin, Std, Ticket};

    fn advice_for(study: Synthetic, situation: LockSituation) -> Option<LockAdvice> {
        locks_view(&study.build()).advice.into_iter().find(|advice| advice.situation == situation)
    }

    /// Six rounds around `rate`, with one factor for each round that all locks share.
    fn around(rate: f64) -> [f64; 6] {
        [1.0, 1.2, 0.9, 1.1, 0.8, 1.3].map(|factor| rate * factor)
    }

    const BUSY: ContentionPoint = (4, 1_000, 0);

    #[test]
    fn without_contention_the_cheapest_lock_is_advised_and_none_is_rejected() {
        let free = |lock| LockCell::Free { lock };
        let study = Synthetic::with_locks(&[Spin, Adaptive, Block, Kernel])
            .times(free(Spin), &[10.0])
            .times(free(Adaptive), &[10.3])
            .times(free(Block), &[40.0])
            .times(free(Kernel), &[1.0]);
        let advice = advice_for(study, LockSituation::Free).expect("figures");
        assert_eq!((advice.take, advice.never, advice.worst), (vec![Spin, Adaptive], vec![], None));
    }

    #[test]
    fn unbeaten_locks_are_advised_and_locks_below_half_are_rejected() {
        let study = Synthetic::with_locks(&[Spin, Adaptive, Block, Std, Kernel])
            .contention(Spin, BUSY, &around(1e5))
            .contention(Adaptive, BUSY, &around(1e6))
            .contention(Block, BUSY, &around(9.6e5))
            .contention(Std, BUSY, &around(7e5))
            .contention(Kernel, BUSY, &around(9e6));
        let advice = advice_for(study, LockSituation::MoreThreadsThanCpus).expect("figures");
        assert_eq!((advice.take, advice.never), (vec![Adaptive, Block], vec![Spin]));
        let worst = advice.worst.expect("a worst one");
        assert!((worst - 0.1).abs() < 1e-3, "{worst}");
    }

    /// The fastest lock lets a thread wait for 200 ms. The lock is not recommended, though not slow
    /// either.
    #[test]
    fn a_lock_that_starves_a_thread_is_not_advised_unless_all_do() {
        let long: &[&[u64]] = &[&[200_000_000, 5, 5, 5]];
        let study = || {
            Synthetic::with_locks(&[Spin, Ticket])
                .contention(Spin, BUSY, &around(2e6))
                .contention(Ticket, BUSY, &around(1.5e6))
                .watched(Spin, BUSY, long)
        };
        let advice = advice_for(study(), LockSituation::MoreThreadsThanCpus).expect("figures");
        assert_eq!((advice.take, advice.never), (vec![Ticket], vec![]));
        let advice = advice_for(study().watched(Ticket, BUSY, long), LockSituation::MoreThreadsThanCpus);
        assert_eq!(advice.expect("figures").take, [Spin]);
    }

    /// A thread that never got the lock while it was watched counts as starved, as far as the watch
    /// can show.
    #[test]
    fn a_short_watch_shows_threads_that_never_had_the_lock() {
        let mut study = Synthetic::with_locks(&[Spin, Ticket])
            .contention(Spin, BUSY, &around(2e6))
            .contention(Ticket, BUSY, &around(1.5e6))
            .watched(Spin, BUSY, &[&[60_000_000, 5, 5, 5]])
            .build();
        let take = |study: &LockStudy| locks_view(study).advice[0].take.clone();
        assert_eq!(take(&study), [Spin]);
        study.header.plan.watched_ns = Nanos::from_millis(60);
        assert_eq!(take(&study), [Ticket]);
    }

    /// The price of a wake-up divides short from long holds; a single thread is no contention.
    #[test]
    fn situations_follow_from_threads_and_the_spin_bound() {
        let study = |wake: Option<f64>| {
            let study = Synthetic::with_locks(&[Spin, Block])
                .contention(Spin, (2, 1_000, 0), &around(2e6))
                .contention(Block, (2, 1_000, 0), &around(1e6))
                .contention(Spin, (2, 50_000, 0), &around(1e5))
                .contention(Block, (2, 50_000, 0), &around(2e5))
                .contention(Block, (1, 50_000, 0), &around(9e9));
            match wake {
                Some(ns) => study.times(LockCell::Handoff { lock: Block }, &[ns]),
                None => study,
            }
        };
        let take = |wake, situation| advice_for(study(wake), situation).map(|advice| advice.take);
        assert_eq!(take(Some(15e3), LockSituation::ShortHolds), Some(vec![Spin]));
        assert_eq!(take(Some(15e3), LockSituation::LongHolds), Some(vec![Block]));
        assert_eq!(take(Some(15e3), LockSituation::MoreThreadsThanCpus), None);
        assert_eq!(take(None, LockSituation::ShortHolds), None);
    }

    /// A lock without a result at one point is compared at the other points only.
    #[test]
    fn means_are_over_common_points() {
        let study = Synthetic::with_locks(&[Spin, Std])
            .contention(Spin, (4, 0, 0), &around(1e6))
            .contention(Std, (4, 0, 0), &around(2e6))
            .contention(Spin, (4, 100, 0), &around(9e9));
        let advice = advice_for(study, LockSituation::MoreThreadsThanCpus).expect("figures");
        assert_eq!(advice.take, [Std]);
    }
}
