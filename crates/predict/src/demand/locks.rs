//! Locks, as far as their waits show them. A trace shows the waiters and the wait times, not the
//! holders. A queueing model gives the hold time from the wait time.

use std::collections::{HashMap, HashSet};

use morecores_study::Nanos;
use morecores_study::trace::{Comm, KnownLock, LockFlags};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::Demands;
use super::exponential_time;
use crate::models::mean_value_analysis;
use crate::replay::{LockPolicy, Machine, Program, SharedWork, Step, replay};
use morecores_explain::trace::{Cause, Segment, State, ThreadId, Timeline, awaited_futex, causes};

/// Smallest share of held work for which a lock is kept: a lock below it cannot matter below some
/// hundred CPUs.
const MIN_SHARE: f64 = 0.002;

/// Largest number of locks that are distinguished, by wait time.
const MAX_LOCKS: usize = 16;

/// Largest number of locks that are examined: those with the longest wait time.
const MAX_EXAMINED: usize = 256;

/// Number of waits per possible user of a lock, after which all users count as seen. If all users
/// take the lock equally often, the probability of a missed user is `e` to the minus this value.
const WAITS_PER_USER: f64 = 3.0;

/// Lock with its users.
#[derive(Clone, Debug, PartialEq)]
pub struct LockUse {
    /// Name of the lock.
    pub id: LockId,
    /// Share of its users' work during which the lock is held.
    pub share: f64,
    /// Threads that take the lock, as sorted indices into [`Demands::threads`]: threads that waited
    /// for it or woke a waiter, and threads like them.
    pub users: Vec<u32>,
    /// Total wait time in the traced run.
    pub waited: Nanos,
    /// Number of waits.
    pub waits: u32,
    /// Policy of the lock, from the majority of its waits.
    pub policy: LockPolicy,
    /// Number of the lock in the steps of [`Demands::program`], if it is held across waits.
    pub section: Option<u32>,
}

impl LockUse {
    /// Whether the lock is also held at random points of the work, besides the waits that it is
    /// held across.
    const fn is_held_at_random(&self) -> bool {
        self.share > 0.0
    }
}

/// Identity of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LockId {
    /// Kernel lock, by its address.
    Kernel(u64),
    /// Futex of a process, by the process's first thread and the address.
    Futex(ThreadId, u64),
}

impl LockId {
    /// Seed for the lock's random draws. It depends on the lock alone, not on the other locks.
    const fn seed(self) -> u64 {
        match self {
            Self::Kernel(address) | Self::Futex(_, address) => address,
        }
    }
}

/// Locks with waits in a traced run, longest total wait first.
pub fn lock_uses(timeline: &Timeline, demands: &Demands) -> Vec<LockUse> {
    let thread_numbers: HashMap<ThreadId, u32> = demands.threads.iter().copied().zip(0..).collect();
    let mut waits: HashMap<LockId, (Nanos, u32, HashSet<u32>, i64)> = HashMap::new();
    let mut add = |lock, waiter: ThreadId, holder: Option<ThreadId>, waited: Nanos, spins: bool| {
        let Some(&waiter) = thread_numbers.get(&waiter) else { return };
        let totals = waits.entry(lock).or_default();
        totals.0 += waited;
        totals.1 += 1;
        totals.2.insert(waiter);
        totals.2.extend(holder.and_then(|holder| thread_numbers.get(&holder)));
        totals.3 += if spins { 1 } else { -1 };
    };
    for wait in timeline.contentions.iter().filter(|wait| wait.known != KnownLock::RunQueue) {
        let LockFlags(flags) = wait.flags;
        // Waiters spin for a mutex while its owner runs, and sleep otherwise.
        let spins = flags & LockFlags::SPIN != 0 && flags & LockFlags::MUTEX == 0;
        // A woken thread without a CPU no longer waits for the lock; a replay does not count that
        // time either.
        let ready = ready_time(&timeline.thread(wait.thread).segments, wait.from, wait.to);
        let waited = wait.to.since(wait.from).since(ready);
        add(LockId::Kernel(wait.lock), wait.thread, None, waited, spins);
    }
    for (wait, cause) in timeline.waits.iter().zip(causes(timeline)) {
        if cause == Cause::UserLock
            && let Some((leader, address)) = awaited_futex(timeline, wait)
        {
            let holder = wait.wake.and_then(|wake| wake.by.thread());
            let waited = wait.to.since(wait.from);
            add(LockId::Futex(leader, address), wait.thread, holder, waited, false);
        }
    }
    let mut work: Vec<Nanos> = demands.program.threads.iter().map(|script| script_work(script)).collect();
    for shared in &demands.program.shared_work {
        let all: Nanos = shared.pieces.iter().map(|piece| script_work(piece)).sum();
        for member in &shared.members {
            work[*member as usize] += Nanos(all.0 / shared.members.len() as u64);
        }
    }
    let elapsed = timeline.elapsed().as_secs_f64();
    let kinds = ThreadKinds::from_demands(timeline, demands);
    let mut waits: Vec<_> = waits.into_iter().collect();
    waits.sort_unstable_by_key(|(lock, (waited, ..))| (std::cmp::Reverse(*waited), *lock));
    let uses = waits.into_iter().take(MAX_EXAMINED).filter_map(|(id, (waited, waits, users, spins))| {
        let users = match id {
            // The trace does not show the holder during the wait.
            LockId::Kernel(_) => kinds.similar_threads(&users),
            LockId::Futex(..) => kinds.lock_users(&users, waits),
        };
        let users_work: Nanos = users.iter().map(|user| work[*user as usize]).sum();
        let at_once = (users_work + waited).as_secs_f64() / elapsed;
        let section = demands.locks.iter().position(|section| section.id == id);
        let share = match section {
            // The program already contains the hold times.
            Some(index) if demands.locks[index].mostly_across_waits => 0.0,
            _ => lock_share(waited.as_secs_f64() / users_work.as_secs_f64(), at_once)?,
        };
        let policy = match id {
            LockId::Kernel(_) if spins > 0 => LockPolicy::Spin,
            LockId::Kernel(_) => LockPolicy::Kernel,
            LockId::Futex(..) => LockPolicy::Barging,
        };
        let section = section.map(|index| index as u32);
        Some(LockUse { id, share, users, waited, waits, policy, section })
    });
    // A long tail of locks with shorter waits does not matter, so their users are not determined.
    uses.filter(|lock| lock.share >= MIN_SHARE || lock.section.is_some()).take(MAX_LOCKS).collect()
}

