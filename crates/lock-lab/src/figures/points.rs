//! Results at each point of contention: the rate of each lock, its fairness, and the CPUs busy with
//! waiting.

use morecores_study::lock::{ContentionSample, LockName};
use morecores_view::Estimate;
use morecores_view::locks::{LockPoint, LockResult};

use super::cells::{Cells, ContentionPoint, Rounds};

/// Returns the results at each point with a measurement.
pub(super) fn points(cells: &Cells<'_>) -> Vec<LockPoint> {
    cells.points().into_iter().filter_map(|at| point(cells, at)).collect()
}

fn point(cells: &Cells<'_>, at: ContentionPoint) -> Option<LockPoint> {
    let fastest = cells.rates(fastest(cells, at, &cells.plan.locks)?, at);
    let results = cells.plan.locks.iter().filter_map(|&lock| result(cells, lock, at, &fastest)).collect();
    Some(LockPoint { threads: at.0, hold_ns: at.1, think_ns: at.2, results })
}

/// Returns the lock of `among` with the highest median rate at a point; of equal ones the first.
pub(super) fn fastest(cells: &Cells<'_>, at: ContentionPoint, among: &[LockName]) -> Option<LockName> {
    let measured = among.iter().filter_map(|&lock| Some((lock, cells.rates(lock, at).median()?)));
    measured.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(lock, _)| lock)
}

fn result(cells: &Cells<'_>, lock: LockName, at: ContentionPoint, fastest: &Rounds) -> Option<LockResult> {
    let rates = cells.rates(lock, at);
    let per_s = rates.estimate()?;
    let rounds = |figure: &dyn Fn(&ContentionSample) -> Option<f64>| cells.contention(lock, at, figure);
    Some(LockResult {
        lock,
        per_s,
        of_fastest: ratio(&rates, fastest),
        cpus: rounds(&|contention| Some(busy_cpus(contention))).estimate()?,
        burned_cpus: rounds(&|contention| Some(waiting_cpus(contention, at))).estimate()?,
        luckiest: rounds(&|contention| share(contention, u64::max)).median().unwrap_or(1.0),
        unluckiest: rounds(&|contention| share(contention, u64::min)).median().unwrap_or(1.0),
        longest_wait_ns: cells.longest_wait(lock, at),
    })
}

/// Returns the ratio in pairs of the same round. An incomplete study may have no pairs; the ratio
/// is then that of the medians, without an interval. The ratio is 1 if neither lock had a hold.
pub(super) fn ratio(rates: &Rounds, base: &Rounds) -> Estimate {
    rates.ratio_to(base).estimate().unwrap_or_else(|| {
        let (here, there) = (rates.median().unwrap_or(0.0), base.median().unwrap_or(0.0));
        Estimate { value: if there > 0.0 { here / there } else { 1.0 }, ci95: None }
    })
}

/// Returns the CPUs busy: the CPU time of the threads divided by the window.
pub(super) fn busy_cpus(contention: &ContentionSample) -> f64 {
    (contention.user_ns.as_secs_f64() + contention.system_ns.as_secs_f64())
        / contention.window_ns.as_secs_f64()
}

/// Returns the CPUs busy beyond the holds and thinks: each turn takes its hold and one think. The
/// result may be below zero by the error of a calibrated stretch of computing.
fn waiting_cpus(contention: &ContentionSample, (_, hold, think): ContentionPoint) -> f64 {
    let turns = contention.turns.iter().sum::<u64>() as f64;
    busy_cpus(contention) - turns * (hold + think) as f64 / contention.window_ns.0 as f64
}

/// Returns the turns of the thread that `pick` selects, divided by the mean; none without any turn.
fn share(contention: &ContentionSample, pick: fn(u64, u64) -> u64) -> Option<f64> {
    let mean = contention.turns.iter().sum::<u64>() as f64 / contention.turns.len() as f64;
    let one = contention.turns.iter().copied().reduce(pick)? as f64;
    (mean > 0.0).then(|| one / mean)
}

