//! Stops at breakpoints: a thread at a site goes on, is held, or has a rendezvous with another one.

use std::io;
use std::time::{Duration, Instant};

use nix::libc::user_regs_struct;
use nix::sys::ptrace;
use nix::unistd::Pid;
use procfs::process::{ProcState, Process};

use super::{Hold, Observation, Tracer};
use crate::address_space::{Arrival, HalfUpdate};
use crate::holds::HoldKind;
use crate::tracee::{self, NO_SIGNAL};

/// Time for which a thread waits for another one at a site, about.
const RENDEZVOUS_TIME: Duration = Duration::from_millis(1);
/// Time of one stop at a breakpoint, about.
const STOP_TIME: Duration = Duration::from_micros(10);
/// Policies of real-time priority, as in `sched.h`: SCHED_FIFO and SCHED_RR.
const REAL_TIME_POLICIES: [u32; 2] = [1, 2];

/// Thread that is being held.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) thread: Pid,
    pub(super) process: Pid,
    /// Number of the site; `None` at a random instant.
    pub(super) site: Option<usize>,
    pub(super) registers: user_regs_struct,
    pub(super) until: Instant,
    /// Activity of the other threads when the hold began.
    others: Activity,
    pub(super) how: HoldWay,
}

/// Manner of a hold.
#[derive(Clone, Copy, Debug)]
pub(super) enum HoldWay {
    /// It is stopped before the instruction.
    Stopped,
    /// It is stopped after the read of an update.
    InUpdate(HalfUpdate),
    /// It waits busily before the instruction.
    Busy,
}

/// Thread that waits for another one at a site.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rendezvous {
    pub(super) process: Pid,
    pub(super) thread: Pid,
    pub(super) since: Instant,
}