/// Properties that identify threads of a kind.
struct ThreadKinds {
    /// Process, creating thread and last command of each thread.
    kinds: Vec<(Option<ThreadId>, Option<ThreadId>, Comm)>,
}

impl ThreadKinds {
    fn from_demands(timeline: &Timeline, demands: &Demands) -> Self {
        let kinds = demands.threads.iter().map(|id| {
            let thread = timeline.thread(*id);
            let last = thread.ended.unwrap_or(timeline.ended).min(timeline.ended);
            (thread.leader, thread.parent, thread.name_at(last))
        });
        Self { kinds: kinds.collect() }
    }

    /// Users of a lock, from the threads seen to take it in `waits` waits. The result also includes
    /// all threads like them, unless the number of waits makes a missed user very unlikely.
    fn lock_users(&self, seen: &HashSet<u32>, waits: u32) -> Vec<u32> {
        let alike = self.similar_threads(seen);
        if f64::from(waits) < WAITS_PER_USER * alike.len() as f64 {
            return alike;
        }
        let mut seen: Vec<u32> = seen.iter().copied().collect();
        seen.sort_unstable();
        seen
    }

    /// Threads seen to wait, and threads like them, because chance decides which of them wait. If
    /// the waiters belong to several processes, all threads with the same commands; otherwise the
    /// threads of that process with the same creating thread.
    fn similar_threads(&self, waiters: &HashSet<u32>) -> Vec<u32> {
        let own = || waiters.iter().map(|waiter| self.kinds[*waiter as usize]);
        let processes: HashSet<_> = own().map(|(process, ..)| process).collect();
        let parents: HashSet<_> = own().map(|(process, parent, _)| (process, parent)).collect();
        let commands: HashSet<_> = own().map(|(.., command)| command).collect();
        let alike = |(process, parent, command): &(_, _, _)| {
            if processes.len() > 1 {
                commands.contains(command)
            } else {
                parents.contains(&(*process, *parent))
            }
        };
        (0..).zip(&self.kinds).filter(|(_, kind)| alike(kind)).map(|(thread, _)| thread).collect()
    }
}

/// Time between two instants during which a thread was ready without a CPU.
fn ready_time(segments: &[Segment], from: Nanos, to: Nanos) -> Nanos {
    let first = segments.partition_point(|segment| segment.to <= from);
    let inside = segments[first..].iter().take_while(|segment| segment.from < to);
    inside
        .filter(|segment| matches!(segment.state, State::Runnable | State::Held(_)))
        .map(|segment| segment.to.min(to).since(segment.from.max(from)))
        .sum()
}

fn script_work(script: &[Step]) -> Nanos {
    script.iter().map(Step::work).sum()
}

