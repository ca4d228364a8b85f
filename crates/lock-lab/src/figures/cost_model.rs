//! Cost model of spinning and blocking, from the prices of a machine, before any measurement of the
//! two.
//!
//! The model knows three prices (a switch, a wake-up, a cache line), the number of CPUs, and a
//! point of contention. It must not know the measurement at that point, which tests the model
//! afterwards. The model gives each kind of lock a rate, and its answer is the ratio of the two
//! rates. It leaves out caches beyond the lock's own line, several locks, threads with different
//! habits, and the effects of a hypervisor.
//!
//! A *turn* is a hold `h` and a think `t`. Of `n` threads on `c` CPUs, `a = min(n, c)` run at once.
//! Two facts bound the rate of any lock. One thread at a time holds it, for `h` plus the cost of
//! the handoff, and `a` CPUs do `a` turns at once. This is the bound of a closed system with one
//! queue (Denning & Buzen, *The operational analysis of queueing network models*, Computing Surveys
//! 10, 1978). Turns of equal length come close to it.

use morecores_study::lock::LockName;
use morecores_view::Estimate;
use morecores_view::locks::{CostModel, CostModelPoint, LinePrice, Prices};

use super::cells::{Cells, ContentionPoint};

/// Spinning lock of the comparison: the plain one, which the formulas describe.
const SPINNING: LockName = LockName::Spin;

/// Blocking lock of the comparison; its handoff is the price of a wake-up.
const BLOCKING: LockName = LockName::Block;

/// Cost of a system call that finds no thread to wake, as a share of a switch. A switch is two
/// system calls, a wake-up and the choice of the next thread. A `FUTEX_WAKE` on an empty queue took
/// 1/9 of it: 235 of 2,050 ns, each the best of a few timings of many. The machine was a virtual
/// one with Linux 6.18.
const CALL_OF_SWITCH: f64 = 0.1;

/// Nanoseconds of a lock and an unlock in the owner's own cache: a locked instruction and a store,
/// 10 to 30 cycles.
const OWN: f64 = 5.0;

/// Nanoseconds between two looks of a spinning waiter: the instruction that rests the CPU, 40 to
/// 140 cycles (x86 `pause`).
const LOOK: f64 = 40.0;

/// Prices of a machine, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Costs {
    /// Switch from one thread to another on a CPU.
    switch: f64,
    /// Time from an unlock until a sleeping thread has the lock.
    wake: f64,
    /// Transfer of a cache line from one CPU to another, as the median over pairs of CPUs.
    line: f64,
}

impl Costs {
    fn from_prices(prices: &Prices) -> Option<Self> {
        let lines: Vec<f64> = prices.lines.iter().map(|line: &LinePrice| line.ns.value).collect();
        Some(Self {
            switch: prices.switch_ns?.value,
            wake: prices.wake_ns?.value,
            line: morecores_statistics::median(&lines)?,
        })
    }

    /// Returns the spin bound. A sleeping waiter has the lock one wake-up after the release. A
    /// waiter that spins for longer than that could as well have slept. A waiter that spins for
    /// exactly this time and then sleeps never pays more than twice the minimum (Karlin, Li,
    /// Manasse & Owicki, *Empirical studies of competitive spinning*, SOSP 1991).
    fn spin_bound(&self) -> f64 {
        self.wake
    }
}

/// Point of contention on a machine.
#[derive(Clone, Copy, Debug)]
struct Load {
    threads: f64,
    cpus: f64,
    /// Hold, including the time of a lock and an unlock by themselves.
    hold: f64,
    think: f64,
}

impl Load {
    fn new((threads, hold, think): ContentionPoint, cpus: u32) -> Self {
        Self {
            threads: f64::from(threads),
            cpus: f64::from(cpus),
            hold: hold as f64 + OWN,
            think: think as f64,
        }
    }

    /// Returns the number of threads that run at once.
    fn running_threads(&self) -> f64 {
        self.threads.min(self.cpus)
    }

    /// Returns the number of a CPU's threads that are off it while one runs.
    fn waiting_per_cpu(&self) -> f64 {
        (self.threads / self.cpus - 1.0).max(0.0)
    }

