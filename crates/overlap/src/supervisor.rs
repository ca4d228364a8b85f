//! The supervisor: one loop that answers the calls of the build, starts and ends the deferred
//! commands, and settles them in the serial order.
//!
//! Deciding about a call is in `decision`, deferring a command in `deferral`, and the end of a
//! driver in `exit`. The way back after a failure is in `rollback`, and the end by a signal in
//! `ending`. The view of used files is in `observation`. Nothing here prints but the text of the
//! build itself.

mod decision;
mod deferral;
mod ending;
mod exit;
mod observation;
mod rollback;
mod serial_steps;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use decision::Decision;
use exit::EarlyExit;
use observation::{Observation, Place};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use serial_steps::SerialSteps;

use crate::disk::{changed_since, link_target, set_time};
use crate::effects::{Origin, State};
use crate::execution::{Deferred, Ended, FileUses, Running};
use crate::jobs::{JobId, Jobs, Order, Progress, PromisedOutput, Timestamp};
use crate::listener::{Answer, Listener, Notification};
use crate::output::Output;
use crate::process::{Process, Status};
use crate::record::{CommandResult, Record, Wait, WaitReason};
use crate::tracee::{Copy, Tracee};
use crate::{HazardSearch, Options, Schedule};

/// Numbers of CPUs of an estimate.
const ESTIMATED_CPUS: [usize; 3] = [2, 4, 8];

/// The first process of the build with the filter on it, before the command is executed.
pub(crate) struct Build {
    pub(crate) root: Child,
    pub(crate) listener: Listener,
    pub(crate) output: Output,
}

/// End of the build.
#[derive(Debug)]
pub(crate) enum End {
    /// The command ended by itself.
    Status(ExitStatus),
    /// A signal ended morecores-overlap.
    Signal(i32),
}

/// A call that waits for its answer.
#[derive(Debug)]
struct Held {
    call: Notification,
    since: Instant,
    reason: WaitReason,
    /// Name of the program that calls.
    program: String,
    /// Commands that were pending when it began to wait.
    jobs: usize,
}

/// The state of a driver that waits for a child, to go back to if the child does not end as the
/// driver was told.
#[derive(Debug)]
struct Checkpoint {
    /// The driver.
    driver: Process,
    /// The child: the process that was to execute a deferred command, or a driver itself.
    child: Process,
    /// Stopped copy of the driver.
    copy: Copy,
    /// Positions in the driver's regular files, which the copy shares.
    positions: Vec<(i32, u64)>,
    /// `None` if nobody asked for hazards.
    place: Option<Place>,
}

/// Processes for which a driver's copy goes on.
#[derive(Debug, Default)]
struct Replaced {
    /// Stopped processes. The first has the number that the parent knows, and ends with the copy's
    /// status if the parent still waits for it.
    stopped: Vec<Tracee>,
    /// The parent if it was told of an end already. Its copy gets the true status.
    parent: Option<Box<(Checkpoint, Replaced)>>,
}

/// A process that has made a call.
#[derive(Debug)]
struct Caller {
    /// Address behind the `syscall` of its last call.
    instruction: u64,
    /// Time from the start of the build to its first call.
    first_call: Duration,
}

/// A driver's copy that goes on after a failure.
#[derive(Debug)]
struct Successor {
    replaced: Replaced,
    /// Descriptor that becomes readable at its end.
    descriptor: OwnedFd,
    /// The child and the status that its next `wait4` returns.
    answer: Option<(Process, i32)>,
}

