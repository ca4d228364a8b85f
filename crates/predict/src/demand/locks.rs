//! Locks, as far as their waits show them. A trace shows the waiters and the wait times, not the
//! holders. A queueing model gives the hold time from the wait time.

use std::collections::{HashMap, HashSet};

use morecores_study::Nanos;
use morecores_study::trace::{Comm, KnownLock, LockFlags};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::Demands;
use super::random::exponential;
use crate::models::mean_value_analysis;
use crate::replay::{Bag, LockPolicy, Machine, Program, Step, replay};
use morecores_explain::trace::{Cause, Segment, State, ThreadId, Timeline, causes, futex};

/// Smallest share of held work for which a lock is kept: a lock below it cannot matter below some
/// hundred CPUs.
const LEAST_SHARE: f64 = 0.002;

/// Largest number of locks that are distinguished, by wait time.
const MOST_LOCKS: usize = 16;

/// Largest number of locks that are examined: those with the longest wait time.
const MOST_TRIED: usize = 256;

/// Number of waits per possible user of a lock, after which all users count as seen. If all users
/// take the lock equally often, the probability of a missed user is `e` to the minus this value.
const ALL_SEEN: f64 = 3.0;

/// Lock with its users.
#[derive(Clone, Debug, PartialEq)]
pub struct LockUse {
    /// Name of the lock.
    pub lock: LockName,
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
    const fn at_random(&self) -> bool {
        self.share > 0.0
    }
}

/// Identity of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LockName {
    /// Kernel lock, by its address.
    Kernel(u64),
    /// Futex of a process, by the process's first thread and the address.
    Futex(ThreadId, u64),
}

impl LockName {
    /// Seed for the lock's random draws. It depends on the lock alone, not on the other locks.
    const fn number(self) -> u64 {
        match self {
            Self::Kernel(address) | Self::Futex(_, address) => address,
        }
    }
}

/// Locks with waits in a traced run, longest total wait first.
pub fn lock_uses(timeline: &Timeline, demands: &Demands) -> Vec<LockUse> {
    let place: HashMap<ThreadId, u32> = demands.threads.iter().copied().zip(0..).collect();
    let mut waits: HashMap<LockName, (Nanos, u32, HashSet<u32>, i64)> = HashMap::new();
    let mut add = |lock, waiter: ThreadId, holder: Option<ThreadId>, waited: Nanos, spins: bool| {
        let Some(&waiter) = place.get(&waiter) else { return };
        let entry = waits.entry(lock).or_default();
        entry.0 += waited;
        entry.1 += 1;
        entry.2.insert(waiter);
        entry.2.extend(holder.and_then(|holder| place.get(&holder)));
        entry.3 += if spins { 1 } else { -1 };
    };
    for wait in timeline.contentions.iter().filter(|wait| wait.known != KnownLock::RunQueue) {
        let LockFlags(flags) = wait.flags;
        // Waiters spin for a mutex while its owner runs, and sleep otherwise.
        let spins = flags & LockFlags::SPIN != 0 && flags & LockFlags::MUTEX == 0;
        // A woken thread without a CPU no longer waits for the lock; a replay does not count that
        // time either.
        let ready = ready(&timeline.thread(wait.thread).segments, wait.from, wait.to);
        let waited = wait.to.since(wait.from).since(ready);
        add(LockName::Kernel(wait.lock), wait.thread, None, waited, spins);
    }
    for (wait, cause) in timeline.waits.iter().zip(causes(timeline)) {
        if cause == Cause::UserLock
            && let Some((leader, address)) = futex(timeline, wait)
        {
            let holder = wait.wake.and_then(|wake| wake.by.thread());
            let waited = wait.to.since(wait.from);
            add(LockName::Futex(leader, address), wait.thread, holder, waited, false);
        }
    }
    let mut work: Vec<Nanos> = demands.program.threads.iter().map(|script| work_of(script)).collect();
    for bag in &demands.program.bags {
        let all: Nanos = bag.pieces.iter().map(|piece| work_of(piece)).sum();
        for member in &bag.members {
            work[*member as usize] += Nanos(all.0 / bag.members.len() as u64);
        }
    }
    let elapsed = timeline.elapsed().as_secs_f64();
    let kinds = Kinds::of(timeline, demands);
    let mut waits: Vec<_> = waits.into_iter().collect();
    waits.sort_unstable_by_key(|(lock, (waited, ..))| (std::cmp::Reverse(*waited), *lock));
    let uses = waits.into_iter().take(MOST_TRIED).filter_map(|(lock, (waited, waits, users, spins))| {
        let users = match lock {
            // The trace does not show the holder during the wait.
            LockName::Kernel(_) => kinds.like(&users),
            LockName::Futex(..) => kinds.users(&users, waits),
        };
        let of_users: Nanos = users.iter().map(|user| work[*user as usize]).sum();
        let at_once = (of_users + waited).as_secs_f64() / elapsed;
        let section = demands.locks.iter().position(|of| of.name == lock);
        let share = match section {
            // The program already contains the hold times.
            Some(place) if demands.locks[place].mostly => 0.0,
            _ => share(waited.as_secs_f64() / of_users.as_secs_f64(), at_once)?,
        };
        let policy = match lock {
            LockName::Kernel(_) if spins > 0 => LockPolicy::Spin,
            LockName::Kernel(_) => LockPolicy::Kernel,
            LockName::Futex(..) => LockPolicy::Barging,
        };
        let section = section.map(|place| place as u32);
        Some(LockUse { lock, share, users, waited, waits, policy, section })
    });
    // A long tail of locks with shorter waits does not matter, so their users are not determined.
    uses.filter(|lock| lock.share >= LEAST_SHARE || lock.section.is_some()).take(MOST_LOCKS).collect()
}

