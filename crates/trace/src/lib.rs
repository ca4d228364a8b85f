//! Traces one run of a command from inside the kernel and converts the kernel's records into
//! events.
//!
//! [`Tracer::open`] checks the abilities of this machine and prepares the trace. The caller calls
//! [`Tracer::begin`] right before it starts the command, and [`Tracer::end`] right after the
//! command's main process ended. The sink receives the events during the run;
//! [`TraceFacts`] are returned at the end.
//!
//! Two sources exist: BPF programs at the kernel's tracepoints (`driver` over `bpf/`), and the
//! records of perf events for an ordinary user (`perf`). Both unwind user stacks with
//! `user_stacks`. This crate must not analyse, print, start the command, or depend on studies.

mod driver;
mod error;
mod lock_probes;
pub mod perf;
mod user_stacks;
mod wake;
mod wire;

use std::collections::{BTreeMap, HashMap};
use std::os::fd::OwnedFd;

use morecores_study::trace::{EventSink, TraceFacts, TraceSource, UntracedFact};
use morecores_study::{Bytes, CpuSet, Nanos};
use tracing::{debug, info};

pub use driver::libbpf_version;
pub use error::TraceError;
pub use lock_probes::LockProbe;

use driver::BpfTracer;
use perf::PerfTracer;

/// Time between two samples of a CPU, for 197 Hz: below 200, and prime, so that samples drift past
/// events that occur 100, 250 or 1,000 times a second.
pub(crate) const SAMPLE_PERIOD: Nanos = Nanos(1_000_000_000 / 197);

/// Settings of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// CPUs allotted to the run.
    pub allotted: CpuSet,
    /// Whether to record every system call too.
    pub syscalls: bool,
    /// Probes at which every hold of a lock is counted; none for no such account.
    pub lock_probes: Vec<LockProbe>,
    /// Memory for the buffers of all CPUs together. The default is up to 8 MiB for each CPU and 256
    /// MiB in all.
    pub buffers: Option<Bytes>,
    /// Memory for the stacks of all CPUs together. The default is up to 4 MiB for each CPU and 128
    /// MiB in all. A trace has no stacks if the kernel refuses this memory.
    pub stack_buffers: Option<Bytes>,
    /// User and group of whose processes stacks are recorded; all for none. By default those of the
    /// tracer's own process, and all if it is root's.
    pub stack_owner: Option<StackOwner>,
    /// Whether to count how often the kernel's preempt_count gives the right context. The count
    /// covers the places where the context is known by other means.
    pub check_contexts: bool,
}

impl Options {
    /// The default settings for a run on these CPUs.
    pub fn new(allotted: CpuSet) -> Self {
        Self {
            allotted,
            syscalls: false,
            lock_probes: Vec::new(),
            buffers: None,
            stack_buffers: None,
            stack_owner: StackOwner::of_this_process(),
            check_contexts: false,
        }
    }
}

/// User and group of whose processes stacks are recorded. A trace with the privilege to load
/// programs can read the memory of any process, and its user may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackOwner {
    /// Number of the user in the first user namespace.
    pub user: u32,
    /// Number of the group there.
    pub group: u32,
}

impl StackOwner {
    /// Owner of this process; `None` for root, who may read any process.
    pub fn of_this_process() -> Option<Self> {
        let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        (user != 0).then_some(Self { user, group })
    }
}

/// Numbers of checks in which preempt_count gave the known context of a program, and in which it
/// gave another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextChecks {
    /// Checks in a thread's own context: right, wrong.
    pub thread: [u64; 2],
    /// Checks in a soft interrupt: right, wrong.
    pub soft_interrupt: [u64; 2],
    /// Checks in a hard interrupt: right, wrong.
    pub interrupt: [u64; 2],
}

/// A tracer, prepared or running.
#[derive(Debug)]
pub struct Tracer {
    source: Source,
    /// Wake-up latency of an idle CPU, for the facts of every trace.
    wake_latency: Option<Nanos>,
}

#[derive(Debug)]
enum Source {
    Bpf(Box<BpfTracer>),
    Perf(Box<PerfSource>),
}

/// Perf events as the source of a trace.
#[derive(Debug)]
struct PerfSource {
    tracer: PerfTracer,
    /// Reason why BPF programs are not used.
    refusal: TraceError,
    /// Files of other mount namespaces in the last trace, by the number of their module.
    located: HashMap<u32, OwnedFd>,
}

