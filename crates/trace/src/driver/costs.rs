//! Cost of the programs, and the number of events for which they did not run.
//!
//! The cost of an event is measured on this machine, before the run: two threads on one CPU pass a
//! byte back and forth, without the programs and with them. The difference includes the programs,
//! the kernel's path to them and back, and the evicted cache lines. The kernel's own account of its
//! programs' run time would include only the first part.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use libbpf_rs::Program;
use libbpf_rs::query::{ProgInfoIter, ProgramInfo};
use morecores_study::{CpuId, Nanos};
use rustix::io::{read, write};
use rustix::pipe::pipe;

/// Rounds timed together: some 0.4 ms, so that some timings are not interrupted even on a busy
/// machine.
const ROUNDS: u32 = 100;
/// Number of timings. The shortest one counts, since nothing else disturbed it.
const TIMINGS: u32 = 24;
/// Records of one round: each of the two threads wakes the other and goes to sleep.
const EVENTS_PER_ROUND: u32 = 4;
/// System calls of one round: each of the two threads reads and writes.
const CALLS_PER_ROUND: u32 = 4;
/// Calls timed together: some 0.1 ms.
const CALLS: u32 = 1_000;
/// Largest relative difference between two paces without the programs, before and after the pace
/// with them. With a larger difference, the machine changed its speed in between, and the change
/// would be attributed to the programs.
const MAX_PACE_CHANGE: f64 = 0.03;

/// The kernel's statistics of each of `programs`.
pub(super) fn program_infos<'a>(
    programs: impl Iterator<Item = Program<'a>>,
) -> impl Iterator<Item = ProgramInfo> {
    let ids: BTreeSet<u32> =
        programs.filter_map(|program| Program::id_from_fd(program.as_fd()).ok()).collect();
    ProgInfoIter::default().filter(move |info| ids.contains(&info.id))
}

/// Duration of the actions that the programs trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    round: Duration,
    call: Duration,
}

impl Pace {
    /// Measures the pace on one CPU, in some 15 ms.
    pub(super) fn measure(cpu: CpuId) -> io::Result<Self> {
        let mut pace = Self { round: Duration::MAX, call: Duration::MAX };
        for _ in 0..TIMINGS {
            pace.round = pace.round.min(time_rounds(cpu)? / ROUNDS);
            pace.call = pace.call.min(time_calls(cpu)? / CALLS);
        }
        Ok(pace)
    }

    /// The faster of both measurements, for each duration separately.
    pub(super) fn faster(self, other: Self) -> Self {
        Self { round: self.round.min(other.round), call: self.call.min(other.call) }
    }

    /// Whether two measurements of the pace agree.
    pub(super) fn agrees_with(self, other: Self) -> bool {
        let difference = |a: Duration, b: Duration| a.abs_diff(b).as_secs_f64() / a.min(b).as_secs_f64();
        difference(self.round, other.round) <= MAX_PACE_CHANGE
    }

    /// Cost of one event and of one system call. `self` is the pace with the programs, `without`
    /// the pace without them. `None` if the programs seem to cost nothing, which is impossible. The
    /// cost of an event excludes the extra cost of the round's system calls, which are charged
    /// separately.
    pub(super) fn costs(self, without: Self) -> Option<Costs> {
        let call = self.call.saturating_sub(without.call);
        let round = self.round.checked_sub(without.round)?;
        let events = round.checked_sub(call * CALLS_PER_ROUND)?;
        let event = Nanos::from(events / EVENTS_PER_ROUND);
        (event > Nanos::ZERO).then_some(Costs { event, call: Nanos::from(call) })
    }
}

/// Cost of the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Costs {
    /// Cost of one event.
    pub(super) event: Nanos,
    /// Cost of one system call.
    pub(super) call: Nanos,
}

/// Time of [`ROUNDS`] rounds between two threads on `cpu`.
fn time_rounds(cpu: CpuId) -> io::Result<Duration> {
    let (to, from) = (pipe()?, pipe()?);
    thread::scope(|scope| {
        let echo = scope.spawn(|| exchange_bytes(cpu, &to.0, &from.1, false));
        let time = scope.spawn(|| exchange_bytes(cpu, &from.0, &to.1, true));
        let time = time.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")));
        echo.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))?;
        time
    })
}

/// One side of the ping-pong.
fn exchange_bytes(cpu: CpuId, from: &OwnedFd, to: &OwnedFd, writes_first: bool) -> io::Result<Duration> {
    pin(cpu)?;
    let mut byte = [0];
    let start = Instant::now();
    for _ in 0..ROUNDS {
        if writes_first {
            write(to, &byte)?;
            read(from, &mut byte)?;
        } else {
            read(from, &mut byte)?;
            write(to, &byte)?;
        }
    }
    Ok(start.elapsed())
}

/// Time of [`CALLS`] trivial system calls.
fn time_calls(cpu: CpuId) -> io::Result<Duration> {
    let time_all = move || {
        pin(cpu)?;
        let start = Instant::now();
        for _ in 0..CALLS {
            std::hint::black_box(rustix::process::getppid());
        }
        Ok(start.elapsed())
    };
    thread::spawn(time_all).join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
}

pub(super) fn pin(cpu: CpuId) -> io::Result<()> {
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
        let costs = |event, call| Some(Costs { event: Nanos(event), call: Nanos(call) });
        assert_eq!(pace(2_400, 100).costs(pace(2_000, 100)), costs(100, 0));
        // If calls are traced too, a round contains four calls beside its four events.
        assert_eq!(pace(3_200, 300).costs(pace(2_000, 100)), costs(100, 200));
    }

    #[test]
    fn programs_without_a_measurable_cost_are_not_calibrated() {
        let pace =
            |round, call| Pace { round: Duration::from_nanos(round), call: Duration::from_nanos(call) };
        assert_eq!(pace(1_900, 100).costs(pace(2_000, 100)), None);
        assert_eq!(pace(2_000, 100).costs(pace(2_000, 100)), None);
        assert_eq!(pace(2_400, 300).costs(pace(2_000, 100)), None);
    }

    #[test]
    fn a_machine_with_changing_speed_is_noticed() {
        let pace = |round| Pace { round: Duration::from_nanos(round), call: Duration::from_nanos(100) };
        assert!(pace(2_000).agrees_with(pace(2_040)) && !pace(2_200).agrees_with(pace(2_000)));
        assert_eq!(pace(2_000).faster(pace(2_100)).round, Duration::from_nanos(2_000));
    }

    #[test]
    fn pace_of_rounds_and_calls_is_positive() {
        let allowed = rustix::thread::sched_getaffinity(None).expect("CPUs");
        let first = (0..rustix::thread::CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).expect("a CPU");
        let pace = Pace::measure(CpuId(first as u32)).expect("a pace");
        let timed = Duration::from_nanos(1)..Duration::MAX;
        assert!(timed.contains(&pace.round) && timed.contains(&pace.call), "{pace:?}");
    }
}
