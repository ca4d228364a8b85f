//! Watches one run of a command from inside the kernel and turns what happens into events.
//!
//! [`Tracer::open`] finds out what this machine allows and gets everything ready; [`Tracer::begin`] is called right
//! before the command is started and [`Tracer::end`] right after its main process ended. The events go to a sink while
//! the run goes on; what stands beside them comes back at the end.
//!
//! Two sources: BPF programs at the kernel's tracepoints (`driver` over `bpf/`), and the context-switch records of perf
//! events for an ordinary user (`perf`). This crate must not analyse, print, start the command, or know what a study is.

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

pub use error::TraceError;
pub use wake::wake_latency;

use driver::BpfTracer;
use perf::{PerfRecorded, PerfTracer};

/// Takes the events of one CPU, in the order in which they were recorded. Called on a thread of the tracer's while the
/// command runs, so it must be quick; an error ends the trace.
pub type Sink = Box<dyn FnMut(CpuId, &[Event]) -> io::Result<()> + Send>;

/// What is to be traced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The CPUs that the run is allotted.
    pub allotted: CpuSet,
    /// Whether to record every system call too.
    pub syscalls: bool,
    /// Memory for the buffers of all CPUs together; by default up to 8 MiB for each CPU and 256 MiB in all.
    pub buffers: Option<Bytes>,
    /// Whether to count how often the kernel's preempt_count tells the context where that is known otherwise.
    pub check_contexts: bool,
}

impl Options {
    /// The default trace of a run on these CPUs.
    pub fn new(allotted: CpuSet) -> Self {
        Self { allotted, syscalls: false, buffers: None, check_contexts: false }
    }
}

/// How often preempt_count told the context that a program knew to be in, and how often another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextChecks {
    /// In a thread's own time: right, wrong.
    pub thread: [u64; 2],
    /// In a soft interrupt.
    pub soft_interrupt: [u64; 2],
    /// In a hard interrupt.
    pub interrupt: [u64; 2],
}

/// What stands beside the events of a trace; the fields are those of [`TraceHeader`](morecores_study::trace::TraceHeader).
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "described at TraceHeader")]
pub struct Recorded {
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

/// A tracer, ready or at work.
#[derive(Debug)]
pub struct Tracer(Source);

#[derive(Debug)]
enum Source {
    Bpf(Box<BpfTracer>),
    /// And why it is not the other.
    Perf(PerfTracer, TraceError),
}

impl Tracer {
    /// Gets everything ready that can be: loads the programs and makes the buffers. Nothing is watched yet. Where BPF
    /// programs are refused, perf events are tried, unless system calls are asked for, of which they tell nothing.
    ///
    /// # Errors
    /// Where this machine does not let itself be traced; the message says why and what would change that.
    pub fn open(options: &Options) -> Result<Self, TraceError> {
        let refused = match BpfTracer::open(options) {
            Ok(tracer) => return Ok(Self(Source::Bpf(Box::new(tracer)))),
            Err(refused) if options.syscalls => return Err(refused),
            Err(refused) => refused,
        };
        match PerfTracer::open(&options.allotted) {
            Ok(tracer) => Ok(Self(Source::Perf(tracer, refused))),
            Err(perf) => Err(TraceError::Neither { bpf: Box::new(refused), perf }),
        }
    }

    /// What will tell the events.
    pub fn source(&self) -> TraceSource {
        match &self.0 {
            Source::Bpf(tracer) => tracer.source(),
            Source::Perf(..) => TraceSource::Perf,
        }
    }

    /// Why it is not BPF programs that tell them, where it is not.
    pub fn without_bpf(&self) -> Option<&TraceError> {
        match &self.0 {
            Source::Bpf(_) => None,
            Source::Perf(_, refused) => Some(refused),
        }
    }

    /// The checks that [`Options::check_contexts`] asked for, since the tracer was opened.
    pub fn context_checks(&self) -> ContextChecks {
        match &self.0 {
            Source::Bpf(tracer) => tracer.context_checks(),
            Source::Perf(..) => ContextChecks::default(),
        }
    }

    /// Begins to watch. To be called on the thread that starts the command, right before it does: its next child is
    /// taken for the command.
    ///
    /// # Errors
    /// Where the programs cannot be attached; nothing is left attached then.
    pub fn begin(&mut self, sink: Sink) -> Result<(), TraceError> {
        match &mut self.0 {
            Source::Bpf(tracer) => tracer.begin(sink),
            Source::Perf(tracer, _) => Ok(tracer.begin(sink)?),
        }
    }

    /// Ends the watch and gives what stands beside the events. On the same thread, right after the main process ended.
    ///
    /// # Errors
    /// Where the events could not be kept.
    pub fn end(&mut self) -> Result<Recorded, TraceError> {
        match &mut self.0 {
            Source::Bpf(tracer) => tracer.end(),
            Source::Perf(tracer, refused) => Recorded::by_perf(tracer.end()?, refused),
        }
    }
}

impl Recorded {
    fn by_perf(recorded: PerfRecorded, refused: &TraceError) -> Result<Self, TraceError> {
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
            tick: driver::tick(),
            interrupts_accounted: false,
            held_is_told: false,
            stack_share: None,
            stacks: BTreeMap::new(),
            interrupts: BTreeMap::new(),
            untraced,
        })
    }
}