    /// Returns the share of turns that find the lock taken if each turn takes it for `held`. This
    /// share is the part of a turn's time in which one of the other running threads has the lock.
    fn share_of_taken(&self, held: f64) -> f64 {
        let turn = held + self.think;
        if turn > 0.0 { ((self.running_threads() - 1.0) * held / turn).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// Returns the turns per nanosecond of threads that spin.
///
/// *Handoff.* Each waiter that looks and tries fetches the lock's cache line once. A handoff
/// thus costs one line transfer for each waiting thread (Anderson, *The performance of spin lock
/// alternatives for shared-memory multiprocessors*, IEEE TPDS 1(1), 1990). During a hold shorter
/// than the time between two looks, only a part of the waiters looks. If none looks, the owner
/// takes the lock again from its own cache.
///
/// *Crowd.* With more threads than CPUs the scheduler takes a CPU from its thread at the end of a
/// slice, even from the lock's owner. The stopped thread is the owner with probability `u/c`, where
/// `u` is the share of time in which the lock is taken. With `c` CPUs that is `u` for each slice.
/// The other threads then spin until the owner has its CPU again, `n/c - 1` slices later. For each
/// useful slice `u(n/c - 1)` slices are lost. The useful share is `1/(1 + u(n/c - 1))`, which is
/// `c/n` if the lock is always taken.
fn spinning(costs: &Costs, load: &Load) -> f64 {
    let waiters = (load.share_of_taken(load.hold + costs.line) * (load.running_threads() - 1.0)).max(1.0);
    let held = load.hold + costs.line * waiters * (load.hold / LOOK).min(1.0);
    let rate = (1.0 / held).min(load.running_threads() / (held + load.think));
    let taken = (rate * held).min(1.0);
    rate / (1.0 + taken * load.waiting_per_cpu())
}

/// Returns the turns per nanosecond of threads that sleep until an unlocking thread wakes them.
///
/// *Handoff.* While a thread waits, each unlock is a system call. The lock then stays free until
/// the earlier of two events. The woken thread arrives one wake-up later, or the last owner takes
/// the lock again after its think. Without any think the owner goes on, and the woken thread sleeps
/// again.
///
/// *Waiting.* A turn that meets a taken lock costs the wake-up if there is a CPU for the waiter.
/// Otherwise the CPU does another thread's turn meanwhile, and only the switch is lost. A lock that
/// is found free belonged to another thread before, which costs one line transfer, as for spinners.
/// One thread alone goes on, however many sleep, so the rate is not below the rate of one thread.
///
/// *Crowd.* A sleeping thread leaves its CPU to others, the owner among them, so no share is lost.
fn blocking(costs: &Costs, load: &Load) -> f64 {
    let call = CALL_OF_SWITCH * costs.switch;
    let meets = load.share_of_taken(load.hold + call);
    let turn = load.hold + load.think;
    let by_lock = 1.0 / (load.hold + meets * (call + costs.wake.min(load.think)));
    let waiting = if load.waiting_per_cpu() > 0.0 { costs.switch } else { costs.wake };
    let together = load.running_threads() / (turn + costs.line + meets * (call + waiting));
    let alone = 1.0 / (turn + call);
    by_lock.min(together.max(alone))
}

/// Returns the ratio of the spinning rate to the blocking rate.
fn expected(costs: &Costs, load: &Load) -> f64 {
    spinning(costs, load) / blocking(costs, load)
}

/// Compares the model with the measurement at each point with two threads or more; a single thread
/// never waits. Returns none if a price or one of the two locks is missing.
pub(super) fn cost_model(cells: &Cells<'_>, prices: &Prices) -> Option<CostModel> {
    let costs = Costs::from_prices(prices)?;
    let contended = cells.points().into_iter().filter(|(threads, ..)| *threads > 1);
    let points: Vec<CostModelPoint> = contended.filter_map(|at| point(cells, &costs, at)).collect();
    let told_apart = points.iter().filter(|point| point.right.is_some()).count() as u32;
    let right = points.iter().filter(|point| point.right == Some(true)).count() as u32;
    let bound_ns = costs.spin_bound();
    (!points.is_empty()).then_some(CostModel {
        bound_ns,
        spinning: SPINNING,
        blocking: BLOCKING,
        told_apart,
        right,
        points,
    })
}

fn point(cells: &Cells<'_>, costs: &Costs, at: ContentionPoint) -> Option<CostModelPoint> {
    let measured = cells.rates(SPINNING, at).ratio_to(&cells.rates(BLOCKING, at)).estimate()?;
    let expected = expected(costs, &Load::new(at, cells.cpus()));
    let right = is_told_apart(&measured).then_some((expected > 1.0) == (measured.value > 1.0));
    Some(CostModelPoint { threads: at.0, hold_ns: at.1, think_ns: at.2, expected, measured, right })
}

/// Returns whether the interval excludes 1.
fn is_told_apart(ratio: &Estimate) -> bool {
    ratio.ci95.is_some_and(|[low, high]| low > 1.0 || high < 1.0)
}

#[cfg(test)]
mod tests {
    use morecores_study::CpuId;
    use morecores_study::lock::LockCell;

    use super::super::locks_view;
    use super::super::synthetic::Synthetic;
    use super::*;

    /// Prices of a small server: 1.5 µs for a switch, 20 µs for a wake-up, 50 ns for a line.
    const COSTS: Costs = Costs { switch: 1_500.0, wake: 20_000.0, line: 50.0 };

    fn ratio(at: ContentionPoint, cpus: u32) -> f64 {
        expected(&COSTS, &Load::new(at, cpus))
    }

    /// Two threads always want the lock, for 1 µs plus the time of the lock itself. A line
    /// transfer stands against a system call of 150 ns. The expected values are computed by hand.
    #[test]
    fn with_a_cpu_each_spinning_saves_the_call() {
        let spin = 1.0 / 1_055.0;
        let block = 1.0 / 1_155.0;
        assert!((ratio((2, 1_000, 0), 2) - spin / block).abs() < 1e-9);
    }

    /// Two spinning threads with a hold and a think of 1 µs hold the lock in turn. Of two blocking
    /// threads one sleeps for 20 µs, while the other has a turn every 2.155 µs. The expected
    /// values are computed by hand.
    #[test]
    fn with_a_cpu_each_a_sleeper_costs_throughput() {
        let spin = (2.0 / 2_055.0_f64).min(1.0 / 1_055.0);
        let block = 1.0 / 2_155.0;
        assert!((ratio((2, 1_000, 1_000), 2) - spin / block).abs() < 1e-9);
    }

    /// Sleeping is never better if no other thread wants the CPU, however long the hold. The
    /// difference shrinks as the hold grows.
    #[test]
    fn with_a_cpu_each_two_spinning_threads_are_never_slower() {
        for hold in [0, 100, 1_000, 10_000, 100_000, 1_000_000] {
            for think in [0, 100, 10_000, 1_000_000] {
                assert!(ratio((2, hold, think), 2) >= 1.0, "{hold} {think}: {}", ratio((2, hold, think), 2));
            }
        }
        assert!(ratio((2, 10_000_000, 10_000_000), 2) < 1.01);
    }

    /// Half of the time goes to owners that are off their CPU, with twice as many threads as CPUs.
    /// With more threads the share is larger.
    #[test]
    fn spinning_with_more_threads_than_cpus_loses_the_time_of_preempted_owners() {
        assert!((ratio((4, 1_000_000, 0), 2) - 0.5).abs() < 1e-3);
        assert!((ratio((8, 1_000_000, 0), 2) - 0.25).abs() < 1e-3);
        // A lock that is rarely wanted is rarely held by a thread that is off its CPU.
        assert!(ratio((4, 100, 1_000_000), 2) > 0.99);
    }

    /// Spinning with twice as many threads as CPUs loses half of the time. It wins only with a hold
    /// so short that the system call costs more. Both cost the same where h + call = 2(h + line).
    #[test]
    fn with_more_threads_than_cpus_spinning_pays_only_for_the_shortest_holds() {
        assert!(ratio((4, 0, 0), 2) > 1.0);
        assert!(ratio((4, 40, 0), 2) > 1.0);
        assert!(ratio((4, 55, 0), 2) < 1.0);
        assert!(ratio((8, 40, 0), 2) < 1.0, "four times the threads: a quarter is too little");
    }

    /// Many threads that spin for a short hold cost each other more lines than a system call costs.
    #[test]
    fn many_spinning_threads_cost_more_than_a_system_call() {
        assert!(ratio((2, 0, 0), 64) > 1.0 && ratio((64, 0, 0), 64) < 1.0);
    }

    /// The model expects spinning to win on two CPUs and to lose on four threads. The model is
    /// right where the measurement agrees, and wrong where the measurement says the opposite. The
    /// model is neither where the measurement cannot tell the two locks apart.
    #[test]
    fn the_model_is_compared_with_the_measured_rates() {
        let (spin, block) = (LockName::Spin, LockName::Block);
        let (few, many, wrong, alike) = ((2, 1_000, 0), (4, 10_000, 0), (2, 10_000, 0), (4, 1_000, 0));
        let around = [1.0, 1.1, 0.9, 1.05, 0.95, 1.02].map(|factor| factor * 1e5);
        let study = Synthetic::with_locks(&[spin, block])
            .times(LockCell::Switch, &[1_500.0])
            .times(LockCell::Handoff { lock: block }, &[20_000.0])
            .times(LockCell::Line { from: CpuId(0), to: CpuId(1) }, &[50.0])
            .contention(spin, few, &[2e6; 6])
            .contention(block, few, &[1e6; 6])
            .contention(spin, many, &[1e6; 6])
            .contention(block, many, &[2e6; 6])
            .contention(spin, wrong, &[1e6; 6])
            .contention(block, wrong, &[2e6; 6])
            .contention(spin, alike, &around)
            .contention(block, alike, &[1e5; 6])
            .contention(spin, (1, 1_000, 0), &[2e6; 6])
            .contention(block, (1, 1_000, 0), &[1e6; 6])
            .build();
        let model = locks_view(&study).cost_model.expect("prices and both locks");
        assert_eq!((model.bound_ns, model.told_apart, model.right), (20_000.0, 3, 2));
        let right = |(threads, hold, _): ContentionPoint| {
            model.points.iter().find(|p| (p.threads, p.hold_ns) == (threads, hold)).and_then(|p| p.right)
        };
        assert_eq!([few, many, wrong, alike].map(right), [Some(true), Some(true), Some(false), None]);
        assert_eq!(model.points.len(), 4, "one thread waits for nobody");
    }

    #[test]
    fn without_a_price_there_is_no_model() {
        let study = Synthetic::with_locks(&[LockName::Spin, LockName::Block])
            .contention(LockName::Spin, (2, 0, 0), &[2e6; 6])
            .contention(LockName::Block, (2, 0, 0), &[1e6; 6])
            .times(LockCell::Switch, &[1_500.0])
            .build();
        assert!(locks_view(&study).cost_model.is_none());
    }
}
