//! One run of the program under ptrace, with threads held at some sites.
//!
//! All calls of ptrace are made by one thread. It sleeps until a thread of the program stops or a
//! hold ends. It decides nothing about the result of the run.

mod core_file;
mod own_priority;
mod stacks;
mod standstill;
mod stops;
mod watchpoints;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use morecores_findings::{CodePlace, Priorities};
use nix::errno::Errno;
use nix::libc::{
    self, PTRACE_EVENT_CLONE, PTRACE_EVENT_EXEC, PTRACE_EVENT_FORK, PTRACE_EVENT_STOP, PTRACE_EVENT_VFORK,
};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;
use nix::unistd::Pid;

use crate::address_space::{AddressSpace, HalfUpdate};
use crate::holds::HoldPlan;
use crate::launch::{self, OutputFiles};
use crate::tracee::{self, NO_SIGNAL, Report};
use crate::variables::DataPlace;
use core_file::Crash;
use own_priority::OwnPriority;
pub(crate) use stacks::ThreadStack;
pub(crate) use standstill::LockWait;
use stops::{Held, Rendezvous};
pub(crate) use watchpoints::MOST as MOST_WATCHPOINTS;
use watchpoints::Watchpoints;

/// Time that processes get to end by themselves after the program has ended.
const GRACE: Duration = Duration::from_millis(100);
/// Stops at watchpoints after which a thread is watched no longer. One costs about 10 µs.
const MOST_WATCH_HITS: u32 = 200;
/// Time between two looks at a program that may stand still.
const LOOK_PAUSE: Duration = Duration::from_millis(50);

/// Program and conditions of a run.
#[derive(Debug)]
pub(crate) struct RunRequest<'a> {
    pub(crate) command: &'a [OsString],
    pub(crate) cpus: &'a [usize],
    /// Places of the sites, by their numbers.
    pub(crate) sites: &'a [CodePlace],
    pub(crate) plan: HoldPlan,
    pub(crate) observation: Observation<'a>,
    pub(crate) timeout: Duration,
    /// Whether threads of the program have real-time priorities.
    pub(crate) priorities: Priorities,
    /// File for a core if a signal ends the program or it stands still.
    pub(crate) core: Option<&'a Path>,
}

/// Data accesses that a run records.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Observation<'a> {
    /// None.
    Nothing,
    /// Those to these variables: at most [`MOST_WATCHPOINTS`].
    Variables(&'a [DataPlace]),
    /// Those of the sites.
    Sites,
}

/// End of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum End {
    /// Exit status.
    Exited(i32),
    /// Signal that ended the program.
    Signalled(i32),
    /// It did not end in time, and every thread slept.
    Deadlock,
    /// It did not end in time, and threads ran.
    Livelock,
}

/// Hold of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hold {
    /// Number of the site; `None` for a hold at a random instant.
    pub(crate) site: Option<usize>,
    /// Whether it could change the order of threads: another one of the process ran meanwhile, or
    /// only the priority of the held one prevented that.
    pub(crate) is_effective: bool,
}

/// Record of one run.
#[derive(Debug)]
pub(crate) struct RunRecord {
    pub(crate) end: End,
    pub(crate) elapsed: Duration,
    pub(crate) holds: Vec<Hold>,
    /// Hits of each site by each thread while it was armed.
    pub(crate) hits_at: BTreeMap<usize, BTreeMap<i32, u32>>,
    /// Place of the instruction at which a signal ended the program, if a file has it.
    pub(crate) crash: Option<CodePlace>,
    /// Files that processes with several threads mapped as code.
    pub(crate) modules: BTreeSet<PathBuf>,
    /// Whether a thread with a real-time priority reached a site.
    pub(crate) has_real_time: bool,
    /// Waits of the threads when the program stood still.
    pub(crate) waits: Vec<LockWait>,
    /// Accesses to the watched variables, by the number of the variable: the places after the
    /// instructions, with the threads that executed them.
    pub(crate) accesses: BTreeMap<usize, BTreeMap<CodePlace, BTreeSet<i32>>>,
    /// Addresses of the data that each site accessed, with the threads.
    pub(crate) addresses: BTreeMap<usize, BTreeSet<(i32, u64)>>,
    /// Stacks of all threads when it stood still or a signal ended it.
    pub(crate) stacks: Vec<ThreadStack>,
    /// Whether the requested core was written, and why not.
    pub(crate) core: Option<Result<(), String>>,
}