/// Share of work under a lock that makes its users wait `waiting` per unit of work, with `at_once`
/// users working or waiting on average. `None` with fewer than two users: the only waits are then
/// for a holder that was not running.
fn lock_share(waiting: f64, at_once: f64) -> Option<f64> {
    let customers = at_once.round() as u32;
    if customers < 2 || !waiting.is_finite() {
        return None;
    }
    let waiting_at = |share: f64| {
        mean_value_analysis(1.0 - share, &[share], customers).last().map_or(0.0, |loaded| loaded.cycle - 1.0)
    };
    // Waits grow with the share.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if waiting_at(middle) < waiting { low = middle } else { high = middle }
    }
    Some((low + high) / 2.0)
}

/// Number of rounds in [`calibrate_locks`]; most locks need three.
const CALIBRATION_ROUNDS: u32 = 8;

/// Relative distance from the traced waits that is close enough: sampling error is no smaller.
const TOLERANCE: f64 = 0.03;

/// Locks with calibrated shares: a replay on the traced CPUs then waits as long as the traced
/// threads.
///
/// With fewer CPUs than threads, a wait is longer than the hold time. The holder waits for a CPU in
/// the meantime, and so does the woken thread. No formula covers this effect, but the replay does.
pub fn calibrate_locks(program: &Program, uses: &[LockUse], machine: &Machine, points: u32) -> Vec<LockUse> {
    let mut uses = uses.to_vec();
    for _ in 0..CALIBRATION_ROUNDS {
        let replayed = replay(&add_locks(program, &uses, points), machine);
        let mut close = true;
        for (lock, waited) in
            uses.iter_mut().zip(&replayed.lock_waits).filter(|(lock, _)| lock.is_held_at_random())
        {
            let ratio = lock.waited.as_secs_f64() / waited.as_secs_f64().max(1e-9);
            close &= (ratio - 1.0).abs() <= TOLERANCE;
            // Waits grow with the square of a small share, and faster near one.
            lock.share = (lock.share * ratio.sqrt().clamp(0.25, 4.0)).clamp(MIN_SHARE / 10.0, 1.0);
        }
        if close {
            break;
        }
    }
    uses
}

/// Adds locks to a program: the users take each lock at random points of their work for random
/// times, which add up to its share. `points` is the total number of such points. The resulting
/// waits depend on the shares, and hardly on `points`.
///
/// At regular points and with equal times, threads would meet at the lock less often than in
/// reality. A share calibrated from such waits would be too large.
pub fn add_locks(program: &Program, uses: &[LockUse], points: u32) -> Program {
    let locks = uses.iter().map(|lock| lock.policy).collect();
    let mut program = Program { locks, ..program.clone() };
    for script in program.scripts_mut() {
        script.retain_mut(|step| renumber_lock(step, uses));
    }
    for (number, lock) in (0..).zip(uses).filter(|(_, lock)| lock.is_held_at_random()) {
        let shared = |work: &&mut SharedWork| {
            work.members.iter().any(|member| lock.users.binary_search(member).is_ok())
        };
        let own: Nanos = lock.users.iter().map(|user| script_work(&program.threads[*user as usize])).sum();
        let pieces = program.shared_work.iter_mut().filter(shared).flat_map(|work| &work.pieces);
        let work = own + pieces.map(|piece| script_work(piece)).sum::<Nanos>();
        let mean_work = work.as_secs_f64() / f64::from(points.max(1));
        let mut turns = LockTurns::new(number, lock.id.seed(), mean_work, lock.share);
        for user in &lock.users {
            let script = &mut program.threads[*user as usize];
            *script = insert_holds(script, &mut turns);
        }
        for piece in program.shared_work.iter_mut().filter(shared).flat_map(|work| &mut work.pieces) {
            *piece = insert_holds(piece, &mut turns);
        }
    }
    program
}

/// Renumbers a lock or release step to the lock's index in `uses`. Returns `false` if the lock is
/// not in `uses`, so that the caller removes the step.
fn renumber_lock(step: &mut Step, uses: &[LockUse]) -> bool {
    let (Step::Lock(lock) | Step::Unlock(lock)) = step else { return true };
    let index = uses.iter().position(|candidate| candidate.section == Some(*lock));
    index.is_some_and(|index| {
        *lock = index as u32;
        true
    })
}

/// Turns of a lock: the work until its next use, and its hold time. Both are exponential, as for
/// independent events.
struct LockTurns {
    lock: u32,
    /// Mean work between a release and the next use, and mean hold time, in seconds.
    means: [f64; 2],
    random: ChaCha8Rng,
    /// Remaining work until the next use, and the hold time of that use.
    work_left: Nanos,
    hold: Nanos,
}

impl LockTurns {
    fn new(lock: u32, seed: u64, mean_work: f64, share: f64) -> Self {
        let means = [mean_work * (1.0 - share), mean_work * share];
        let random = ChaCha8Rng::seed_from_u64(seed);
        let mut turns = Self { lock, means, random, work_left: Nanos::ZERO, hold: Nanos::ZERO };
        turns.draw_next();
        turns
    }

