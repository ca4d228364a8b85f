//! Comparison of one lock with its peers: the figures of the benches.
//!
//! At each point the best peer by median rate counts. The ratio to it comes from pairs of the same
//! round.

use morecores_study::lock::{LockCell, LockName, LockStudy};
use morecores_view::Estimate;

use super::cells::{Cells, ContentionPoint};
use super::points::{busy_cpus, fastest, ratio};

/// The lock is slower if the whole interval of the ratio lies below this bound. Smaller differences
/// say nothing, because they also occur between two builds of the same lock.
const SLOWER: f64 = 0.95;

/// Comparison of a lock with the best of its peers.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerComparison {
    /// Name of the lock.
    pub lock: LockName,
    /// Points with a measurement of the lock and of a peer.
    pub points: Vec<PeerPoint>,
    /// Geometric mean of the ratios; none without a point.
    pub geometric_mean: Option<f64>,
}

impl PeerComparison {
    /// Returns the points at which the whole 95% interval of the ratio lies below 0.95. Without
    /// intervals there are none.
    pub fn slower(&self) -> impl Iterator<Item = &PeerPoint> {
        self.points.iter().filter(|point| point.ratio.ci95.is_some_and(|[_, high]| high < SLOWER))
    }
}

/// Comparison at one point of contention.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeerPoint {
    /// Number of threads that contend for the lock.
    pub threads: u32,
    /// Time for which each thread holds the lock.
    pub hold_ns: u64,
    /// Time for which each thread stays away from the lock.
    pub think_ns: u64,
    /// Peer with the highest median rate.
    pub best: LockName,
    /// Ratio of the lock's rate to that peer's.
    pub ratio: Estimate,
    /// Ratio of the lock's CPU time per hold to that peer's. None if every thread has its own CPU,
    /// and if no round has a hold.
    pub cpu_per_hold: Option<Estimate>,
}

/// Compares `lock` with the best of `peers` at each point.
pub fn compare_with_peers(study: &LockStudy, lock: LockName, peers: &[LockName]) -> PeerComparison {
    let cells = Cells::from_study(study);
    let points: Vec<PeerPoint> =
        cells.points().into_iter().filter_map(|at| point(&cells, lock, peers, at)).collect();
    let logarithms: f64 = points.iter().map(|point| point.ratio.value.ln()).sum();
    let geometric_mean = (!points.is_empty()).then(|| (logarithms / points.len() as f64).exp());
    PeerComparison { lock, points, geometric_mean }
}

fn point(cells: &Cells<'_>, lock: LockName, peers: &[LockName], at: ContentionPoint) -> Option<PeerPoint> {
    let best = fastest(cells, at, peers)?;
    let rates = cells.rates(lock, at);
    rates.median()?;
    let per_hold = |lock| {
        cells.contention(lock, at, |contention| {
            let turns = contention.turns.iter().sum::<u64>() as f64;
            (turns > 0.0).then(|| busy_cpus(contention) * contention.window_ns.as_secs_f64() / turns)
        })
    };
    let crowded = at.0 > cells.cpus();
    Some(PeerPoint {
        threads: at.0,
        hold_ns: at.1,
        think_ns: at.2,
        best,
        ratio: ratio(&rates, &cells.rates(best, at)),
        cpu_per_hold: crowded.then(|| per_hold(lock).ratio_to(&per_hold(best)).estimate()).flatten(),
    })
}

/// Returns the ratio of the time of `lock` without contention to that of the fastest of `peers`;
/// none if either was not measured.
pub fn free_ratio(study: &LockStudy, lock: LockName, peers: &[LockName]) -> Option<Estimate> {
    let cells = Cells::from_study(study);
    let times = |lock| cells.times(LockCell::Free { lock });
    let measured = peers.iter().filter_map(|&peer| Some((peer, times(peer).median()?)));
    let (best, _) = measured.min_by(|a, b| a.1.total_cmp(&b.1))?;
    times(lock).ratio_to(&times(best)).estimate()
}

