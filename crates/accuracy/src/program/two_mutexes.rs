//! Two threads and two mutexes, each mutex for one function; both functions call one wrapper. A
//! trace must tell the two functions apart by the wrapper's caller.
//!
//! One mutex is a static variable, the other is on the heap and has no name. The lengths are random
//! as in [`Mutex`](super::Mutex). The truth is the reading of the threads' own clocks around the
//! call that locks, and for the holds at the release. A wait ends with the wake-up, as in a trace:
//! the time until the woken thread runs is taken off, by the scheduler's account of the thread. On
//! one CPU this time is longer than the wait.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;

use clap::Args;
use morecores_study::Nanos;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::KnownProgram;
use super::work_parts::part_of_time;
use crate::accounts::SchedAccount;
use crate::clock::{burn, monotonic, tree_cpu};
use crate::{
    AccuracyError, ExpectedReport, FunctionName, FunctionTruth, Part, Proportion, Share, ShareBound, Source,
    Truth,
};

/// Mean length of one pause and one hold together. It is long in comparison with the time for
/// waking an idle virtual CPU, as in [`Mutex`](super::Mutex).
const CYCLE_S: f64 = 0.008;

/// Share of its CPU time that each thread holds the mutex of `update_index`, in percent.
const INDEX_PERCENT: f64 = 10.0;

/// Share of its CPU time that each thread holds the mutex of `rebuild_cache`, in percent.
const CACHE_PERCENT: f64 = 40.0;

/// Number of threads.
const THREADS: u32 = 2;

/// Functions that hold a mutex.
pub(crate) const FUNCTIONS: [&str; 2] = ["update_index", "rebuild_cache"];

/// See the module.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct TwoMutexes {
    /// Elapsed time, in seconds
    #[arg(long)]
    pub elapsed_s: f64,
}

/// A mutex with an account of the holds during which the other thread waited.
struct TimedLock {
    lock: Mutex<()>,
    /// Time at which the other thread began to wait; 0 if it does not wait.
    waiting_since: AtomicU64,
    /// Time for which the mutex was held while the other thread waited. Its holder changes it.
    held_meanwhile: AtomicU64,
}

/// A held mutex.
struct TimedGuard<'a> {
    lock: &'a TimedLock,
    guard: MutexGuard<'a, ()>,
    taken_at: Nanos,
    /// Length of the wait before.
    waited: Nanos,
}

static INDEX_LOCK: TimedLock = TimedLock::new();

impl TimedLock {
    const fn new() -> Self {
        Self { lock: Mutex::new(()), waiting_since: AtomicU64::new(0), held_meanwhile: AtomicU64::new(0) }
    }

    fn held_s(&self) -> f64 {
        Nanos(self.held_meanwhile.load(Ordering::Relaxed)).as_secs_f64()
    }
}

impl TimedGuard<'_> {
    /// Unlocks in the function that calls it.
    #[inline(always)]
    fn release(self) {
        let since = Nanos(self.lock.waiting_since.load(Ordering::SeqCst));
        if since > Nanos::ZERO {
            let held = monotonic().since(since.max(self.taken_at));
            self.lock.held_meanwhile.fetch_add(held.0, Ordering::Relaxed);
        }
        drop(self.guard);
    }
}

/// The wrapper that both functions call.
#[inline(never)]
fn take(lock: &TimedLock) -> TimedGuard<'_> {
    let (guard, begun) = match lock.lock.try_lock() {
        Ok(guard) => (guard, None),
        Err(TryLockError::Poisoned(poisoned)) => (poisoned.into_inner(), None),
        Err(TryLockError::WouldBlock) => {
            // Without an account of it, the truth is that the thread was not runnable.
            let runnable = SchedAccount::read_thread().unwrap_or_default().waited;
            let begun = monotonic();
            lock.waiting_since.store(begun.0, Ordering::SeqCst);
            (lock.lock.lock().unwrap_or_else(PoisonError::into_inner), Some((begun, runnable)))
        }
    };
    let taken_at = monotonic();
    let mut waited = Nanos::ZERO;
    if let Some((begun, runnable)) = begun {
        lock.waiting_since.store(0, Ordering::SeqCst);
        let runnable = SchedAccount::read_thread().unwrap_or_default().waited.since(runnable);
        waited = taken_at.since(begun).since(runnable);
    }
    TimedGuard { lock, guard, taken_at, waited }
}

/// Holds the mutex in the static variable. The result is needed after the release, so the function
/// does not end in a jump to the unlocking function.
#[inline(never)]
fn update_index(hold: Nanos) -> Nanos {
    let held = take(&INDEX_LOCK);
    let waited = held.waited;
    burn(hold);
    held.release();
    waited
}

