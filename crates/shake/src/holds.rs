//! Plan of the holds in one run: which sites stop threads, when, how often, and for how long. Pure:
//! every choice comes from a seed.
//!
//! A hold stops one thread just before an instruction while the others go on. It makes no order
//! possible that a scheduler could not produce: only the length of a pause changes.

use std::time::Duration;

use morecores_findings::Schedule;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Shortest hold, in seconds.
const SHORTEST_S: f64 = 20e-6;
/// Longest hold, in seconds: some slices of a scheduler.
const LONGEST_S: f64 = 3e-3;
/// Most sites of one run.
const MOST_SITES: usize = 4;
/// Periods in which sites are armed, besides the beginning.
const WINDOWS: usize = 8;
/// Holds of a run at random instants.
const INSTANTS: usize = 16;
/// Hits after which a site is disarmed until its next window. A hit costs about 10 µs.
const HITS_A_WINDOW: u32 = 40;
/// The same in a run with holds at one hit of each thread. It is armed from the beginning.
const HITS_TO_COUNT: u32 = 1_000;
/// The same, and the share and the least budget, in a run with rendezvous. Many are needed.
const RENDEZVOUS_A_WINDOW: u32 = 400;
const RENDEZVOUS_BUDGET: f64 = 0.2;
const LEAST_RENDEZVOUS_BUDGET_S: f64 = 0.05;
/// The same in a run that only shows which threads come by.
const HITS_WITHOUT_HOLDS: u32 = 4;
/// The same in a run that records their data addresses: enough for a second thread to come.
const HITS_RECORDING_DATA: u32 = 16;
/// Share of the elapsed time that holds of one thread may take.
const BUDGET: f64 = 0.06;
/// Least budget, in seconds, for programs that are shorter than a hold.
const LEAST_BUDGET_S: f64 = 0.02;

/// Instant at which a site is armed, or a thread is held wherever it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    /// Time since the first thread was created.
    pub(crate) at: Duration,
    /// Number of the site; `None` for a thread that runs, wherever it is.
    pub(crate) site: Option<usize>,
}

/// Moment of a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HoldKind {
    /// A thread before an instruction.
    Before,
    /// A thread between the read and the write of an update without LOCK.
    Inside,
    /// Two threads, until both have arrived at a site.
    Together,
}

impl HoldKind {
    /// Moment of the holds under a schedule, if there are any.
    fn under(schedule: Schedule) -> Option<Self> {
        match schedule {
            Schedule::OneCpu | Schedule::Cpus => None,
            Schedule::OneCpuHolds | Schedule::CpusHolds => Some(Self::Before),
            Schedule::CpusSplits => Some(Self::Inside),
            Schedule::CpusTogether => Some(Self::Together),
        }
    }
}

/// Choices of one run. They determine its plan.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) schedule: Schedule,
    pub(crate) seed: u64,
    /// Numbers of the sites with holds.
    pub(crate) sites: Vec<usize>,
    /// Hit of each thread at which it is held, from 1; at random hits if there is none.
    pub(crate) hit: Option<u32>,
}

/// Plan of one run.
#[derive(Clone, Debug)]
pub(crate) struct HoldPlan {
    pub(crate) kind: HoldKind,
    /// The only hit of each thread that may become a hold.
    hit: Option<u32>,
    /// Hits after which a site is disarmed until its next window.
    pub(crate) hits_a_window: u32,
    /// Windows in the order of their times.
    pub(crate) windows: Vec<Window>,
    /// Probability that a hit becomes a hold.
    chance: f64,
    budget: Duration,
    random: ChaCha8Rng,
}

