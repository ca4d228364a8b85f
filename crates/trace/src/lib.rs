//! Traces one run of a command from inside the kernel and converts the kernel's records into
//! events.
//!
//! [`Tracer::open`] checks the abilities of this machine and prepares the trace. The caller calls
//! [`Tracer::begin`] right before it starts the command, and [`Tracer::end`] right after the
//! command's main process ended. The sink receives the events during the run; the header data is
//! returned at the end.
//!
//! Two sources exist: BPF programs at the kernel's tracepoints (`driver` over `bpf/`), and the
//! context-switch records of perf events for an ordinary user (`perf`). This crate must not
//! analyse, print, start the command, or depend on studies.

mod driver;
mod error;
pub mod perf;
mod wake;
mod wire;

use std::collections::BTreeMap;
use std::io;

use morecores_study::trace::{
    CpuLoss, Event, EventCost, KernelStack, KnownThread, Tid, TraceSource, Untraced,
};
use morecores_study::{Bytes, CpuId, CpuSet, Nanos};
use tracing::info;

pub use driver::libbpf_version;
pub use error::TraceError;
pub use wake::wake_latency;

use driver::BpfTracer;
use perf::{PerfSummary, PerfTracer};

/// Receiver of the events of one CPU, in the order of recording. The tracer calls it on a thread of
/// its own while the command runs, so it must be quick. An error ends the trace.
pub type Sink = Box<dyn FnMut(CpuId, &[Event]) -> io::Result<()> + Send>;

/// Settings of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// CPUs allotted to the run.
    pub allotted: CpuSet,
    /// Whether to record every system call too.
    pub syscalls: bool,
    /// Memory for the buffers of all CPUs together. The default is up to 8 MiB for each CPU and 256
    /// MiB in all.
    pub buffers: Option<Bytes>,
    /// Whether to count how often the kernel's preempt_count gives the right context. The count
    /// covers the places where the context is known by other means.
    pub check_contexts: bool,
}

impl Options {
    /// The default settings for a run on these CPUs.
    pub fn new(allotted: CpuSet) -> Self {
        Self { allotted, syscalls: false, buffers: None, check_contexts: false }
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

/// Header data of a trace. The fields are those of
/// [`TraceHeader`](morecores_study::trace::TraceHeader).
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "described at TraceHeader")]
pub struct TraceSummary {
    pub source: TraceSource,
    pub root: Tid,
    pub known: Vec<KnownThread>,
    pub events: u64,
    pub lost: Vec<CpuLoss>,
    pub missed: u64,
    pub tracer: Vec<Tid>,
    pub costs: Vec<EventCost>,
    pub sample_period: Option<Nanos>,
    pub tick: Nanos,
    pub interrupts_accounted: bool,
    pub held_is_told: bool,
    pub stack_share: Option<u32>,
    pub stacks: BTreeMap<u32, KernelStack>,
    pub interrupts: BTreeMap<u32, String>,
    pub untraced: Vec<Untraced>,
}

/// A tracer, prepared or running.
#[derive(Debug)]
pub struct Tracer(Source);

#[derive(Debug)]
enum Source {
    Bpf(Box<BpfTracer>),
    /// Perf events, and the reason why BPF programs are not used.
    Perf(PerfTracer, TraceError),
}

impl Tracer {
    /// Prepares the trace: loads the programs and allocates the buffers. Nothing is traced yet. The
    /// tracer falls back to perf events if the kernel refuses BPF programs. It does not fall back
    /// if the options ask for system calls, which perf events do not record here.
    ///
    /// # Errors
    /// Fails if this machine does not permit tracing; the message names the reason and the remedy.
    pub fn open(options: &Options) -> Result<Self, TraceError> {
        let refused = match BpfTracer::open(options) {
            Ok(tracer) => {
                info!("traces come from BPF programs");
                return Ok(Self(Source::Bpf(Box::new(tracer))));
            }
            Err(refused) => refused,
        };
        info!("no BPF programs: {refused}");
        if options.syscalls {
            return Err(refused);
        }
        match PerfTracer::open(&options.allotted) {
            Ok(tracer) => {
                info!("traces come from the context switches of perf events");
                Ok(Self(Source::Perf(tracer, refused)))
            }
            Err(perf) => {
                info!("no perf events: {perf}");
                Err(TraceError::NoSource { bpf: Box::new(refused), perf })
            }
        }
    }

    /// Source of the events.
    pub fn source(&self) -> TraceSource {
        match &self.0 {
            Source::Bpf(tracer) => tracer.source(),
            Source::Perf(..) => TraceSource::Perf,
        }
    }

    /// Reason why BPF programs are not the source; none if they are.
    pub fn bpf_refusal(&self) -> Option<&TraceError> {
        match &self.0 {
            Source::Bpf(_) => None,
            Source::Perf(_, refused) => Some(refused),
        }
    }

    /// Results of the checks that [`Options::check_contexts`] requests, since the tracer was
    /// opened.
    pub fn context_checks(&self) -> ContextChecks {
        match &self.0 {
            Source::Bpf(tracer) => tracer.context_checks(),
            Source::Perf(..) => ContextChecks::default(),
        }
    }

    /// Begins the trace. The caller must call it on the thread that starts the command, right
    /// before the start: the tracer takes that thread's next child for the command.
    ///
    /// # Errors
    /// Fails if the programs cannot be attached; no program stays attached in this case.
    pub fn begin(&mut self, sink: Sink) -> Result<(), TraceError> {
        match &mut self.0 {
            Source::Bpf(tracer) => tracer.begin(sink),
            Source::Perf(tracer, _) => Ok(tracer.begin(sink)?),
        }
    }

    /// Ends the trace and returns its header data. The caller must call it on the thread that began
    /// the trace, right after the main process ended.
    ///
    /// # Errors
    /// Fails if the events could not be stored.
    pub fn end(&mut self) -> Result<TraceSummary, TraceError> {
        match &mut self.0 {
            Source::Bpf(tracer) => tracer.end(),
            Source::Perf(tracer, refused) => TraceSummary::from_perf(tracer.end()?, refused),
        }
    }
}

impl TraceSummary {
    fn from_perf(recorded: PerfSummary, refused: &TraceError) -> Result<Self, TraceError> {
        let mut untraced = recorded.untraced;
        untraced.insert(0, Untraced { what: "BPF programs".to_owned(), why: refused.to_string() });
        Ok(Self {
            source: TraceSource::Perf,
            root: recorded.root.ok_or(TraceError::NoRoot)?,
            known: Vec::new(),
            events: recorded.events,
            lost: recorded.lost,
            missed: 0,
            tracer: recorded.tracer,
            costs: Vec::new(),
            sample_period: None,
            tick: morecores_machine::clock::kernel_tick(),
            interrupts_accounted: false,
            held_is_told: false,
            stack_share: None,
            stacks: BTreeMap::new(),
            interrupts: BTreeMap::new(),
            untraced,
        })
    }
}