#[cfg(test)]
mod tests {
    use morecores_study::Nanos;
    use morecores_study::lock::{LockCell, LockSample};

    use super::super::locks_view;
    use super::super::synthetic::Synthetic;
    use super::*;

    const SPIN: LockName = LockName::Spin;
    const BLOCK: LockName = LockName::Block;

    /// Noise that both locks share in a round cancels out of the ratio: one lock is half as fast in
    /// every round.
    #[test]
    fn ratios_are_of_pairs() {
        let noisy = [1e6, 3e6, 2e6, 1.5e6, 4e6, 2.5e6, 1.2e6];
        let half = noisy.map(|rate| rate / 2.0);
        let study = Synthetic::with_locks(&[BLOCK, SPIN]).contention(SPIN, (2, 100, 0), &noisy).contention(
            BLOCK,
            (2, 100, 0),
            &half,
        );
        let view = locks_view(&study.build());
        let [block, spin] = view.points[0].results.as_slice() else { panic!("two locks") };
        assert_eq!((block.lock, spin.lock), (BLOCK, SPIN));
        assert_eq!(block.of_fastest, Estimate { value: 0.5, ci95: Some([0.5, 0.5]) });
        assert_eq!(spin.of_fastest, Estimate { value: 1.0, ci95: Some([1.0, 1.0]) });
        assert_eq!(spin.per_s.value, 2e6);
    }

    /// Only measured points appear, in sorted order, whatever the order of the plan.
    #[test]
    fn points_are_in_order() {
        let study = Synthetic::with_locks(&[SPIN])
            .contention(SPIN, (4, 0, 0), &[1e6])
            .contention(SPIN, (2, 100, 100), &[1e6])
            .contention(SPIN, (2, 100, 0), &[1e6])
            .build();
        let view = locks_view(&study);
        let points: Vec<_> = view.points.iter().map(|p| (p.threads, p.hold_ns, p.think_ns)).collect();
        assert_eq!(points, [(2, 100, 0), (2, 100, 100), (4, 0, 0)]);
    }

    /// A window of 100 ms has 150 ms of CPU time. 10,000 turns take 10 µs each. One thread has
    /// three times as many turns as the other.
    #[test]
    fn burned_time_excludes_turns_and_shares_relate_to_the_mean() {
        let cell = LockCell::Contention {
            lock: SPIN,
            threads: 2,
            hold_ns: Nanos(6_000),
            think_ns: Nanos(4_000),
            watched: false,
        };
        let sample = LockSample::Contention(ContentionSample {
            window_ns: Nanos::from_millis(100),
            turns: vec![7_500, 2_500],
            user_ns: Nanos::from_millis(140),
            system_ns: Nanos::from_millis(10),
            longest_waits_ns: None,
        });
        let study = Synthetic::with_locks(&[SPIN]).point((2, 6_000, 4_000)).samples(cell, &[sample]).build();
        let result = &locks_view(&study).points[0].results[0];
        assert!((result.cpus.value - 1.5).abs() < 1e-12);
        assert!((result.burned_cpus.value - 0.5).abs() < 1e-12);
        assert_eq!((result.luckiest, result.unluckiest), (1.5, 0.5));
        assert_eq!(result.per_s.value, 1e5);
        assert_eq!(result.longest_wait_ns, None);
    }

    /// A killed study may hold no round of both locks. The ratio is then a figure without an
    /// interval.
    #[test]
    fn without_pairs_the_ratio_is_of_medians() {
        let mut study = Synthetic::with_locks(&[SPIN, BLOCK])
            .contention(SPIN, (2, 0, 0), &[4e6])
            .contention(BLOCK, (2, 0, 0), &[9e6, 1e6])
            .build();
        study
            .runs
            .retain(|run| !(run.round == 0 && matches!(run.cell, LockCell::Contention { lock: BLOCK, .. })));
        let results = &locks_view(&study).points[0].results;
        assert_eq!(results[1].of_fastest, Estimate { value: 0.25, ci95: None });
    }
}