impl HoldPlan {
    /// Plan for a run that takes about `elapsed`. One with holds and without sites holds threads at
    /// random instants.
    pub(crate) fn for_run(choice: &Choice, elapsed: Duration) -> Self {
        match (HoldKind::under(choice.schedule), choice.hit) {
            (None, _) => Self::without_holds(choice.seed, &[], elapsed),
            (Some(kind), None) => Self::new(choice.seed, kind, &choice.sites, elapsed),
            (Some(kind), Some(_)) => {
                let windows =
                    choice.sites.iter().map(|site| Window { at: Duration::ZERO, site: Some(*site) });
                Self {
                    hit: choice.hit,
                    chance: 1.0,
                    hits_a_window: HITS_TO_COUNT,
                    windows: windows.collect(),
                    ..Self::new(choice.seed, kind, &choice.sites, elapsed)
                }
            }
        }
    }

    fn new(seed: u64, kind: HoldKind, sites: &[usize], elapsed: Duration) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let chance = [1.0, 0.3, 0.1][random.random_range(0..3)];
        let windows = if sites.is_empty() {
            instants(&mut random, elapsed)
        } else {
            windows(&mut random, sites, elapsed)
        };
        let (share, least, hits_a_window) = match kind {
            HoldKind::Before | HoldKind::Inside => (BUDGET, LEAST_BUDGET_S, HITS_A_WINDOW),
            HoldKind::Together => (RENDEZVOUS_BUDGET, LEAST_RENDEZVOUS_BUDGET_S, RENDEZVOUS_A_WINDOW),
        };
        let budget = Duration::from_secs_f64((elapsed.as_secs_f64() * share).max(least));
        Self { kind, hit: None, hits_a_window, windows, chance, budget, random }
    }

    /// Plan of a run that records the data addresses of `sites`.
    pub(crate) fn recording_data(seed: u64, sites: &[usize], elapsed: Duration) -> Self {
        Self { hits_a_window: HITS_RECORDING_DATA, ..Self::without_holds(seed, sites, elapsed) }
    }

    /// Plan of a run in which threads have a rendezvous at `sites` and are not held.
    pub(crate) fn without_holds(seed: u64, sites: &[usize], elapsed: Duration) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let windows = windows(&mut random, sites, elapsed);
        let (kind, budget) = (HoldKind::Before, Duration::ZERO);
        Self { kind, hit: None, hits_a_window: HITS_WITHOUT_HOLDS, windows, chance: 0.0, budget, random }
    }

    /// Decides on a hit, the thread's `hit`-th at its site: the length of its hold, or none.
    pub(crate) fn next_hold(&mut self, hit: u32) -> Option<Duration> {
        if self.hit.is_some_and(|chosen| chosen != hit) {
            return None;
        }
        if self.kind == HoldKind::Together {
            // The threads wait for each other by themselves.
            return (!self.budget.is_zero()).then_some(Duration::ZERO);
        }
        if self.budget.is_zero() || !self.random.random_bool(self.chance) {
            return None;
        }
        let length = SHORTEST_S * (LONGEST_S / SHORTEST_S).powf(self.random.random());
        let hold = Duration::from_secs_f64(length).min(self.budget);
        self.charge(hold);
        Some(hold)
    }

    /// Length of a hold at a random instant; `None` if there was enough of them.
    pub(crate) fn next_hold_anywhere(&mut self) -> Option<Duration> {
        self.chance = 1.0;
        self.next_hold(1)
    }

    /// Number below `count`, at random.
    pub(crate) fn pick(&mut self, count: usize) -> usize {
        self.random.random_range(0..count)
    }

    /// Takes a time from the budget of the run.
    pub(crate) fn charge(&mut self, time: Duration) {
        self.budget = self.budget.saturating_sub(time);
    }
}

/// Windows of each site: one at the beginning, and some at random.
fn windows(random: &mut impl Rng, sites: &[usize], elapsed: Duration) -> Vec<Window> {
    let mut windows: Vec<Window> = Vec::new();
    for site in sites {
        let site = Some(*site);
        windows.push(Window { at: Duration::ZERO, site });
        windows.extend((0..WINDOWS).map(|_| Window { at: elapsed.mul_f64(random.random()), site }));
    }
    windows.sort_by_key(|window| window.at);
    windows
}