/// Makes one run.
///
/// # Errors
/// The program cannot be started or traced.
pub(crate) fn run(request: RunRequest<'_>, output: OutputFiles) -> io::Result<RunRecord> {
    let ends = ChildSignals::new()?;
    let child = launch::start(request.command, request.cpus, output)?;
    let root = tracee::seize(&child, Options::empty())?;
    let _priority = match request.priorities {
        Priorities::RealTime => Some(OwnPriority::highest(request.cpus)?),
        Priorities::Ordinary => None,
    };
    Tracer::new(root, request).follow(&ends)
}

/// Notices of the end or stop of any child.
#[derive(Debug)]
struct ChildSignals(SignalFd);

impl ChildSignals {
    fn new() -> io::Result<Self> {
        let mut mask = SigSet::empty();
        mask.add(Signal::SIGCHLD);
        mask.thread_block()?;
        Ok(Self(SignalFd::with_flags(&mask, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?))
    }

    /// Sleeps until a child has ended or stopped, at most until `until`.
    fn wait(&self, until: Instant) -> io::Result<()> {
        let left = TimeSpec::from_duration(until.saturating_duration_since(Instant::now()));
        match ppoll(&mut [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)], Some(left), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        while self.0.read_signal()?.is_some() {}
        Ok(())
    }
}

struct Tracer<'a> {
    request: RunRequest<'a>,
    root: Pid,
    began: Instant,
    /// Process of each thread.
    threads: HashMap<Pid, Pid>,
    /// New threads that stopped before the call that made them was seen.
    early: HashSet<Pid>,
    /// Address spaces of processes with several threads.
    spaces: HashMap<Pid, AddressSpace>,
    /// Instant at which the first thread was created, and the number of windows opened since.
    windows: Option<(Instant, usize)>,
    /// Hits that each armed site has left.
    hits_left: HashMap<usize, u32>,
    held: Vec<Held>,
    /// Threads that compute an update, by its site. A slot serves one thread at a time.
    computing: HashMap<usize, (Pid, HalfUpdate)>,
    rendezvous: Option<Rendezvous>,
    /// Threads that are about to stop for a hold at a random instant.
    interrupted: HashSet<Pid>,
    /// Last look: whether every thread waited forever, and the CPU times.
    last_look: Option<(bool, Vec<(u64, u64)>)>,
    waits: Vec<LockWait>,
    stacks: Vec<ThreadStack>,
    core: Option<Result<(), String>>,
    /// Watchpoints of each process with several threads.
    watchpoints: HashMap<Pid, Watchpoints>,
    /// Number of stops of each thread at watchpoints.
    watch_hits: HashMap<Pid, u32>,
    accesses: BTreeMap<usize, BTreeMap<CodePlace, BTreeSet<i32>>>,
    addresses: BTreeMap<usize, BTreeSet<(i32, u64)>>,
    has_real_time: bool,
    end: Option<(End, Instant)>,
    crash: Option<CodePlace>,
    holds: Vec<Hold>,
    hits_at: BTreeMap<usize, BTreeMap<i32, u32>>,
    modules: BTreeSet<PathBuf>,
}

impl<'a> Tracer<'a> {
    fn new(root: Pid, request: RunRequest<'a>) -> Self {
        Self {
            request,
            root,
            began: Instant::now(),
            threads: HashMap::from([(root, root)]),
            early: HashSet::new(),
            spaces: HashMap::new(),
            windows: None,
            hits_left: HashMap::new(),
            held: Vec::new(),
            computing: HashMap::new(),
            rendezvous: None,
            interrupted: HashSet::new(),
            last_look: None,
            waits: Vec::new(),
            accesses: BTreeMap::new(),
            addresses: BTreeMap::new(),
            watchpoints: HashMap::new(),
            watch_hits: HashMap::new(),
            stacks: Vec::new(),
            core: None,
            has_real_time: false,
            end: None,
            crash: None,
            holds: Vec::new(),
            hits_at: BTreeMap::new(),
            modules: BTreeSet::new(),
        }
    }

