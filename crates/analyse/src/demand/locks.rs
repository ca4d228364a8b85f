//! Locks, as far as their waits tell. A trace shows who waited for a lock and for how long, not who held it: how long it is held
//! follows from how long others waited, by the model that connects the two.

use std::collections::{HashMap, HashSet};

use morecores_record::{KnownLock, LockFlags, Nanos};

use super::Demands;
use crate::models::mean_value_analysis;
use crate::replay::{Bag, LockPolicy, Machine, Program, Step, replay};
use crate::trace::{Cause, ThreadId, Timeline, causes, futex};

/// Locks below this share of the work under them are left out: they cannot matter below some hundred CPUs.
const LEAST_SHARE: f64 = 0.002;

/// As many locks are told apart, by the time waited for them.
const MOST_LOCKS: usize = 16;

/// A lock, and who takes it.
#[derive(Clone, Debug, PartialEq)]
pub struct LockUse {
    /// Which.
    pub lock: LockName,
    /// The share of its users' work that they hold it.
    pub share: f64,
    /// Threads that waited for it, as indices into [`Demands::threads`], in order.
    pub users: Vec<u32>,
    /// How long they waited for it in the traced run.
    pub waited: Nanos,
    /// How often.
    pub waits: u32,
    /// How, by what most of the waits did.
    pub policy: LockPolicy,
}

/// What a lock is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LockName {
    /// One of the kernel's, by its address.
    Kernel(u64),
    /// A futex of a process, by that process's first thread and the address.
    Futex(ThreadId, u64),
}