/// Instants at which a thread is held wherever it is.
fn instants(random: &mut impl Rng, elapsed: Duration) -> Vec<Window> {
    let instant = |_| Window { at: elapsed.mul_f64(random.random()), site: None };
    let mut instants: Vec<Window> = (0..INSTANTS).map(instant).collect();
    instants.sort_by_key(|window| window.at);
    instants
}

/// A few different sites for one run, each with the probability of its weight.
pub(crate) fn choose_sites(random: &mut impl Rng, sites: &[(usize, f64)]) -> Vec<usize> {
    let count = random.random_range(1..=MOST_SITES);
    choose(random, sites, count)
}

fn choose(random: &mut impl Rng, sites: &[(usize, f64)], count: usize) -> Vec<usize> {
    // Efraimidis & Spirakis, Information Processing Letters 97(5), 2006: the largest u^(1/w).
    let key = |(site, weight): &(usize, f64)| (random.random::<f64>().powf(1.0 / weight), *site);
    let mut keys: Vec<(f64, usize)> = sites.iter().map(key).collect();
    keys.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    keys.into_iter().take(count).map(|(_, site)| site).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn choice(schedule: Schedule, hit: Option<u32>, sites: &[usize]) -> Choice {
        Choice { schedule, seed: 1, sites: sites.to_vec(), hit }
    }

    #[test]
    fn a_chosen_hit_is_the_only_one_that_becomes_a_hold() {
        let mut plan = HoldPlan::for_run(&choice(Schedule::OneCpuHolds, Some(20), &[3]), SECOND);
        assert!(plan.windows == [Window { at: Duration::ZERO, site: Some(3) }]);
        let holds: Vec<u32> = (1..=40).filter(|hit| plan.next_hold(*hit).is_some()).collect();
        assert_eq!(holds, [20]);
    }

    #[test]
    fn a_seed_repeats_its_plan() {
        let plan = |seed| HoldPlan::new(seed, HoldKind::Before, &[3, 4], SECOND);
        assert_eq!(plan(7).windows, plan(7).windows);
        assert_ne!(plan(7).windows, plan(8).windows);
        let (mut one, mut other) = (plan(7), plan(7));
        assert!((0..100).all(|_| one.next_hold(1) == other.next_hold(1)));
    }

    #[test]
    fn holds_stay_within_their_bounds() {
        for seed in 0..50 {
            let mut plan = HoldPlan::new(seed, HoldKind::Before, &[3, 4], SECOND);
            assert!(plan.windows.iter().all(|window| window.at <= SECOND));
            assert!(plan.windows.is_sorted_by_key(|window| window.at));
            let holds: Vec<Duration> = (0..100_000).filter_map(|hit| plan.next_hold(hit)).collect();
            let whole: Duration = holds.iter().sum();
            assert!(whole <= SECOND.mul_f64(BUDGET), "{whole:?}");
            assert!(holds.iter().all(|hold| *hold <= Duration::from_secs_f64(LONGEST_S)));
            assert!(holds.len() > 20, "{}", holds.len());
        }
    }

    #[test]
    fn without_sites_threads_are_held_at_instants() {
        let plan = |schedule| HoldPlan::for_run(&choice(schedule, None, &[]), SECOND);
        let windows = plan(Schedule::OneCpuHolds).windows;
        assert!(windows.len() == INSTANTS && windows.iter().all(|window| window.site.is_none()));
        assert!(windows.is_sorted_by_key(|window| window.at));
        assert!(plan(Schedule::Cpus).windows.is_empty());
    }

    #[test]
    fn heavy_sites_are_chosen_more_often() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let sites = [(0, 4.0), (1, 1.0), (2, 1.0)];
        let first: Vec<usize> = (0..6_000).map(|_| choose(&mut random, &sites, 1)[0]).collect();
        let heavy = first.iter().filter(|site| **site == 0).count() as f64 / 6_000.0;
        // 4 of 6, with five standard errors.
        assert!((heavy - 4.0 / 6.0).abs() < 5.0 * (2.0_f64 / 9.0 / 6_000.0).sqrt(), "{heavy}");
        assert_eq!(choose(&mut random, &sites, 9).len(), 3);
    }
}