    fn follow(mut self, ends: &ChildSignals) -> io::Result<RunRecord> {
        let mut deadline = self.began + self.request.timeout;
        let mut next_look = self.began + LOOK_PAUSE;
        loop {
            let now = Instant::now();
            if now >= next_look {
                next_look = now + LOOK_PAUSE;
                if self.end.is_none() && self.is_deadlock() {
                    deadline = now;
                }
            }
            if now >= deadline {
                deadline = self.end_late();
            }
            let next = self.act(now)?;
            match tracee::poll() {
                Ok(None) => {
                    ends.wait(next.unwrap_or(deadline).min(deadline).min(next_look))?;
                }
                Ok(Some(report)) => {
                    // A thread may be killed at any time by another one of the program.
                    ignore_ended(self.handle(report))?;
                    if let Some((_, at)) = self.end {
                        deadline = deadline.min(at + GRACE);
                    }
                }
                Err(error) if error.raw_os_error() == Some(libc::ECHILD) => break,
                Err(error) => return Err(error),
            }
        }
        let (end, at) = self.end.ok_or_else(|| io::Error::other("the program was lost"))?;
        Ok(RunRecord {
            end,
            elapsed: at - self.began,
            holds: self.holds,
            hits_at: self.hits_at,
            crash: self.crash,
            modules: self.modules,
            has_real_time: self.has_real_time,
            waits: self.waits,
            accesses: self.accesses,
            addresses: self.addresses,
            stacks: self.stacks,
            core: self.core,
        })
    }

    /// Kills what is left at the deadline. Returns the next one.
    fn end_late(&mut self) -> Instant {
        if self.end.is_none() {
            let end = if self.is_asleep() { End::Deadlock } else { End::Livelock };
            self.waits = standstill::lock_waits(&self.processes());
            for process in self.processes() {
                let stacks = self.read_stacks(process, None);
                self.stacks.extend(stacks);
                if self.spaces.contains_key(&process) {
                    self.write_core(Crash { process, signal: None });
                }
            }
            self.end = Some((end, Instant::now()));
        }
        // A new process that has stopped is unknown if its parent was killed before it reported it.
        for process in self.processes().iter().chain(&self.early) {
            let _ = kill(*process, Signal::SIGKILL);
        }
        Instant::now() + GRACE
    }

    /// Whether every thread waits forever, at two looks in a row with nothing done in between.
    fn is_deadlock(&mut self) -> bool {
        let processes = self.processes();
        let times = standstill::times(&processes);
        let is_deadlock = self.held.is_empty() && standstill::is_deadlock(&processes);
        let last = self.last_look.replace((is_deadlock, times.clone()));
        is_deadlock && last == Some((true, times))
    }

    /// Whether every thread sleeps, and uses no CPU time during a pause.
    fn is_asleep(&self) -> bool {
        let processes = self.processes();
        let before = standstill::times(&processes);
        std::thread::sleep(LOOK_PAUSE);
        standstill::is_asleep(&processes) && standstill::times(&processes) == before
    }

    fn processes(&self) -> BTreeSet<Pid> {
        self.threads.values().copied().collect()
    }

    /// Opens windows and ends holds that are due. Returns the instant at which the next is due.
    fn act(&mut self, now: Instant) -> io::Result<Option<Instant>> {
        let mut next = None;
        while let Some((began, opened)) = self.windows
            && let Some(window) = self.request.plan.windows.get(opened).copied()
        {
            if began + window.at > now {
                next = Some(began + window.at);
                break;
            }
            self.windows = Some((began, opened + 1));
            match window.site {
                Some(site) => self.arm(site)?,
                None => ignore_ended(self.interrupt_any())?,
            }
        }
        let due;
        (due, self.held) = self.held.drain(..).partition(|held| held.until <= now);
        for held in due {
            ignore_ended(self.end_hold(&held))?;
        }
        Ok(self.held.iter().map(|held| held.until).chain(next).min())
    }

