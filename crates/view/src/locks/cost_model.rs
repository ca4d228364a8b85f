//! What the prices of a machine say of spinning and blocking, before anything is measured of the two.
//!
//! The model knows three prices (a switch, a wake-up, a cache line), the number of CPUs, and a point of contention. It must
//! not know what was measured there; that is held against it afterwards. It gives each kind of lock a rate, and the ratio of the
//! two is the answer. What it leaves out: caches beyond the lock's own line, several locks, threads of unlike habits, and
//! what a hypervisor does.
//!
//! A *turn* is a hold `h` and a think `t`. For `n` threads on `c` CPUs, `a = min(n, c)` of them run at once. Two things bound the rate of
//! any lock: it is held by one at a time, for `h` and what the hand-over adds, and `a` CPUs do `a` turns at once. This is the
//! bound of a closed system with one queue (Denning & Buzen, *The operational analysis of queueing network models*, Computing Surveys 10,
//! 1978), which turns of equal length come close to.

use crate::{CostModel, CostModelPoint, Estimate, LinePrice, Prices};
use morecores_study::lock::LockName;

use super::cells::{Cells, Contention};

/// The spinning lock that is compared: the plain one, which is what the formulas are of.
const SPINNING: LockName = LockName::Spin;

/// The blocking one, whose hand-over is the price of a wake-up.
const BLOCKING: LockName = LockName::Block;

/// A system call that finds nobody to wake, as a share of a switch. A switch is two system calls, a wake-up and the choice of the
/// next thread; a `FUTEX_WAKE` on an empty queue took 1/9 of it (235 of 2,050 ns, each the best of a few timings of many) on a
/// virtual machine with Linux 6.18.
const CALL_OF_SWITCH: f64 = 0.1;

/// A lock and an unlock in the owner's own cache, in nanoseconds: a locked instruction and a store, 10 to 30 cycles.
const OWN: f64 = 5.0;

/// Between two looks of a spinning waiter, in nanoseconds: the instruction that rests the CPU, 40 to 140 cycles (x86 `pause`).
const LOOK: f64 = 40.0;

/// The prices of a machine, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Costs {
    /// From one thread to another on a CPU.
    switch: f64,
    /// From an unlock until a thread that sleeps has the lock.
    wake: f64,
    /// A cache line from one CPU to another, in the median over pairs of CPUs.
    line: f64,
}

impl Costs {
    fn of(prices: &Prices) -> Option<Self> {
        let lines: Vec<f64> = prices.lines.iter().map(|line: &LinePrice| line.ns.value).collect();
        Some(Self {
            switch: prices.switch_ns?.value,
            wake: prices.wake_ns?.value,
            line: morecores_statistics::median(&lines)?,
        })
    }

    /// The spin bound. A waiter that sleeps has the lock one wake-up after it was freed; one that spins for longer than that
    /// could as well have slept, and one that spins for just so long and then sleeps never pays more than twice the
    /// least (Karlin, Li, Manasse & Owicki, *Empirical studies of competitive spinning*, SOSP 1991).
    fn bound(&self) -> f64 {
        self.wake
    }
}

/// A point of contention on a machine.
#[derive(Clone, Copy, Debug)]
struct Load {
    threads: f64,
    cpus: f64,
    /// Hold, with what a lock and an unlock take by themselves.
    hold: f64,
    think: f64,
}

impl Load {
    fn new((threads, hold, think): Contention, cpus: u32) -> Self {
        Self {
            threads: f64::from(threads),
            cpus: f64::from(cpus),
            hold: hold as f64 + OWN,
            think: think as f64,
        }
    }

    /// How many run at once.
    fn at_once(&self) -> f64 {
        self.threads.min(self.cpus)
    }

    /// How many of a CPU's threads are off it while one runs.
    fn behind(&self) -> f64 {
        (self.threads / self.cpus - 1.0).max(0.0)
    }