pub(crate) struct Supervisor {
    build: Build,
    max_running: usize,
    /// Facts of this process, which those of deferred commands must equal.
    own_status: Status,
    own_namespaces: [Option<PathBuf>; 4],
    /// Names in `/proc` of the files that the build inherited.
    inherited: BTreeSet<PathBuf>,
    /// Folder for outputs of before.
    folder: tempfile::TempDir,
    jobs: Jobs,
    waiting: BTreeMap<JobId, Deferred>,
    running: BTreeMap<JobId, Running>,
    ended: BTreeMap<JobId, Ended>,
    checkpoints: BTreeMap<JobId, Checkpoint>,
    early_exits: Vec<EarlyExit>,
    successors: HashMap<Process, Successor>,
    held: Vec<Held>,
    /// Calls of running jobs that wait for an earlier job.
    held_in_jobs: Vec<(JobId, Notification)>,
    /// Processes that have made a call.
    callers: HashMap<Process, Caller>,
    /// Stopped and ended copies of drivers.
    copies: BTreeSet<Process>,
    /// Each driver's copies that have ended and are not yet waited for.
    ended_copies: HashMap<Process, Vec<Process>>,
    /// Processes whose command cannot be deferred, because their driver could not be copied.
    uncopied: BTreeSet<Process>,
    /// Directories and temporary files that the drivers made while jobs were pending.
    made: Vec<(JobId, PathBuf)>,
    /// Whether a process with the filter is left.
    has_callers: bool,
    /// Reason for which nothing is deferred any more.
    passed_through: Option<&'static str>,
    /// Signal by which the build ends before its time.
    ending: Option<Signal>,
    /// `None` if nobody asked for hazards.
    observation: Option<Observation>,
    /// `None` if commands run beside the build.
    series: Option<SerialSteps>,
    started: Instant,
    record: Record,
}

impl Supervisor {
    pub(crate) fn new(build: Build, options: Options, signals: &UnixStream) -> io::Result<Self> {
        let own = Process(std::process::id() as i32);
        let root = Process(build.root.id() as i32);
        let inherited = root.descriptors().into_iter().filter_map(|number| root.descriptor(number)).collect();
        let directory = root.directory().unwrap_or_default();
        let observation = match options.hazards {
            HazardSearch::Disabled => None,
            HazardSearch::Enabled => Some(Observation::new(directory.clone(), signals.try_clone()?)?),
        };
        Ok(Self {
            build,
            max_running: options.schedule.jobs(),
            inherited,
            own_status: own.status().ok_or(io::ErrorKind::Unsupported)?,
            own_namespaces: own.namespaces(),
            folder: tempfile::Builder::new().prefix("morecores-overlap-").tempdir()?,
            jobs: Jobs::default(),
            waiting: BTreeMap::new(),
            running: BTreeMap::new(),
            ended: BTreeMap::new(),
            checkpoints: BTreeMap::new(),
            early_exits: Vec::new(),
            successors: HashMap::new(),
            held: Vec::new(),
            held_in_jobs: Vec::new(),
            callers: HashMap::new(),
            copies: BTreeSet::new(),
            ended_copies: HashMap::new(),
            uncopied: BTreeSet::new(),
            made: Vec::new(),
            has_callers: true,
            passed_through: None,
            ending: None,
            observation,
            series: (options.schedule == Schedule::Series).then(SerialSteps::default),
            started: Instant::now(),
            record: Record { directory, ..Record::default() },
        })
    }

    /// Runs the build to its end.
    ///
    /// # Errors
    /// A deferred command cannot be started or put back. The build is then killed.
    pub(crate) fn run(mut self, signals: &UnixStream) -> io::Result<(End, Record, Listener)> {
        let result = self.serve(signals);
        if !matches!(result, Ok(End::Status(_))) {
            self.end_everything(match &result {
                Ok(End::Signal(signal)) => Signal::from_named_raw(*signal),
                _ => None,
            });
        }
        self.record.elapsed = self.started.elapsed();
        self.record.cpu_time = cpu_time();
        self.record.passed_through = self.passed_through;
        let series = self.series.take().filter(|_| self.passed_through.is_none());
        let run = series.map(|series| series.finish(self.record.elapsed));
        self.record.estimates = run.map(|run| ESTIMATED_CPUS.map(|cpus| run.estimate(cpus)).to_vec());
        // A parallel build has no serial order.
        let observation = self.observation.as_ref().filter(|_| self.passed_through.is_none());
        self.record.hazards = observation.map(Observation::hazards);
        Ok((result?, self.record, self.build.listener))
    }