impl Tracer<'_> {
    /// Handles a stop of a thread, if a breakpoint of this crate caused it. Returns whether it did.
    pub(super) fn handle_breakpoint(&mut self, thread: Pid) -> io::Result<bool> {
        let registers = ptrace::getregs(thread)?;
        let Some(process) = self.threads.get(&thread).copied() else { return Ok(false) };
        if self.end_update(thread, process, &registers)? {
            return Ok(true);
        }
        let Some(site) = self.spaces.get(&process).and_then(|space| space.reached_site(&registers)) else {
            return Ok(false);
        };
        let hits = self.hits_at.entry(site).or_default().entry(thread.as_raw()).or_default();
        *hits += 1;
        let hit = *hits;
        if hit == 1 {
            self.has_real_time |= has_real_time_priority(thread);
        }
        if matches!(self.request.observation, Observation::Sites)
            && let Some(address) =
                self.spaces.get(&process).and_then(|space| space.data_address(site, &registers))
        {
            self.addresses.entry(site).or_default().insert((thread.as_raw(), address));
        }
        let left = self.hits_left.get(&site).copied().unwrap_or(0);
        if left == 1 {
            self.disarm(site)?;
        }
        self.hits_left.insert(site, left.saturating_sub(1));
        let hold = if left > 0 { self.request.plan.next_hold(hit) } else { None };
        match hold {
            None => self.release(thread, process, &registers)?,
            Some(_) if self.request.plan.kind == HoldKind::Together => {
                self.rendezvous(thread, process, site, &registers)?;
            }
            Some(length) => self.begin_hold(thread, process, site, &registers, length)?,
        }
        Ok(true)
    }

    /// Lets a thread wait at a site for another one, or go on together with the one that waits.
    fn rendezvous(
        &mut self,
        thread: Pid,
        process: Pid,
        site: usize,
        registers: &user_regs_struct,
    ) -> io::Result<()> {
        let Some(space) = self.spaces.get(&process) else { return Ok(()) };
        let is_second = self.rendezvous.is_some_and(|first| {
            first.process == process && first.thread != thread && first.since.elapsed() < RENDEZVOUS_TIME
        });
        let arrival = if is_second { Arrival::Second } else { Arrival::First };
        let Some(waiting) = space.rendezvous(site, arrival, registers) else {
            return self.release(thread, process, registers);
        };
        space.share_data(site, registers);
        // The time of a first thread depends on the second; it may have waited in vain.
        let waited =
            self.rendezvous.take().map_or(Duration::ZERO, |first| first.since.elapsed().min(RENDEZVOUS_TIME));
        if !is_second {
            space.open_rendezvous()?;
            self.rendezvous = Some(Rendezvous { process, thread, since: Instant::now() });
        }
        self.request.plan.charge(waited + STOP_TIME);
        self.holds.push(Hold { site: Some(site), is_effective: is_second });
        ptrace::setregs(thread, waiting)?;
        tracee::go_on(thread, NO_SIGNAL)?;
        Ok(())
    }

    fn begin_hold(
        &mut self,
        thread: Pid,
        process: Pid,
        site: usize,
        registers: &user_regs_struct,
        length: Duration,
    ) -> io::Result<()> {
        let Some(space) = self.spaces.get(&process) else { return Ok(()) };
        let others = Activity::read(process, Some(thread));
        let mut how = HoldWay::Stopped;
        if let Some(half) = self.begin_update(process, site, registers) {
            how = HoldWay::InUpdate(half);
        } else if has_real_time_priority(thread)
            && let Some(waiting) = space.begin_busy_hold(site, registers)?
        {
            how = HoldWay::Busy;
            ptrace::setregs(thread, waiting)?;
            tracee::go_on(thread, NO_SIGNAL)?;
        }
        let until = Instant::now() + length;
        self.held.push(Held { thread, process, site: Some(site), registers: *registers, until, others, how });
        Ok(())
    }

    /// Reads the data of an update that this run splits, unless another thread splits it now.
    fn begin_update(&self, process: Pid, site: usize, registers: &user_regs_struct) -> Option<HalfUpdate> {
        let is_taken =
            self.held.iter().any(|held| held.site == Some(site)) || self.computing.contains_key(&site);
        let is_split = self.request.plan.kind == HoldKind::Inside && !is_taken;
        self.spaces.get(&process).filter(|_| is_split)?.begin_update(site, registers)
    }

    /// Writes the result of an update that a thread has just computed. Returns false if it has
    /// computed none.
    fn end_update(&mut self, thread: Pid, process: Pid, registers: &user_regs_struct) -> io::Result<bool> {
        let Some(space) = self.spaces.get(&process) else { return Ok(false) };
        let computed = self
            .computing
            .iter()
            .find(|(site, (computing, _))| *computing == thread && space.has_computed(**site, registers));
        let Some((site, (_, half))) = computed else { return Ok(false) };
        let site = *site;
        let after = space.end_update(site, half, registers)?;
        self.computing.remove(&site);
        ptrace::setregs(thread, after)?;
        tracee::go_on(thread, NO_SIGNAL)?;
        Ok(true)
    }

    /// Interrupts a thread that runs. It stops where it is.
    pub(super) fn interrupt_any(&mut self) -> io::Result<()> {
        // A call that waits might return early, with an error that the program does not expect.
        let runs = |thread: &Pid| {
            let stat = Process::new(thread.as_raw()).and_then(|thread| thread.stat());
            stat.and_then(|stat| stat.state()).is_ok_and(|state| state == ProcState::Running)
        };
        let mut running: Vec<Pid> = self.threads.keys().copied().filter(runs).collect();
        running.sort();
        if running.is_empty() {
            return Ok(());
        }
        let thread = running[self.request.plan.pick(running.len())];
        ptrace::interrupt(thread)?;
        self.interrupted.insert(thread);
        Ok(())
    }

    /// Holds a thread where it has stopped. Returns false if there were enough holds.
    pub(super) fn hold_anywhere(&mut self, thread: Pid) -> io::Result<bool> {
        let Some(process) = self.threads.get(&thread).copied() else { return Ok(false) };
        let Some(length) = self.request.plan.next_hold_anywhere() else { return Ok(false) };
        let (registers, others) = (ptrace::getregs(thread)?, Activity::read(process, Some(thread)));
        let (until, how) = (Instant::now() + length, HoldWay::Stopped);
        self.held.push(Held { thread, process, site: None, registers, until, others, how });
        Ok(true)
    }

    pub(super) fn end_hold(&mut self, held: &Held) -> io::Result<()> {
        let now = Activity::read(held.process, Some(held.thread));
        // The kernel accounts a thread that keeps running only at a tick.
        let others_ran = now.times != held.others.times || now.is_running && self.request.cpus.len() > 1;
        let is_effective = others_ran || matches!(held.how, HoldWay::Busy);
        self.holds.push(Hold { site: held.site, is_effective });
        let at_site = held.site.zip(self.spaces.get(&held.process));
        match (&held.how, at_site) {
            (_, None) => {}
            (HoldWay::Busy, Some((site, space))) => return space.end_busy_hold(site),
            (HoldWay::InUpdate(half), Some((site, space))) => {
                let registers = space.compute_update(site, half, &held.registers)?;
                self.computing.insert(site, (held.thread, *half));
                ptrace::setregs(held.thread, registers)?;
            }
            (HoldWay::Stopped, Some((_, space))) => {
                ptrace::setregs(held.thread, space.pass(&held.registers)?)?;
            }
        }
        tracee::go_on(held.thread, NO_SIGNAL)
    }

    /// Lets a thread go on after a breakpoint.
    fn release(&self, thread: Pid, process: Pid, registers: &user_regs_struct) -> io::Result<()> {
        if let Some(space) = self.spaces.get(&process) {
            ptrace::setregs(thread, space.pass(registers)?)?;
        }
        tracee::go_on(thread, NO_SIGNAL)?;
        Ok(())
    }
}

fn has_real_time_priority(thread: Pid) -> bool {
    let stat = Process::new(thread.as_raw()).and_then(|process| process.stat());
    stat.is_ok_and(|stat| stat.policy.is_some_and(|policy| REAL_TIME_POLICIES.contains(&policy)))
}

/// Activity of the threads of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Activity {
    /// CPU time in ns and number of turns on a CPU, of all threads that live.
    pub(super) times: (u64, u64),
    /// Whether one of them runs or is ready.
    pub(super) is_running: bool,
}

impl Activity {
    /// Reads the activity of all threads but one.
    pub(super) fn read(process: Pid, except: Option<Pid>) -> Self {
        let mut activity = Self { times: (0, 0), is_running: false };
        let Ok(tasks) = Process::new(process.as_raw()).and_then(|process| process.tasks()) else {
            return activity;
        };
        for task in tasks.flatten().filter(|task| Some(Pid::from_raw(task.tid)) != except) {
            if let Ok(times) = task.schedstat() {
                activity.times.0 += times.sum_exec_runtime;
                activity.times.1 += times.pcount;
            }
            let state = task.stat().and_then(|stat| stat.state());
            activity.is_running |= state.is_ok_and(|state| state == ProcState::Running);
        }
        activity
    }
}