/// The locks of a traced run that somebody waited for, those waited for longest first.
pub fn lock_uses(timeline: &Timeline, demands: &Demands) -> Vec<LockUse> {
    let place: HashMap<ThreadId, u32> = demands.threads.iter().copied().zip(0..).collect();
    let mut waits: HashMap<LockName, (Nanos, u32, HashSet<u32>, i64)> = HashMap::new();
    let mut add = |lock, thread, waited: Nanos, spins: bool| {
        let Some(&user) = place.get(&thread) else { return };
        let entry = waits.entry(lock).or_default();
        entry.0 += waited;
        entry.1 += 1;
        entry.2.insert(user);
        entry.3 += if spins { 1 } else { -1 };
    };
    for wait in timeline.contentions.iter().filter(|wait| wait.known != KnownLock::RunQueue) {
        let LockFlags(flags) = wait.flags;
        // A mutex whose owner runs is waited for on the CPU, and asleep otherwise.
        let spins = flags & LockFlags::SPIN != 0 && flags & LockFlags::MUTEX == 0;
        add(LockName::Kernel(wait.lock), wait.thread, wait.to.since(wait.from), spins);
    }
    for (wait, cause) in timeline.waits.iter().zip(causes(timeline)) {
        if cause == Cause::UserLock
            && let Some((leader, address)) = futex(timeline, wait)
        {
            add(LockName::Futex(leader, address), wait.thread, wait.to.since(wait.from), false);
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
    let mut uses: Vec<_> = waits
        .into_iter()
        .filter_map(|(lock, (waited, waits, users, spins))| {
            let mut users: Vec<_> = users.into_iter().collect();
            users.sort_unstable();
            let of_users: Nanos = users.iter().map(|user| work[*user as usize]).sum();
            let at_once = (of_users + waited).as_secs_f64() / elapsed;
            let share = share(waited.as_secs_f64() / of_users.as_secs_f64(), at_once)?;
            let policy = if spins > 0 { LockPolicy::Spin } else { LockPolicy::Barging };
            Some(LockUse { lock, share, users, waited, waits, policy })
        })
        .filter(|lock| lock.share >= LEAST_SHARE)
        .collect();
    uses.sort_unstable_by_key(|of| (std::cmp::Reverse(of.waited), of.lock));
    uses.truncate(MOST_LOCKS);
    uses
}

fn work_of(script: &[Step]) -> Nanos {
    script.iter().map(time_of).sum()
}

fn time_of(step: &Step) -> Nanos {
    match step {
        Step::Run(time) | Step::Hold { time, .. } => *time,
        _ => Nanos::ZERO,
    }
}

/// The share of work under a lock for which those who take it wait `waiting` per unit of work, with `at_once` of them at work or
/// waiting on average. `None` where fewer than two are: then nobody can have waited but for one who was not running.
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

/// Rounds of [`calibrated`]; most locks need three.
const ROUNDS: u32 = 8;

/// How close to the traced waits is close enough: sampling leaves them no better known.
const CLOSE: f64 = 0.03;

/// The same locks with shares for which a replay on the traced CPUs waits as long as the traced threads did.
///
/// On fewer CPUs than threads a wait is longer than the lock was held: its holder waits for a CPU meanwhile, and so does who
/// was woken. No formula has that, and the replay does.
pub fn calibrated(program: &Program, uses: &[LockUse], machine: &Machine, points: u32) -> Vec<LockUse> {
    let mut uses = uses.to_vec();
    for _ in 0..ROUNDS {
        let replayed = replay(&with_locks(program, &uses, points), machine);
        let mut close = true;
        for (of, waited) in uses.iter_mut().zip(&replayed.lock_waits) {
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

/// The program with its locks: each user takes each lock at regular points of its work, each time for the same share of it.
/// `points` is how often in all; the waits that result depend on the shares, hardly on how finely they are cut.
pub fn with_locks(program: &Program, uses: &[LockUse], points: u32) -> Program {
    let locks = uses.iter().map(|of| of.policy).collect();
    let mut program = Program { locks, ..program.clone() };
    for (lock, of) in (0..).zip(uses) {
        let shared = |bag: &&mut Bag| bag.members.iter().any(|member| of.users.contains(member));
        let own: Nanos = of.users.iter().map(|user| work_of(&program.threads[*user as usize])).sum();
        let bags = program.bags.iter_mut().filter(shared).flat_map(|bag| &bag.pieces);
        let work = own + bags.map(|piece| work_of(piece)).sum::<Nanos>();
        let every = Nanos((work.0 / u64::from(points.max(1))).max(1));
        let hold = Nanos((every.0 as f64 * of.share) as u64);
        for (user, nth) in of.users.iter().zip(1..) {
            // Not all at the same point of their work.
            let mut until = Nanos(every.0 * nth / (of.users.len() as u64 + 1));
            let script = &mut program.threads[*user as usize];
            *script = holding(script, lock, &mut until, every, hold);
        }
        let mut until = Nanos(every.0 / 2);
        for piece in program.bags.iter_mut().filter(shared).flat_map(|bag| &mut bag.pieces) {
            *piece = holding(piece, lock, &mut until, every, hold);
        }
    }
    program
}

/// A script in which work is cut so that after `until`, and every `every` from then on, `hold` of it is under the lock. What is left
/// of `until` goes on in the next script.
fn holding(script: &[Step], lock: u32, until: &mut Nanos, every: Nanos, hold: Nanos) -> Vec<Step> {
    let mut cut = Vec::with_capacity(script.len());
    for step in script {
        let Step::Run(mut left) = *step else {
            cut.push(*step);
            *until = until.since(time_of(step));
            continue;
        };
        while left > *until + hold {
            if *until > Nanos::ZERO {
                cut.push(Step::Run(*until));
            }
            cut.push(Step::Hold { lock, time: hold });
            left = left.since(*until + hold);
            *until = every.since(hold);
        }
        cut.push(Step::Run(left));
        *until = until.since(left);
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

    /// Four threads on two CPUs, a share of whose work is under a lock: they wait for each other's turns on the CPU too, and the
    /// share is found all the same.
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
        }];
        let machine = Machine::new(2);
        uses[0].waited = replay(&with_locks(&program, &uses, 1000), &machine).lock_waits[0];
        uses[0].share = 0.9;
        let found = calibrated(&program, &uses, &machine, 1000)[0].share;
        // Whose turns fall together is chance, and with it a tenth of the waits.
        assert!((found - 0.3).abs() < 0.05, "{found}");
    }

    #[test]
    fn the_work_stays_what_it_was() {
        let ms = Nanos::from_millis;
        let script = [Step::Run(ms(10)), Step::Mark, Step::Run(ms(1)), Step::Run(ms(7))];
        let cut = holding(&script, 0, &mut ms(2), ms(4), ms(1));
        let all = work_of(&cut);
        assert_eq!(all, ms(18));
        let holds = cut.iter().filter(|step| matches!(step, Step::Hold { .. })).count();
        assert!((3..=5).contains(&holds), "{holds}");
    }
}