    fn serve(&mut self, signals: &UnixStream) -> io::Result<End> {
        let root = pidfd_open(Pid::from_child(&self.build.root), PidfdFlags::empty())?;
        loop {
            let ready = self.wait_for_event(signals, &root)?;
            if ready.signal {
                let mut number = [0];
                rustix::io::read(signals, &mut number)?;
                return Ok(End::Signal(i32::from(number[0])));
            }
            if ready.text {
                self.build.output.drain()?;
            }
            let may_start = !ready.jobs.is_empty() || !ready.observed.is_empty();
            for job in ready.jobs {
                self.end_job(job)?;
            }
            for process in ready.successors {
                self.end_killed_successor(process)?;
            }
            for job in ready.observed {
                self.observe_job(job);
            }
            if may_start {
                self.start_ready()?;
            }
            if ready.call
                && let Some(call) = self.build.listener.receive()
            {
                self.handle(call)?;
            }
            if ready.root && self.jobs.is_empty() {
                self.build.output.drain()?;
                return Ok(End::Status(self.build.root.wait()?));
            }
        }
    }

    fn wait_for_event(&mut self, signals: &UnixStream, root: &OwnedFd) -> io::Result<Ready> {
        // The end of the first driver counts once its commands have ended.
        let last = if self.jobs.is_empty() { root.as_fd() } else { signals.as_fd() };
        // A listener without callers is always ready.
        // In series no shown call of the build goes on beside a command.
        let is_paused = self.series.is_some() && !self.running.is_empty();
        let listener =
            if self.has_callers && !is_paused { self.build.listener.as_fd() } else { signals.as_fd() };
        let mut watched: Vec<BorrowedFd> = vec![signals.as_fd(), last, listener];
        watched.extend(self.running.values().map(Running::descriptor));
        watched.extend(self.successors.values().map(|successor| successor.descriptor.as_fd()));
        watched.extend(self.build.output.readers());
        watched.extend(self.running.values().filter_map(Running::listener).map(AsFd::as_fd));
        let mut polled: Vec<PollFd> =
            watched.iter().map(|descriptor| PollFd::from_borrowed_fd(*descriptor, PollFlags::IN)).collect();
        match poll(&mut polled, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let call = polled[2].revents();
        let has_callers = self.has_callers && !call.contains(PollFlags::HUP);
        // The end of a pipe is ready too.
        let mut is_ready = polled.iter().map(|polled| !polled.revents().is_empty());
        let mut next = || is_ready.next().unwrap_or(false);
        let (signal, root, _) = (next(), next(), next());
        let call = call.contains(PollFlags::IN);
        let jobs = self.running.keys().copied().filter(|_| next()).collect();
        let successors = self.successors.keys().copied().filter(|_| next()).collect();
        let text = (0..self.build.output.readers().count()).fold(false, |any, _| next() | any);
        let observers = self.running.iter().filter(|(_, running)| running.listener().is_some());
        let observed = observers.map(|(id, _)| *id).filter(|_| next()).collect();
        self.has_callers = has_callers;
        Ok(Ready { signal, root, call, jobs, successors, text, observed })
    }

    /// Order in which jobs start at present.
    fn order(&self) -> Order {
        let awaited = self.held.iter().map(|held| self.awaited(&held.reason));
        let jobs: BTreeSet<JobId> = awaited.flatten().collect();
        if jobs.is_empty() { Order::Serial } else { Order::Awaited { jobs, at_once: self.max_running } }
    }

    /// The jobs that must end before a held call can go on.
    fn awaited(&self, reason: &WaitReason) -> BTreeSet<JobId> {
        use WaitReason::{Connection, Directory, Exit, File, Input, Limit, Makefile, Signal, Write};
        match reason {
            Connection | Exit | Input | Makefile | Signal | Write(_) => self.jobs.all(),
            File(path) => self.jobs.with_predecessors(self.pending(path, true).map(|pending| pending.job)),
            Directory(directory) => self.jobs.with_predecessors(self.jobs.pending_in(directory)),
            // The first job, with which the serial order begins.
            Limit => BTreeSet::new(),
        }
    }

    fn start_ready(&mut self) -> io::Result<()> {
        while self.running.len() - self.blocked_jobs() < self.max_running
            && let Some(id) = self.jobs.next_ready(&self.order())
            && let Some(deferred) = self.waiting.remove(&id)
        {
            let outputs: Vec<PathBuf> = self.jobs.outputs(id).into_iter().map(|output| output.path).collect();
            let is_shown = self.observation.is_some()
                || self.jobs.may_find_pending(id)
                || self.series.as_ref().is_some_and(SerialSteps::last_may_find);
            let uses = if is_shown { FileUses::Shown } else { FileUses::Hidden };
            self.running.insert(id, deferred.start(&outputs, self.folder.path(), uses)?);
            self.record.commands[id.0].started = Some(self.started.elapsed());
            self.jobs.set_progress(id, Progress::Running);
        }
        Ok(())
    }

    fn end_job(&mut self, id: JobId) -> io::Result<()> {
        let Some(running) = self.running.remove(&id) else { return Ok(()) };
        let ended = running.wait()?;
        let outputs = self.jobs.outputs(id);
        let keeps_promises = || outputs.iter().all(|output| is_as_told(output, ended.start_time));
        let progress = if ended.status.success() && keeps_promises() {
            for output in &outputs {
                // The time of a directory is that of its last change, and a removed file has none.
                if !matches!(output.after, State::Directory { .. } | State::Absent) {
                    set_time(&output.path, ended.start_time, output.time)?;
                }
            }
            Progress::Succeeded
        } else {
            Progress::Failed
        };
        self.jobs.set_progress(id, progress);
        self.ended.insert(id, ended);
        self.note_end(id, progress);
        // To settle takes a while, in which the CPU would have no command.
        if progress == Progress::Succeeded {
            self.start_ready()?;
        }
        self.settle()?;
        self.reconsider()
    }

    fn note_end(&mut self, id: JobId, progress: Progress) {
        let now = self.started.elapsed();
        let commands = &mut self.record.commands;
        commands[id.0].ended = Some(now);
        commands[id.0].result = match progress {
            Progress::Failed => CommandResult::Failed,
            _ => CommandResult::Succeeded,
        };
        let elapsed = now.saturating_sub(commands[id.0].started.unwrap_or(now));
        if let Some(series) = &mut self.series {
            series.end_command(elapsed);
        }
        for later in commands[id.0..].iter_mut().filter(|later| later.after.contains(&id.0)) {
            later.ready = now;
        }
    }

    /// Receives a call of a running job.
    fn observe_job(&mut self, id: JobId) {
        if let Some(call) = self.running.get(&id).and_then(Running::listener).and_then(Listener::receive) {
            self.decide_in_job(id, call);
        }
    }

    /// Lets a call of a running job go on, or holds it.
    fn decide_in_job(&mut self, id: JobId, call: Notification) {
        let Some(listener) = self.running.get(&id).and_then(Running::listener) else { return };
        if !listener.is_valid(&call) {
            return;
        }
        if self.must_wait_in_job(id, &call) {
            self.held_in_jobs.push((id, call));
            return;
        }
        if let Some(observation) = &mut self.observation {
            observation.observe_job(id, &call);
        }
        if let Some(series) = &mut self.series {
            series.observe_last(&call);
        }
        listener.answer(&call, Answer::Continue);
    }

    /// Number of running jobs of which a call waits: others may run in their places, so that what
    /// they wait for can end.
    fn blocked_jobs(&self) -> usize {
        let held = self.held_in_jobs.iter().map(|(id, _)| id);
        held.filter(|id| self.running.contains_key(id)).collect::<BTreeSet<_>>().len()
    }

    /// Settles the jobs at the front of the serial order that have ended.
    fn settle(&mut self) -> io::Result<()> {
        while let Some((id, progress)) = self.jobs.first() {
            match progress {
                Progress::Waiting | Progress::Running => return Ok(()),
                Progress::Succeeded => {
                    self.jobs.settle(id);
                    if let Some(checkpoint) = self.checkpoints.remove(&id) {
                        self.discard_checkpoint(checkpoint);
                    }
                    self.discard_exits(|last| last == id);
                    if let Some(ended) = self.ended.remove(&id) {
                        self.build.output.finish(id, ended.text)?;
                    }
                    self.made.retain(|(after, _)| *after > id);
                }
                Progress::Failed => self.roll_back(id)?,
            }
        }
        Ok(())
    }

    /// Decides again about the calls that wait.
    fn reconsider(&mut self) -> io::Result<()> {
        for (id, call) in std::mem::take(&mut self.held_in_jobs) {
            self.decide_in_job(id, call);
        }
        for held in std::mem::take(&mut self.held) {
            if self.build.listener.is_valid(&held.call) {
                self.decide_and_answer(held.call, Some(held))?;
            }
        }
        Ok(())
    }

    fn handle(&mut self, call: Notification) -> io::Result<()> {
        let instruction = call.instruction;
        let now = || Caller { instruction, first_call: self.started.elapsed() };
        self.callers.entry(Process(call.pid)).or_insert_with(now).instruction = instruction;
        self.record.calls += 1;
        self.decide_and_answer(call, None)
    }

    fn decide_and_answer(&mut self, call: Notification, held: Option<Held>) -> io::Result<()> {
        let decision = self.decide(&call)?;
        let now = Instant::now();
        match decision {
            Decision::Hold(reason) => {
                let held = held.unwrap_or_else(|| Held {
                    call,
                    since: now,
                    reason,
                    program: Process(call.pid).name(),
                    jobs: self.jobs.unfinished_count(),
                });
                self.held.push(held);
                return Ok(());
            }
            Decision::Answer(answer) => {
                if let (Some(observation), Answer::Continue) = (&mut self.observation, answer) {
                    observation.observe(&call);
                }
                self.build.listener.answer(&call, answer);
            }
            Decision::Deferred | Decision::Repeated => {}
        }
        if let Some(held) = held {
            self.record.waits.push(Wait {
                program: held.program,
                reason: held.reason,
                begin: held.since - self.started,
                elapsed: now - held.since,
                commands: held.jobs,
            });
        }
        Ok(())
    }

    /// Address behind a `syscall` in the code of a process.
    fn instruction(&self, process: Process) -> Option<u64> {
        self.callers.get(&process).map(|caller| caller.instruction)
    }

    /// The processes of the build: those below the first driver, and copies that go on elsewhere
    /// after the end of their driver.
    fn processes(&self) -> Vec<Process> {
        let root = Process(self.build.root.id() as i32);
        let tops = [root].into_iter().chain(self.successors.keys().copied());
        tops.flat_map(|top| top.descendants().into_iter().chain([top])).collect()
    }
}

/// Sources of events that are ready after a wait.
struct Ready {
    signal: bool,
    root: bool,
    call: bool,
    text: bool,
    jobs: Vec<JobId>,
    successors: Vec<Process>,
    /// Deferred commands that show a use of a file.
    observed: Vec<JobId>,
}

/// User and system time of this process and of all children that have been waited for.
fn cpu_time() -> Duration {
    let stat = procfs::process::Process::myself().and_then(|process| process.stat());
    let ticks = stat.map_or(0, |stat| stat.utime + stat.stime + (stat.cutime + stat.cstime) as u64);
    Duration::from_secs_f64(ticks as f64 / procfs::ticks_per_second() as f64)
}

/// Whether an output is as make was told, if it was told anything.
fn is_as_told(output: &PromisedOutput, start_time: Timestamp) -> bool {
    let changed = changed_since(&output.path, start_time);
    match (&output.origin, output.after) {
        _ if !output.is_told => true,
        (Origin::Link(target), _) => link_target(&output.path).as_ref() == Some(target),
        (_, State::Absent) => changed.is_none(),
        (Origin::Moved(_), _) => changed.is_some(),
        (Origin::Command, _) => changed == Some(true),
    }
}