/// Properties that identify threads of a kind.
struct Kinds {
    /// Process, creating thread and last command of each thread.
    of: Vec<(Option<ThreadId>, Option<ThreadId>, Comm)>,
}

impl Kinds {
    fn of(timeline: &Timeline, demands: &Demands) -> Self {
        let of = demands.threads.iter().map(|id| {
            let thread = timeline.thread(*id);
            let last = thread.ended.unwrap_or(timeline.ended).min(timeline.ended);
            (thread.leader, thread.parent, thread.name_at(last))
        });
        Self { of: of.collect() }
    }

    /// Users of a lock, from the threads seen to take it in `waits` waits. The result also includes
    /// all threads like them, unless the number of waits makes a missed user very unlikely.
    fn users(&self, seen: &HashSet<u32>, waits: u32) -> Vec<u32> {
        let alike = self.like(seen);
        if f64::from(waits) < ALL_SEEN * alike.len() as f64 {
            return alike;
        }
        let mut seen: Vec<u32> = seen.iter().copied().collect();
        seen.sort_unstable();
        seen
    }

    /// Threads seen to wait, and threads like them, because chance decides which of them wait. If
    /// the waiters belong to several processes, all threads with the same commands; otherwise the
    /// threads of that process with the same creating thread.
    fn like(&self, waiters: &HashSet<u32>) -> Vec<u32> {
        let own = || waiters.iter().map(|waiter| self.of[*waiter as usize]);
        let processes: HashSet<_> = own().map(|(process, ..)| process).collect();
        let makers: HashSet<_> = own().map(|(process, maker, _)| (process, maker)).collect();
        let commands: HashSet<_> = own().map(|(.., command)| command).collect();
        let alike = |(process, maker, command): &(_, _, _)| {
            if processes.len() > 1 {
                commands.contains(command)
            } else {
                makers.contains(&(*process, *maker))
            }
        };
        (0..).zip(&self.of).filter(|(_, kind)| alike(kind)).map(|(thread, _)| thread).collect()
    }
}

/// Time between two instants during which a thread was ready without a CPU.
fn ready(segments: &[Segment], from: Nanos, to: Nanos) -> Nanos {
    let first = segments.partition_point(|segment| segment.to <= from);
    let inside = segments[first..].iter().take_while(|segment| segment.from < to);
    inside
        .filter(|segment| matches!(segment.state, State::Runnable | State::Held(_)))
        .map(|segment| segment.to.min(to).since(segment.from.max(from)))
        .sum()
}

fn work_of(script: &[Step]) -> Nanos {
    script.iter().map(Step::work).sum()
}