    fn arm(&mut self, site: usize) -> io::Result<()> {
        self.hits_left.insert(site, self.request.plan.hits_a_window);
        for space in self.spaces.values() {
            ignore_ended(space.arm(site))?;
        }
        Ok(())
    }

    fn disarm(&mut self, site: usize) -> io::Result<()> {
        for space in self.spaces.values() {
            ignore_ended(space.disarm(site))?;
        }
        Ok(())
    }

    fn handle(&mut self, report: Report) -> io::Result<()> {
        match report {
            Report::Exited(thread, status) => self.forget(thread, End::Exited(status)),
            Report::Killed(thread, signal) => self.forget(thread, End::Signalled(signal)),
            Report::Event(thread, event) => self.handle_event(thread, event)?,
            Report::Signal(thread, libc::SIGTRAP) if self.handle_watchpoint(thread)? => {}
            Report::Signal(thread, libc::SIGTRAP) if self.handle_breakpoint(thread)? => {}
            Report::Signal(thread, signal) => {
                let process = self.threads.get(&thread).copied().unwrap_or(thread);
                if ends_with_core(signal) && self.end.is_none() && stacks::is_fatal(process, signal) {
                    self.crash = self.place_of(thread);
                    self.stacks = self.read_stacks(process, Some(thread));
                    self.write_core(Crash { process, signal: Some((thread, signal)) });
                }
                tracee::go_on(thread, signal)?;
            }
        }
        Ok(())
    }

    fn forget(&mut self, thread: Pid, end: End) {
        // Another thread ended it meanwhile.
        let ended = self.held.iter().filter(|held| held.thread == thread);
        self.holds.extend(ended.map(|held| Hold { site: held.site, is_effective: true }));
        self.held.retain(|held| held.thread != thread);
        self.computing.retain(|_, (computing, _)| *computing != thread);
        let process = self.threads.remove(&thread);
        if let Some(process) = process
            && !self.threads.values().any(|other| *other == process)
        {
            self.spaces.remove(&process);
        }
        if thread == self.root && self.end.is_none() {
            self.end = Some((end, Instant::now()));
        }
    }

    fn handle_event(&mut self, thread: Pid, event: i32) -> io::Result<()> {
        match event {
            PTRACE_EVENT_CLONE | PTRACE_EVENT_FORK | PTRACE_EVENT_VFORK => {
                let new = Pid::from_raw(ptrace::getevent(thread)? as i32);
                let added = self.add(thread, new);
                ignore_ended(tracee::go_on(new, NO_SIGNAL))?;
                ignore_ended(added)?;
            }
            PTRACE_EVENT_EXEC => {
                let process = self.threads.get(&thread).copied().unwrap_or(thread);
                self.spaces.remove(&process);
                self.threads.retain(|other, owner| *other == thread || *owner != process);
                self.held.retain(|held| held.process != process);
            }
            PTRACE_EVENT_STOP if self.interrupted.remove(&thread) && self.hold_anywhere(thread)? => {
                return Ok(());
            }
            // The first stop of a new thread, or the end of a stop by a signal.
            _ if !self.threads.contains_key(&thread) => {
                self.early.insert(thread);
                return Ok(());
            }
            _ => {}
        }
        tracee::go_on(thread, NO_SIGNAL)?;
        Ok(())
    }