/// Holds the mutex on the heap.
#[inline(never)]
fn rebuild_cache(cache_lock: &TimedLock, hold: Nanos) -> Nanos {
    let held = take(cache_lock);
    let waited = held.waited;
    burn(hold);
    held.release();
    waited
}

/// A function that holds a mutex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    UpdateIndex,
    RebuildCache,
}

/// Source of the random turns of one thread.
struct Turns(ChaCha8Rng);

impl Turns {
    /// Time before the call, the function, and the time for which it holds its mutex. Each function
    /// has half the turns, so its holds are twice its share long.
    fn next(&mut self) -> (Nanos, Holder, Nanos) {
        let mut length = |percent| {
            // Exponential distribution with mean one, by inversion.
            let exponential = -(1.0 - self.0.random::<f64>()).ln();
            part_of_time(CYCLE_S * exponential, percent)
        };
        let think = length(100.0 - INDEX_PERCENT - CACHE_PERCENT);
        let holds = [length(2.0 * INDEX_PERCENT), length(2.0 * CACHE_PERCENT)];
        match self.0.random::<bool>() {
            true => (think, Holder::UpdateIndex, holds[0]),
            false => (think, Holder::RebuildCache, holds[1]),
        }
    }
}

/// Runs one thread; returns how long it waited in each of [`FUNCTIONS`].
fn work(cache_lock: &TimedLock, seed: u64, end: Nanos) -> [Nanos; 2] {
    let mut turns = Turns(ChaCha8Rng::seed_from_u64(seed));
    let mut waited = [Nanos::ZERO; 2];
    while monotonic() < end {
        let (think, holder, hold) = turns.next();
        burn(think);
        match holder {
            Holder::UpdateIndex => waited[0] += update_index(hold),
            Holder::RebuildCache => waited[1] += rebuild_cache(cache_lock, hold),
        }
    }
    waited
}

impl KnownProgram for TwoMutexes {
    fn run(&self) -> Result<Truth, AccuracyError> {
        let cache_lock = Box::new(TimedLock::new());
        let end = monotonic() + Nanos::from_secs_f64(self.elapsed_s);
        let waited = thread::scope(|scope| {
            let other = scope.spawn(|| work(&cache_lock, 2, end));
            let own = work(&cache_lock, 1, end);
            // A panic in that thread continues in this one.
            let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            [own[0] + other[0], own[1] + other[1]]
        });
        let functions = FUNCTIONS.into_iter().zip(waited).zip([INDEX_LOCK.held_s(), cache_lock.held_s()]);
        let functions = functions.map(|((name, waited), held_s)| {
            let (waited_s, held_s) = (Some(waited.as_secs_f64()), Some(held_s));
            (name.to_owned(), FunctionTruth { waited_s, held_s, ..FunctionTruth::default() })
        });
        Ok(Truth { cpu_s: tree_cpu().as_secs_f64(), functions: functions.collect(), ..Truth::default() })
    }

    fn expected(&self, truth: &Truth, cpus: u32, elapsed_s: f64) -> ExpectedReport {
        expected_two_mutexes(truth, &FunctionName::Symbol, Some("INDEX_LOCK"), cpus, elapsed_s)
    }

    fn arguments(&self) -> Vec<String> {
        ["two-mutexes", "--elapsed-s", &self.elapsed_s.to_string()].map(String::from).to_vec()
    }
}