    /// The share of turns that find the lock taken, where it is taken for `held` each time: the part of a turn's time for which one of the
    /// others that run has it.
    fn meets(&self, held: f64) -> f64 {
        let turn = held + self.think;
        if turn > 0.0 { ((self.at_once() - 1.0) * held / turn).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// Turns a nanosecond of threads that spin.
///
/// *Hand-over.* Each waiter that looks and tries has the line once: a line for each of the threads that wait (Anderson, *The performance of
/// spin lock alternatives for shared-memory multiprocessors*, IEEE TPDS 1(1), 1990). A hold shorter than the time between two looks is met by a part of
/// the waiters alone; else its owner takes the lock again from its own cache.
///
/// *Crowd.* With more threads than CPUs the scheduler takes a CPU from its thread at the end of a slice without asking what that holds. The
/// chance that this thread is the owner is `u/c`, where `u` is the share of time in which the lock is taken; with `c` CPUs that is
/// `u` for each slice. The others then spin until the owner has its CPU again, `n/c - 1` slices later. So for each slice in which something is
/// done `u(n/c - 1)` are lost besides: what is left is `1/(1 + u(n/c - 1))`, which is `c/n` where the lock is always taken.
fn spinning(costs: &Costs, load: &Load) -> f64 {
    let waiters = (load.meets(load.hold + costs.line) * (load.at_once() - 1.0)).max(1.0);
    let held = load.hold + costs.line * waiters * (load.hold / LOOK).min(1.0);
    let rate = (1.0 / held).min(load.at_once() / (held + load.think));
    let taken = (rate * held).min(1.0);
    rate / (1.0 + taken * load.behind())
}

/// Turns a nanosecond of threads that sleep, and are woken by who unlocks.
///
/// *Hand-over.* While anybody waits each unlock is a system call. Then the lock lies free until the woken thread is there, a wake-up later, or
/// until its last owner has thought and takes it again, whichever is sooner: with no think at all the owner goes on, and the woken
/// thread sleeps again.
///
/// *Waiting* costs a turn that meets a taken lock the wake-up, where there is a CPU for it; else the CPU does another thread's
/// turn meanwhile, and what is lost is the switch. A lock that is found free was another's before: a line, as for spinners. However many sleep, one thread alone goes on: the rate is not below its own.
///
/// *Crowd.* Who sleeps leaves its CPU to others, the owner among them: no share is lost.
fn blocking(costs: &Costs, load: &Load) -> f64 {
    let call = CALL_OF_SWITCH * costs.switch;
    let meets = load.meets(load.hold + call);
    let turn = load.hold + load.think;
    let by_lock = 1.0 / (load.hold + meets * (call + costs.wake.min(load.think)));
    let waiting = if load.behind() > 0.0 { costs.switch } else { costs.wake };
    let together = load.at_once() / (turn + costs.line + meets * (call + waiting));
    let alone = 1.0 / (turn + call);
    by_lock.min(together.max(alone))
}

/// The rate of spinning over that of blocking.
fn expected(costs: &Costs, load: &Load) -> f64 {
    spinning(costs, load) / blocking(costs, load)
}

/// The model beside what was measured at each point with two threads or more: one thread waits for nobody. None where a price is missing,
/// or one of the two locks.
pub(super) fn cost_model(cells: &Cells<'_>, prices: &Prices) -> Option<CostModel> {
    let costs = Costs::of(prices)?;
    let contended = cells.points().into_iter().filter(|(threads, ..)| *threads > 1);
    let points: Vec<CostModelPoint> = contended.filter_map(|at| point(cells, &costs, at)).collect();
    let told_apart = points.iter().filter(|point| point.right.is_some()).count() as u32;
    let right = points.iter().filter(|point| point.right == Some(true)).count() as u32;
    let bound_ns = costs.bound();
    (!points.is_empty()).then_some(CostModel {
        bound_ns,
        spinning: SPINNING,
        blocking: BLOCKING,
        told_apart,
        right,
        points,
    })
}

fn point(cells: &Cells<'_>, costs: &Costs, at: Contention) -> Option<CostModelPoint> {
    let measured = cells.rates(SPINNING, at).over(&cells.rates(BLOCKING, at)).estimate()?;
    let expected = expected(costs, &Load::new(at, cells.cpus()));
    let right = is_told_apart(&measured).then_some((expected > 1.0) == (measured.value > 1.0));
    Some(CostModelPoint { threads: at.0, hold_ns: at.1, think_ns: at.2, expected, measured, right })
}

/// Whether the interval holds no 1.
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

    /// A small server: 1.5 µs to switch, 20 µs to wake, 50 ns a line.
    const COSTS: Costs = Costs { switch: 1_500.0, wake: 20_000.0, line: 50.0 };

    fn ratio(at: Contention, cpus: u32) -> f64 {
        expected(&COSTS, &Load::new(at, cpus))
    }

    /// By hand. Two threads that always want the lock for 1 µs and what it takes itself: a line against a system call of 150 ns.
    #[test]
    fn with_a_cpu_each_spinning_saves_the_call() {
        let spin = 1.0 / 1_055.0;
        let block = 1.0 / 1_155.0;
        assert!((ratio((2, 1_000, 0), 2) - spin / block).abs() < 1e-9);
    }

    /// By hand. Held for 1 µs and away for 1 µs, two threads that spin hold it in turn; of two that block one sleeps for
    /// the 20 µs, while the other has a turn each 2.155 µs.
    #[test]
    fn with_a_cpu_each_a_sleeper_is_missed() {
        let spin = (2.0 / 2_055.0_f64).min(1.0 / 1_055.0);
        let block = 1.0 / 2_155.0;
        assert!((ratio((2, 1_000, 1_000), 2) - spin / block).abs() < 1e-9);
    }

    /// However long the lock is held, it is not better to sleep where nobody else wants the CPU; it only matters ever less.
    #[test]
    fn with_a_cpu_each_two_that_spin_are_never_slower() {
        for hold in [0, 100, 1_000, 10_000, 100_000, 1_000_000] {
            for think in [0, 100, 10_000, 1_000_000] {
                assert!(ratio((2, hold, think), 2) >= 1.0, "{hold} {think}: {}", ratio((2, hold, think), 2));
            }
        }
        assert!(ratio((2, 10_000_000, 10_000_000), 2) < 1.01);
    }

    /// Twice the threads: half of the time goes to owners that are off their CPU, and more with more threads.
    #[test]
    fn a_crowd_that_spins_loses_the_share_of_who_is_off_its_cpu() {
        assert!((ratio((4, 1_000_000, 0), 2) - 0.5).abs() < 1e-3);
        assert!((ratio((8, 1_000_000, 0), 2) - 0.25).abs() < 1e-3);
        // A lock that is hardly ever wanted is hardly ever held by who is off its CPU.
        assert!(ratio((4, 100, 1_000_000), 2) > 0.99);
    }

    /// A hold so short that the system call is dearer than half of the time: the one case for spinning in a crowd of twice the
    /// threads. The line between is where half of the time pays for it: h + call = 2(h + line).
    #[test]
    fn only_the_shortest_holds_may_spin_in_a_crowd() {
        assert!(ratio((4, 0, 0), 2) > 1.0);
        assert!(ratio((4, 40, 0), 2) > 1.0);
        assert!(ratio((4, 55, 0), 2) < 1.0);
        assert!(ratio((8, 40, 0), 2) < 1.0, "four times the threads: a quarter is too little");
    }

    /// Many that spin for a short hold cost each other more lines than a system call is worth.
    #[test]
    fn a_storm_of_spinners_is_dearer_than_a_call() {
        assert!(ratio((2, 0, 0), 64) > 1.0 && ratio((64, 0, 0), 64) < 1.0);
    }

    /// A model that expects spinning to win on two CPUs and to lose on four threads is right where that was measured, wrong
    /// where the contrary was, and neither where the two cannot be told apart.
    #[test]
    fn it_is_held_against_what_was_measured() {
        let (spin, block) = (LockName::Spin, LockName::Block);
        let (few, many, wrong, alike) = ((2, 1_000, 0), (4, 10_000, 0), (2, 10_000, 0), (4, 1_000, 0));
        let around = [1.0, 1.1, 0.9, 1.05, 0.95, 1.02].map(|factor| factor * 1e5);
        let study = Synthetic::of(&[spin, block])
            .times(LockCell::Switch, &[1_500.0])
            .times(LockCell::HandOver { lock: block }, &[20_000.0])
            .times(LockCell::Line { from: CpuId(0), to: CpuId(1) }, &[50.0])
            .contest(spin, few, &[2e6; 6])
            .contest(block, few, &[1e6; 6])
            .contest(spin, many, &[1e6; 6])
            .contest(block, many, &[2e6; 6])
            .contest(spin, wrong, &[1e6; 6])
            .contest(block, wrong, &[2e6; 6])
            .contest(spin, alike, &around)
            .contest(block, alike, &[1e5; 6])
            .contest(spin, (1, 1_000, 0), &[2e6; 6])
            .contest(block, (1, 1_000, 0), &[1e6; 6])
            .build();
        let model = locks_view(&study).cost_model.expect("prices and both locks");
        assert_eq!((model.bound_ns, model.told_apart, model.right), (20_000.0, 3, 2));
        let right = |(threads, hold, _): Contention| {
            model.points.iter().find(|p| (p.threads, p.hold_ns) == (threads, hold)).and_then(|p| p.right)
        };
        assert_eq!([few, many, wrong, alike].map(right), [Some(true), Some(true), Some(false), None]);
        assert_eq!(model.points.len(), 4, "one thread waits for nobody");
    }

    #[test]
    fn without_a_price_there_is_no_model() {
        let study = Synthetic::of(&[LockName::Spin, LockName::Block])
            .contest(LockName::Spin, (2, 0, 0), &[2e6; 6])
            .contest(LockName::Block, (2, 0, 0), &[1e6; 6])
            .times(LockCell::Switch, &[1_500.0])
            .build();
        assert!(locks_view(&study).cost_model.is_none());
    }
}