    /// Adds a new thread or process, made by `parent`, and waits for its first stop.
    fn add(&mut self, parent: Pid, new: Pid) -> io::Result<()> {
        if !self.early.remove(&new) {
            tracee::wait_for(new)?;
        }
        let process = self.threads.get(&parent).copied().unwrap_or(parent);
        let is_thread = std::fs::exists(format!("/proc/{process}/task/{new}"))?;
        self.threads.insert(new, if is_thread { process } else { new });
        if !is_thread {
            if let Some(space) = self.spaces.get(&process) {
                self.spaces.insert(new, space.copy_in(new)?);
            }
        } else if !self.spaces.contains_key(&process) {
            let wanted: BTreeSet<usize> =
                self.request.plan.windows.iter().filter_map(|window| window.site).collect();
            let places = |site: usize| Some((site, self.request.sites.get(site)?));
            let sites: Vec<_> = wanted.into_iter().filter_map(places).collect();
            let space = AddressSpace::new(process, new, &sites)?;
            for site in space.sites().filter(|site| self.hits_left.get(site).is_some_and(|left| *left > 0)) {
                space.arm(site)?;
            }
            self.modules.extend(space.files().cloned());
            let watched = match self.request.observation {
                Observation::Variables(variables) => variables,
                Observation::Nothing | Observation::Sites => &[],
            };
            let watched = watched.iter().take(MOST_WATCHPOINTS);
            let addresses = watched.map(|place| Some((space.address(place)?, place.size)));
            if let Some(addresses) = addresses.collect::<Option<Vec<_>>>().filter(|list| !list.is_empty()) {
                let watchpoints = Watchpoints(addresses);
                // Some machines have none for their guests. Then there are fewer sites.
                if watchpoints.set(parent).is_ok() {
                    self.watchpoints.insert(process, watchpoints);
                }
            }
            self.spaces.insert(process, space);
            self.windows.get_or_insert((Instant::now(), 0));
            self.act(Instant::now())?;
        }
        if let Some(watchpoints) = self.watchpoints.get(&process).filter(|_| is_thread) {
            watchpoints.set(new)?;
        }
        Ok(())
    }

    /// Handles a stop of a thread, if an access to a watched variable caused it. Returns whether it
    /// did.
    fn handle_watchpoint(&mut self, thread: Pid) -> io::Result<bool> {
        let Some(process) = self.threads.get(&thread) else { return Ok(false) };
        let Some(watchpoints) = self.watchpoints.get(process) else { return Ok(false) };
        let hits = watchpoints.take_hits(thread)?;
        if hits.is_empty() {
            return Ok(false);
        }
        if let Some(place) = self.place_of(thread) {
            for hit in hits {
                let places = self.accesses.entry(hit).or_default();
                places.entry(place.clone()).or_default().insert(thread.as_raw());
            }
        }
        let stops = self.watch_hits.entry(thread).or_default();
        *stops += 1;
        if *stops >= MOST_WATCH_HITS {
            Watchpoints::clear(thread)?;
        }
        tracee::go_on(thread, NO_SIGNAL)?;
        Ok(true)
    }

    /// Stacks of the threads of a process that is about to end.
    fn read_stacks(&self, process: Pid, stopped: Option<Pid>) -> Vec<ThreadStack> {
        let space = self.spaces.get(&process);
        stacks::read(process, stopped, |address| space.map_or(address, |space| space.original(address)))
    }

    /// Writes the requested core, of the first process if there are several.
    fn write_core(&mut self, crash: Crash) {
        let Some(path) = self.request.core.filter(|_| self.core.is_none()) else { return };
        let space = self.spaces.get(&crash.process);
        let original = |address| space.map_or(address, |space| space.original(address));
        self.core = Some(core_file::write(path, crash, original).map_err(|error| error.to_string()));
    }

    fn place_of(&self, thread: Pid) -> Option<CodePlace> {
        let process = self.threads.get(&thread)?;
        let address = ptrace::getregs(thread).ok()?.rip;
        match self.spaces.get(process) {
            Some(space) => space.place(address),
            None => crate::code::CodeMap::read(*process).ok()?.place(address),
        }
    }
}

/// Whether the signal ends a program by a fault of its own.
fn ends_with_core(signal: i32) -> bool {
    let faults = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT, libc::SIGTRAP];
    faults.contains(&signal)
}

/// A thread that has ended meanwhile is no error: its end will be seen.
fn ignore_ended(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if is_ended(&error) => Ok(()),
        other => other,
    }
}

fn is_ended(error: &io::Error) -> bool {
    matches!(error.raw_os_error().map(Errno::from_raw), Some(Errno::ESRCH | Errno::ECHILD | Errno::EIO))
        || matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::WriteZero | io::ErrorKind::UnexpectedEof
        )
}