/// Share of work under a lock that makes its users wait `waiting` per unit of work, with `at_once`
/// users working or waiting on average. `None` with fewer than two users: the only waits are then
/// for a holder that was not running.
fn share(waiting: f64, at_once: f64) -> Option<f64> {
    let customers = at_once.round() as u32;
    if customers < 2 || !waiting.is_finite() {
        return None;
    }
    let of = |share: f64| {
        mean_value_analysis(1.0 - share, &[share], customers).last().map_or(0.0, |loaded| loaded.cycle - 1.0)
    };
    // Waits grow with the share.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if of(middle) < waiting { low = middle } else { high = middle }
    }
    Some((low + high) / 2.0)
}

/// Number of rounds in [`calibrated`]; most locks need three.
const ROUNDS: u32 = 8;

/// Relative distance from the traced waits that is close enough: sampling error is no smaller.
const CLOSE: f64 = 0.03;

/// Locks with calibrated shares: a replay on the traced CPUs then waits as long as the traced
/// threads.
///
/// With fewer CPUs than threads, a wait is longer than the hold time. The holder waits for a CPU in
/// the meantime, and so does the woken thread. No formula covers this effect, but the replay does.
pub fn calibrated(program: &Program, uses: &[LockUse], machine: &Machine, points: u32) -> Vec<LockUse> {
    let mut uses = uses.to_vec();
    for _ in 0..ROUNDS {
        let replayed = replay(&with_locks(program, &uses, points), machine);
        let mut close = true;
        for (of, waited) in uses.iter_mut().zip(&replayed.lock_waits).filter(|(of, _)| of.at_random()) {
            let ratio = of.waited.as_secs_f64() / waited.as_secs_f64().max(1e-9);
            close &= (ratio - 1.0).abs() <= CLOSE;
            // Waits grow with the square of a small share, and faster near one.
            of.share = (of.share * ratio.sqrt().clamp(0.25, 4.0)).clamp(LEAST_SHARE / 10.0, 1.0);
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
pub fn with_locks(program: &Program, uses: &[LockUse], points: u32) -> Program {
    let locks = uses.iter().map(|of| of.policy).collect();
    let mut program = Program { locks, ..program.clone() };
    for script in program.scripts_mut() {
        script.retain_mut(|step| renumber(step, uses));
    }
    for (lock, of) in (0..).zip(uses).filter(|(_, of)| of.at_random()) {
        let shared = |bag: &&mut Bag| bag.members.iter().any(|member| of.users.binary_search(member).is_ok());
        let own: Nanos = of.users.iter().map(|user| work_of(&program.threads[*user as usize])).sum();
        let bags = program.bags.iter_mut().filter(shared).flat_map(|bag| &bag.pieces);
        let work = own + bags.map(|piece| work_of(piece)).sum::<Nanos>();
        let every = work.as_secs_f64() / f64::from(points.max(1));
        let mut turns = Turns::new(lock, of.lock.number(), every, of.share);
        for user in &of.users {
            let script = &mut program.threads[*user as usize];
            *script = holding(script, &mut turns);
        }
        for piece in program.bags.iter_mut().filter(shared).flat_map(|bag| &mut bag.pieces) {
            *piece = holding(piece, &mut turns);
        }
    }
    program
}

/// Renumbers a lock or release step to the lock's index in `uses`. Returns `false` if the lock is
/// not in `uses`, so that the caller removes the step.
fn renumber(step: &mut Step, uses: &[LockUse]) -> bool {
    let (Step::Lock(lock) | Step::GiveBack(lock)) = step else { return true };
    let place = uses.iter().position(|of| of.section == Some(*lock));
    place.is_some_and(|place| {
        *lock = place as u32;
        true
    })
}

/// Turns of a lock: the work until its next use, and its hold time. Both are exponential, as for
/// independent events.
struct Turns {
    lock: u32,
    /// Mean work between a release and the next use, and mean hold time, in seconds.
    means: [f64; 2],
    random: ChaCha8Rng,
    /// Remaining work until the next use, and the hold time of that use.
    until: Nanos,
    hold: Nanos,
}

impl Turns {
    fn new(lock: u32, seed: u64, every: f64, share: f64) -> Self {
        let means = [every * (1.0 - share), every * share];
        let random = ChaCha8Rng::seed_from_u64(seed);
        let mut turns = Self { lock, means, random, until: Nanos::ZERO, hold: Nanos::ZERO };
        turns.next();
        turns
    }

    fn next(&mut self) {
        let [until, hold] = self.means.map(|mean| exponential(&mut self.random, mean));
        (self.until, self.hold) = (until, hold);
    }
}

/// Script with its work divided, so that the lock's turns are holds. Remaining work until the next
/// turn carries over to the next script.
fn holding(script: &[Step], turns: &mut Turns) -> Vec<Step> {
    let mut cut = Vec::with_capacity(script.len());
    let mut has_it = false;
    for step in script {
        match *step {
            Step::Lock(lock) if lock == turns.lock => has_it = true,
            Step::GiveBack(lock) if lock == turns.lock => has_it = false,
            _ => {}
        }
        let Some(mut left) = step.run().filter(|_| !has_it) else {
            cut.push(*step);
            turns.until = turns.until.since(step.work());
            continue;
        };
        while left > turns.until {
            if turns.until > Nanos::ZERO {
                cut.push(Step::Run(turns.until));
            }
            left = left.since(turns.until);
            // A turn longer than the remaining work continues in the next piece.
            let held = left.min(turns.hold);
            cut.push(Step::Hold { lock: turns.lock, time: held });
            (left, turns.until, turns.hold) = (left.since(held), Nanos::ZERO, turns.hold.since(held));
            if turns.hold == Nanos::ZERO {
                turns.next();
            }
        }
        if left > Nanos::ZERO {
            cut.push(Step::Run(left));
        }
        turns.until = turns.until.since(left);
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_tell_the_share_that_made_them() {
        for (truth, customers) in [(0.05, 2), (0.3, 4), (0.8, 3)] {
            let waiting = mean_value_analysis(1.0 - truth, &[truth], customers).last().unwrap().cycle - 1.0;
            let found = share(waiting, f64::from(customers)).unwrap();
            assert!((found - truth).abs() < 1e-6, "{found}");
        }
        assert_eq!(share(0.1, 1.2), None);
    }

    /// Four threads on two CPUs share a lock. They also wait for each other's turns on the CPU, and
    /// the calibration still finds the share.
    #[test]
    fn a_replay_tells_the_share_where_cpus_are_short() {
        let ms = Nanos::from_millis;
        let threads = 4_u32;
        let mut first: Vec<Step> = (1..=threads).map(Step::Start).collect();
        first.extend((1..=threads).map(Step::Join));
        let mut scripts = vec![first];
        scripts.extend((0..threads).map(|id| vec![Step::Run(ms(200 + u64::from(id)))]));
        let program = Program { threads: scripts, ..Program::default() };
        let mut uses = vec![LockUse {
            lock: LockName::Kernel(1),
            share: 0.3,
            users: (1..=threads).collect(),
            waited: Nanos::ZERO,
            waits: 1,
            policy: LockPolicy::HandOver,
            section: None,
        }];
        let machine = Machine::new(2);
        uses[0].waited = replay(&with_locks(&program, &uses, 1000), &machine).lock_waits[0];
        uses[0].share = 0.9;
        let found = calibrated(&program, &uses, &machine, 1000)[0].share;
        // Chance decides the overlap of turns, and with it a tenth of the waits.
        assert!((found - 0.3).abs() < 0.05, "{found}");
    }

    #[test]
    fn turns_are_taken_however_short_the_pieces_of_work_are() {
        let script = [Step::Run(Nanos::from_micros(100)), Step::Mark].repeat(10_000);
        let cut = holding(&script, &mut Turns::new(0, 3, 5e-3, 0.3));
        let held: Nanos = cut.iter().filter(|step| matches!(step, Step::Hold { .. })).map(Step::work).sum();
        assert!((held.as_secs_f64() - 0.3).abs() < 0.06, "{held:?}");
        assert_eq!(work_of(&cut), Nanos::from_millis(1_000));
    }

    #[test]
    fn the_work_stays_what_it_was() {
        let ms = Nanos::from_millis;
        let script = [Step::Run(ms(10)), Step::Mark, Step::Run(ms(1)), Step::Run(ms(7))];
        let cut = holding(&script, &mut Turns::new(0, 0, 1e-4, 0.25));
        assert_eq!(work_of(&cut), ms(18));
        let held: Nanos = cut.iter().filter(|step| matches!(step, Step::Hold { .. })).map(Step::work).sum();
        let share = held.as_secs_f64() / 0.018;
        assert!((share - 0.25).abs() < 0.05, "{share}");
    }
}