impl Tracer {
    /// Prepares the trace: loads the programs, allocates the buffers, and measures the wake-up
    /// latency of this machine. Nothing is traced yet. The tracer falls back to perf events if the
    /// kernel refuses BPF programs. It does not fall back if the options ask for system calls
    /// or for all holds of locks, which perf events do not record here.
    ///
    /// # Errors
    /// Fails if this machine does not permit tracing; the message names the reason and the remedy.
    pub fn open(options: &Options) -> Result<Self, TraceError> {
        let source = Source::open(options)?;
        let wake_latency = wake::wake_latency();
        debug!("wake-up of an idle CPU: {wake_latency:?}");
        Ok(Self { source, wake_latency })
    }

    /// Reason why BPF programs are not the source; none if they are.
    pub fn bpf_refusal(&self) -> Option<&TraceError> {
        match &self.source {
            Source::Bpf(_) => None,
            Source::Perf(source) => Some(&source.refusal),
        }
    }

    /// Results of the checks that [`Options::check_contexts`] requests, since the tracer was
    /// opened.
    pub fn context_checks(&self) -> ContextChecks {
        match &self.source {
            Source::Bpf(tracer) => tracer.context_checks(),
            Source::Perf(..) => ContextChecks::default(),
        }
    }

    /// Begins the trace. The caller must call it on the thread that starts the command, right
    /// before the start: the tracer takes that thread's next child for the command.
    ///
    /// # Errors
    /// Fails if the programs cannot be attached; no program stays attached in this case.
    pub fn begin(&mut self, sink: EventSink) -> Result<(), TraceError> {
        match &mut self.source {
            Source::Bpf(tracer) => tracer.begin(sink),
            Source::Perf(source) => Ok(source.tracer.begin(sink)?),
        }
    }

    /// Ends the trace and returns the facts about it. The caller must call it on the thread that
    /// began the trace, right after the main process ended.
    ///
    /// # Errors
    /// Fails if the events could not be stored.
    pub fn end(&mut self) -> Result<TraceFacts, TraceError> {
        let facts = match &mut self.source {
            Source::Bpf(tracer) => tracer.end(),
            Source::Perf(source) => source.end(),
        }?;
        Ok(TraceFacts { wake_latency_ns: self.wake_latency, ..facts })
    }

    /// Files of the last trace in other mount namespaces than this process's, by the number of
    /// their module in [`TraceFacts::modules`]. They were located while their processes lived.
    pub fn take_located_files(&mut self) -> HashMap<u32, OwnedFd> {
        match &mut self.source {
            Source::Bpf(tracer) => tracer.take_located_files(),
            Source::Perf(source) => std::mem::take(&mut source.located),
        }
    }
}

impl Source {
    fn open(options: &Options) -> Result<Self, TraceError> {
        let refused = match BpfTracer::open(options) {
            Ok(tracer) => {
                info!("traces come from BPF programs");
                return Ok(Self::Bpf(Box::new(tracer)));
            }
            Err(refused) => refused,
        };
        info!("no BPF programs: {refused}");
        if options.syscalls || !options.lock_probes.is_empty() {
            return Err(refused);
        }
        match PerfTracer::open(&options.allotted) {
            Ok(tracer) => {
                info!("traces come from perf events");
                Ok(Self::Perf(Box::new(PerfSource { tracer, refusal: refused, located: HashMap::new() })))
            }
            Err(perf) => {
                info!("no perf events: {perf}");
                Err(TraceError::NoSource { bpf: Box::new(refused), perf })
            }
        }
    }
}

impl PerfSource {
    fn end(&mut self) -> Result<TraceFacts, TraceError> {
        let summary = self.tracer.end()?;
        self.located = summary.located;
        let mut untraced = summary.untraced;
        let why = self.refusal.to_string();
        untraced.insert(0, UntracedFact { what: "BPF programs".to_owned(), why });
        Ok(TraceFacts {
            source: TraceSource::Perf,
            root: summary.root.ok_or(TraceError::NoRoot)?,
            known: Vec::new(),
            events: summary.events,
            lost: summary.lost,
            missed: 0,
            tracer: summary.tracer,
            costs: Vec::new(),
            sample_period_ns: summary.sample_period,
            tick_ns: morecores_machine::clock::kernel_tick(),
            interrupts_accounted: false,
            held_is_told: false,
            wake_latency_ns: None,
            stack_share: None,
            stacks: BTreeMap::new(),
            modules: summary.modules,
            functions: Vec::new(),
            source_map: Default::default(),
            generated: Vec::new(),
            variables: Vec::new(),
            lock_uses: None,
            interrupts: BTreeMap::new(),
            untraced,
        })
    }
}