/// Truth of two mutexes: the components as for one mutex, the waits and holds of each function, and
/// the waits for the static variable `index_lock`, if the file has its name. On one CPU, a thread
/// that waits leaves no CPU idle.
pub(crate) fn expected_two_mutexes(
    truth: &Truth,
    name: &dyn Fn(&'static str) -> FunctionName,
    index_lock: Option<&'static str>,
    cpus: u32,
    elapsed_s: f64,
) -> ExpectedReport {
    let waited = FUNCTIONS.map(|function| truth.in_function(function, |own| own.waited_s));
    let held = FUNCTIONS.map(|function| truth.in_function(function, |own| own.held_s));
    let sum = |parts: [f64; 2]| parts.into_iter().sum::<f64>();
    let mut expected = ExpectedReport::from_shares([
        Share::from_own_clocks(Part::Work, truth.cpu_s),
        Share::from_own_clocks(Part::UserLock, if cpus > 1 { sum(waited) } else { 0.0 }),
        Share::from_construction(Part::TooLittleWork, f64::from(cpus.saturating_sub(THREADS)) * elapsed_s),
    ]);
    // Without a wait there are no parts of the waits.
    let share_of = |part, seconds: [f64; 2], index: usize| Proportion {
        part,
        percent: if sum(seconds) == 0.0 { 0.0 } else { 100.0 * seconds[index] / sum(seconds) },
        bound: ShareBound::Equal,
        source: Source::OwnClocks,
    };
    for (index, function) in FUNCTIONS.into_iter().enumerate() {
        let parts = [(Part::WaitsIn(name(function)), waited), (Part::HeldBy(name(function)), held)];
        for (part, seconds) in parts {
            expected.shares.push(Share::from_own_clocks(part, seconds[index]));
            expected.proportions.push(share_of(part, seconds, index));
        }
    }
    let variable = index_lock.map(Part::LockVariable);
    expected.proportions.extend(variable.map(|part| share_of(part, waited, 0)));
    expected
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares of the time that a thread waits for each of the mutexes. The pauses and the two
    /// mutexes are a closed network with two customers, in which a state has the weight of the
    /// product of its demands (Gordon and Newell 1967; Baskett, Chandy, Muntz and Palacios 1975).
    /// A thread waits in the states with both customers at one mutex.
    fn by_theory() -> [f64; 2] {
        let [index, cache] = [INDEX_PERCENT, CACHE_PERCENT];
        let think = 100.0 - index - cache;
        let states = think * think / 2.0 + think * (index + cache) + index * cache;
        let whole = states + index * index + cache * cache;
        [index * index / whole, cache * cache / whole]
    }

    /// Simulates these turns on two CPUs of their own; returns the shares of the time that a thread
    /// waits.
    fn simulated(elapsed_s: f64) -> [f64; 2] {
        let mut threads = [1, 2].map(|seed| Turns(ChaCha8Rng::seed_from_u64(seed)));
        let mut draw = |thread: usize, at: f64| {
            let (think, holder, hold) = threads[thread].next();
            (at + think.as_secs_f64(), usize::from(holder == Holder::RebuildCache), hold.as_secs_f64())
        };
        let mut next = [draw(0, 0.0), draw(1, 0.0)];
        let (mut free_at, mut waited) = ([0.0_f64; 2], [0.0; 2]);
        loop {
            let who = usize::from(next[1].0 < next[0].0);
            let (wants, lock, hold) = next[who];
            if wants > elapsed_s {
                return waited.map(|waited| waited / elapsed_s);
            }
            waited[lock] += (free_at[lock] - wants).max(0.0);
            free_at[lock] = free_at[lock].max(wants) + hold;
            next[who] = draw(who, free_at[lock]);
        }
    }

    #[test]
    fn the_turns_are_those_of_the_theory() {
        let (theory, simulated) = (by_theory(), simulated(6000.0));
        for (theory, simulated) in theory.into_iter().zip(simulated) {
            assert!((theory - simulated).abs() < 0.03 * theory + 0.0005, "{theory} {simulated}");
        }
    }

    #[test]
    fn each_function_has_its_waits_and_its_holds() {
        let function = |waited_s, held_s| FunctionTruth {
            waited_s: Some(waited_s),
            held_s: Some(held_s),
            ..FunctionTruth::default()
        };
        let functions = FUNCTIONS.map(String::from).into_iter();
        let functions = functions.zip([function(0.5, 0.25), function(1.5, 0.75)]).collect();
        let truth = Truth { cpu_s: 8.0, functions, ..Truth::default() };
        let expected = |cpus| TwoMutexes { elapsed_s: 5.0 }.expected(&truth, cpus, 5.0);
        let seconds = |cpus| expected(cpus).shares.iter().map(|share| share.seconds).collect::<Vec<_>>();
        assert_eq!(seconds(1), [8.0, 0.0, 0.0, 0.5, 0.25, 1.5, 0.75]);
        assert_eq!(seconds(3), [8.0, 2.0, 5.0, 0.5, 0.25, 1.5, 0.75]);
        let percents = expected(2).proportions.iter().map(|share| share.percent).collect::<Vec<_>>();
        assert_eq!(percents, [25.0, 25.0, 75.0, 75.0, 25.0]);
    }

    #[test]
    fn a_hold_counts_from_the_later_of_its_begin_and_the_wait() {
        let lock = TimedLock::new();
        take(&lock).release();
        assert_eq!(lock.held_s(), 0.0);
        let held = take(&lock);
        let (taken_at, now) = (held.taken_at, monotonic());
        lock.waiting_since.store(1, Ordering::SeqCst);
        held.release();
        let counted = Nanos(lock.held_meanwhile.load(Ordering::Relaxed));
        assert!(counted >= now.since(taken_at) && counted <= monotonic().since(taken_at), "{counted:?}");
    }
}
