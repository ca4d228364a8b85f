//! Time that an idle CPU of this machine needs to run a thread that is woken. It is some
//! microseconds if the CPU polls or sleeps lightly, and tens of microseconds if a hypervisor has to
//! schedule the CPU.
//!
//! A trace on one CPU cannot show this latency, and it matters on more than one CPU. This
//! measurement traces no command.

use std::io;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use morecores_study::Nanos;
use rustix::io::{read, write};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Number of wake-ups for the median; with the pauses they take some 20 ms.
const WAKES: usize = 64;

/// Idle time of the CPU before each wake-up, similar to a thread that waits for another thread's
/// work.
const PAUSE: Duration = Duration::from_micros(300);

/// Median wake-up latency: the time from before one thread writes a byte until another thread,
/// asleep on another CPU, has read it. `None` with a single CPU, and if threads may not be placed.
pub(crate) fn wake_latency() -> Option<Nanos> {
    let allowed = sched_getaffinity(None).ok()?;
    let mut cpus = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    let (waker, sleeper) = (cpus.next()?, cpus.next()?);
    let times = measure_wakes(waker, sleeper).ok()?;
    Nanos::median(times.into_iter().map(Nanos::from).collect())
}

/// Latency of each of a series of wake-ups.
fn measure_wakes(waker: usize, sleeper: usize) -> io::Result<Vec<Duration>> {
    let (from, to) = pipe_with(PipeFlags::CLOEXEC)?;
    thread::scope(|scope| {
        let begin = |name: &str| thread::Builder::new().name(name.to_owned());
        let sleeper_thread = begin("sleeps").spawn_scoped(scope, move || record_wake_ups(sleeper, &from))?;
        let waker_thread = begin("wakes").spawn_scoped(scope, move || send_wakes(waker, to))?;
        let woken = waker_thread.join().unwrap_or_else(|_| Err(panic_error()))?;
        let awoke = sleeper_thread.join().unwrap_or_else(|_| Err(panic_error()))?;
        Ok(awoke.iter().zip(&woken).map(|(after, before)| after.saturating_duration_since(*before)).collect())
    })
}

/// Times at which each byte had been read, until the writer closes the pipe.
fn record_wake_ups(cpu: usize, from: &OwnedFd) -> io::Result<Vec<Instant>> {
    pin(cpu)?;
    let mut awoke = Vec::with_capacity(WAKES);
    while read(from, &mut [0])? > 0 {
        awoke.push(Instant::now());
    }
    Ok(awoke)
}

/// Times right before each byte was written. Closes the pipe at the end, also after an error.
fn send_wakes(cpu: usize, to: OwnedFd) -> io::Result<Vec<Instant>> {
    pin(cpu)?;
    let mut woken = Vec::with_capacity(WAKES);
    for _ in 0..WAKES {
        let pause = Instant::now();
        while pause.elapsed() < PAUSE {
            std::hint::spin_loop();
        }
        woken.push(Instant::now());
        write(&to, &[0])?;
    }
    Ok(woken)
}

fn pin(cpu: usize) -> io::Result<()> {
    let mut mask = CpuSet::new();
    mask.set(cpu);
    Ok(sched_setaffinity(None, &mask)?)
}

fn panic_error() -> io::Error {
    io::Error::other("a thread panicked")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_up_ends_after_it_began() {
        match wake_latency() {
            Some(time) => assert!(time > Nanos::ZERO),
            None => morecores_testkit::report_skip("wake_latency", "one CPU, or threads may not be placed"),
        }
    }
}