    fn draw_next(&mut self) {
        let [work_left, hold] = self.means.map(|mean| exponential_time(&mut self.random, mean));
        (self.work_left, self.hold) = (work_left, hold);
    }
}

/// Script with its work divided, so that the lock's turns are holds. Remaining work until the next
/// turn carries over to the next script.
fn insert_holds(script: &[Step], turns: &mut LockTurns) -> Vec<Step> {
    let mut steps = Vec::with_capacity(script.len());
    let mut holds_lock = false;
    for step in script {
        match *step {
            Step::Lock(lock) if lock == turns.lock => holds_lock = true,
            Step::Unlock(lock) if lock == turns.lock => holds_lock = false,
            _ => {}
        }
        let Some(mut remaining) = step.run().filter(|_| !holds_lock) else {
            steps.push(*step);
            turns.work_left = turns.work_left.since(step.work());
            continue;
        };
        while remaining > turns.work_left {
            if turns.work_left > Nanos::ZERO {
                steps.push(Step::Run(turns.work_left));
            }
            remaining = remaining.since(turns.work_left);
            // A turn longer than the remaining work continues in the next piece.
            let held = remaining.min(turns.hold);
            steps.push(Step::Hold { lock: turns.lock, time: held });
            (remaining, turns.work_left, turns.hold) =
                (remaining.since(held), Nanos::ZERO, turns.hold.since(held));
            if turns.hold == Nanos::ZERO {
                turns.draw_next();
            }
        }
        if remaining > Nanos::ZERO {
            steps.push(Step::Run(remaining));
        }
        turns.work_left = turns.work_left.since(remaining);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_determine_the_share() {
        for (truth, customers) in [(0.05, 2), (0.3, 4), (0.8, 3)] {
            let waiting = mean_value_analysis(1.0 - truth, &[truth], customers).last().unwrap().cycle - 1.0;
            let found = lock_share(waiting, f64::from(customers)).unwrap();
            assert!((found - truth).abs() < 1e-6, "{found}");
        }
        assert_eq!(lock_share(0.1, 1.2), None);
    }

    /// Four threads on two CPUs share a lock. They also wait for each other's turns on the CPU, and
    /// the calibration still finds the share.
    #[test]
    fn calibration_finds_the_share_with_too_few_cpus() {
        let ms = Nanos::from_millis;
        let threads = 4_u32;
        let mut first: Vec<Step> = (1..=threads).map(Step::Start).collect();
        first.extend((1..=threads).map(Step::Join));
        let mut scripts = vec![first];
        scripts.extend((0..threads).map(|id| vec![Step::Run(ms(200 + u64::from(id)))]));
        let program = Program { threads: scripts, ..Program::default() };
        let mut uses = vec![LockUse {
            id: LockId::Kernel(1),
            share: 0.3,
            users: (1..=threads).collect(),
            waited: Nanos::ZERO,
            waits: 1,
            policy: LockPolicy::Handoff,
            section: None,
        }];
        let machine = Machine::new(2);
        uses[0].waited = replay(&add_locks(&program, &uses, 1000), &machine).lock_waits[0];
        uses[0].share = 0.9;
        let found = calibrate_locks(&program, &uses, &machine, 1000)[0].share;
        // Chance decides the overlap of turns, and with it a tenth of the waits.
        assert!((found - 0.3).abs() < 0.05, "{found}");
    }

    #[test]
    fn holds_are_inserted_into_short_pieces_of_work() {
        let script = [Step::Run(Nanos::from_micros(100)), Step::Mark].repeat(10_000);
        let steps = insert_holds(&script, &mut LockTurns::new(0, 3, 5e-3, 0.3));
        let held: Nanos = steps.iter().filter(|step| matches!(step, Step::Hold { .. })).map(Step::work).sum();
        assert!((held.as_secs_f64() - 0.3).abs() < 0.06, "{held:?}");
        assert_eq!(script_work(&steps), Nanos::from_millis(1_000));
    }

    #[test]
    fn inserting_holds_preserves_the_work() {
        let ms = Nanos::from_millis;
        let script = [Step::Run(ms(10)), Step::Mark, Step::Run(ms(1)), Step::Run(ms(7))];
        let steps = insert_holds(&script, &mut LockTurns::new(0, 0, 1e-4, 0.25));
        assert_eq!(script_work(&steps), ms(18));
        let held: Nanos = steps.iter().filter(|step| matches!(step, Step::Hold { .. })).map(Step::work).sum();
        let share = held.as_secs_f64() / 0.018;
        assert!((share - 0.25).abs() < 0.05, "{share}");
    }
}
