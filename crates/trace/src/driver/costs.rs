//! What the programs cost, and how often they were not run.
//!
//! The cost of an event is measured on this machine, before the run: two threads on one CPU pass a byte back and forth,
//! without the programs and with them. The difference holds everything: the programs, the kernel's way to them and
//! back, and what they push out of the caches. The kernel's own account of its programs' run time would miss all but
//! the first.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use libbpf_rs::Program;
use libbpf_rs::query::{ProgInfoIter, ProgramInfo};
use morecores_record::{CpuId, Nanos};
use rustix::io::{read, write};
use rustix::pipe::pipe;

/// Rounds timed together: some 1.5 ms.
const ROUNDS: u32 = 400;
/// Of so many timings the shortest counts, which is the one that nothing else disturbed.
const TIMINGS: u32 = 8;
/// Records of one round: each of the two threads wakes the other and goes to sleep.
const EVENTS_PER_ROUND: u32 = 4;
/// System calls of one round: each of the two threads reads and writes.
const CALLS_PER_ROUND: u32 = 4;
/// Calls timed together.
const CALLS: u32 = 2_000;

/// The kernel's account of each of `programs`.
pub(super) fn infos<'a>(programs: impl Iterator<Item = Program<'a>>) -> impl Iterator<Item = ProgramInfo> {
    let ids: BTreeSet<u32> =
        programs.filter_map(|program| Program::id_from_fd(program.as_fd()).ok()).collect();
    ProgInfoIter::default().filter(move |info| ids.contains(&info.id))
}

/// How long things take that the programs watch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    round: Duration,
    call: Duration,
}

impl Pace {
    /// Measures it on one CPU; takes some 20 ms.
    pub(super) fn of(cpu: CpuId) -> io::Result<Self> {
        let mut pace = Self { round: Duration::MAX, call: Duration::MAX };
        for _ in 0..TIMINGS {
            pace.round = pace.round.min(rounds(cpu)? / ROUNDS);
            pace.call = pace.call.min(calls(cpu)? / CALLS);
        }
        Ok(pace)
    }

    /// What an event costs where this is the pace with the programs and `without` that without them. What the round's
    /// system calls cost more is not in it: they are charged for themselves.
    pub(super) fn event_cost(self, without: Self) -> Nanos {
        let calls = self.call.saturating_sub(without.call) * CALLS_PER_ROUND;
        let events = self.round.saturating_sub(without.round).saturating_sub(calls);
        Nanos::from(events / EVENTS_PER_ROUND)
    }

    /// What a system call costs more.
    pub(super) fn call_cost(self, without: Self) -> Nanos {
        Nanos::from(self.call.saturating_sub(without.call))
    }
}

/// The time of [`ROUNDS`] rounds between two threads on `cpu`.
fn rounds(cpu: CpuId) -> io::Result<Duration> {
    let (to, from) = (pipe()?, pipe()?);
    thread::scope(|scope| {
        let echo = scope.spawn(|| pass_on(cpu, &to.0, &from.1, false));
        let time = scope.spawn(|| pass_on(cpu, &from.0, &to.1, true));
        let time = time.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")));
        echo.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))?;
        time
    })
}

/// One end of the game.
fn pass_on(cpu: CpuId, from: &OwnedFd, to: &OwnedFd, serves: bool) -> io::Result<Duration> {
    pin(cpu)?;
    let mut byte = [0];
    let began = Instant::now();
    for _ in 0..ROUNDS {
        if serves {
            write(to, &byte)?;
            read(from, &mut byte)?;
        } else {
            read(from, &mut byte)?;
            write(to, &byte)?;
        }
    }
    Ok(began.elapsed())
}

/// The time of [`CALLS`] system calls that do next to nothing.
fn calls(cpu: CpuId) -> io::Result<Duration> {
    let timed = move || {
        pin(cpu)?;
        let began = Instant::now();
        for _ in 0..CALLS {
            std::hint::black_box(rustix::process::getppid());
        }
        Ok(began.elapsed())
    };
    thread::spawn(timed).join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
}

fn pin(cpu: CpuId) -> io::Result<()> {
    let mut mask = rustix::thread::CpuSet::new();
    mask.set(cpu.0 as usize);
    Ok(rustix::thread::sched_setaffinity(None, &mask)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_the_difference() {
        let pace =
            |round, call| Pace { round: Duration::from_nanos(round), call: Duration::from_nanos(call) };
        assert_eq!(pace(2_400, 100).event_cost(pace(2_000, 100)), Nanos(100));
        assert_eq!(pace(2_400, 300).call_cost(pace(2_000, 100)), Nanos(200));
        assert_eq!(pace(1_900, 100).event_cost(pace(2_000, 100)), Nanos::ZERO);
        // Where calls are watched too, a round holds four of them beside its four events.
        assert_eq!(pace(3_200, 300).event_cost(pace(2_000, 100)), Nanos(100));
        assert_eq!(pace(2_400, 300).event_cost(pace(2_000, 100)), Nanos::ZERO);
    }

    #[test]
    fn a_round_takes_longer_than_a_call() {
        let pace = Pace::of(CpuId(0)).expect("CPU 0");
        assert!(pace.round > pace.call && pace.call > Duration::ZERO, "{pace:?}");
    }
}