/// Returns the longest wait of any thread for `lock` at any point, in nanoseconds; none if no wait
/// was timed.
pub fn longest_wait(study: &LockStudy, lock: LockName) -> Option<u64> {
    let cells = Cells::from_study(study);
    cells.points().into_iter().filter_map(|at| cells.longest_wait(lock, at)).max()
}

#[cfg(test)]
mod tests {
    use morecores_study::Nanos;

    use super::super::synthetic::Synthetic;
    use super::*;

    use LockName::{Adaptive, ParkingLot, Std};

    const PEERS: [LockName; 2] = [Std, ParkingLot];

    fn close(value: f64, to: f64) -> bool {
        (value - to).abs() < 1e-3 * to
    }

    /// The lock is twice as fast at one point and half as fast at the other, each time against
    /// another peer. The mean is 1, and the lock is slower at one point.
    #[test]
    fn the_best_peer_of_each_point_counts() {
        let (few, many) = ((2, 0, 0), (4, 0, 0));
        let study = Synthetic::with_locks(&[Adaptive, Std, ParkingLot])
            .contention(Adaptive, few, &[2e6; 6])
            .contention(Std, few, &[1e6; 6])
            .contention(ParkingLot, few, &[5e5; 6])
            .contention(Adaptive, many, &[1e6; 6])
            .contention(Std, many, &[1e6; 6])
            .contention_with_cpu_time(ParkingLot, many, &[2e6; 6], Nanos::from_millis(50))
            .build();
        let comparison = compare_with_peers(&study, Adaptive, &PEERS);
        let [first, second] = comparison.points.as_slice() else { panic!("two points") };
        assert_eq!((first.best, second.best), (Std, ParkingLot));
        assert!(close(first.ratio.value, 2.0) && close(second.ratio.value, 0.5));
        assert!(close(comparison.geometric_mean.expect("a mean"), 1.0));
        assert_eq!(comparison.slower().map(|point| point.threads).collect::<Vec<_>>(), [4]);
        // With a CPU for each thread, spinning costs the other threads nothing. At the other point:
        // 200 ms for 100,000 holds against 50 ms for 200,000.
        assert_eq!(first.cpu_per_hold, None);
        assert!(close(second.cpu_per_hold.expect("crowded").value, 8.0));
    }

    /// The lock is not slower at a point whose interval reaches 0.95, nor at a point with one
    /// round.
    #[test]
    fn a_lock_is_slower_only_with_its_whole_interval() {
        let slower = |rates: &[f64]| {
            let base = vec![1e6; rates.len()];
            let study = Synthetic::with_locks(&[Adaptive, Std])
                .contention(Adaptive, (2, 0, 0), rates)
                .contention(Std, (2, 0, 0), &base)
                .build();
            compare_with_peers(&study, Adaptive, &PEERS).slower().count()
        };
        assert_eq!(slower(&[9e5; 6]), 1);
        assert_eq!(slower(&[9e5, 9e5, 9e5, 9e5, 9e5, 9.6e5]), 0);
        assert_eq!(slower(&[5e5]), 0);
    }

    #[test]
    fn a_free_lock_is_compared_with_the_cheapest_peer() {
        let free = |lock| LockCell::Free { lock };
        let study = Synthetic::with_locks(&[Adaptive, Std, ParkingLot])
            .times(free(Adaptive), &[11.0, 22.0, 11.0])
            .times(free(Std), &[10.0, 20.0, 10.0])
            .times(free(ParkingLot), &[30.0; 3])
            .build();
        assert!(close(free_ratio(&study, Adaptive, &PEERS).expect("measured").value, 1.1));
        assert_eq!(free_ratio(&study, Adaptive, &[LockName::Mcs]), None);
    }

    #[test]
    fn the_longest_wait_is_over_all_points() {
        let study = Synthetic::with_locks(&[Adaptive])
            .watched(Adaptive, (2, 0, 0), &[&[1, 2]])
            .watched(Adaptive, (4, 0, 0), &[&[1, 9, 3, 3]])
            .build();
        assert_eq!(longest_wait(&study, Adaptive), Some(9));
        assert_eq!(longest_wait(&study, Std), None);
    }
}
