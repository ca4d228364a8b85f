//! The nouns of morecores: what is measured, on what, and the directory that keeps it.
//!
//! Everything here is plain data that other crates fill in or compute from. This crate must not measure,
//! decide, compute statistics or print; its only system calls are those that keep a study, and the events of its
//! traces, on a disk.

// Here because every other crate but the locks is built on this one: one line, and cargo goes no further.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!(
    "morecores supports Linux on x86-64 only; this target is another (README.md, \"What it runs on\")"
);

mod benchmark;
mod command;
mod cpu;
mod diagnosis;
mod host;
mod kept;
mod lock;
mod noise;
mod os_text;
mod page;
mod placement;
mod plan;
mod published;
mod run;
mod study;
mod suite;
mod topology;
mod trace;
mod units;
mod usable;
mod view;

pub use benchmark::{Benchmark, BenchmarkPart, Measure, WORK};
pub use command::{Command, substitute};
pub use cpu::{CpuId, CpuSet, ParseCpuSetError};
pub use diagnosis::{Area, DIAGNOSIS_SCHEMA, Diagnosis, Finding, Remedy, State, Subject};
pub use host::{Frequency, Host};
pub use kept::{Kept, Studied, StudyError, StudyState};
pub use lock::{
    ContestSample, LOCK_STUDY_SCHEMA, LockCell, LockClosing, LockHeader, LockName, LockPlan, LockRun,
    LockSample, LockStudy, LockStudyWriter, SpinTuning, Think, UnknownLock, Waits, Whose,
};
pub use noise::{Company, CpuNoise, Disturbance, LoopThread, MachineNoise, Noise, Stretch};
pub use page::{
    ListedStudy, PAGE_SCHEMA, Page, PageLocks, PageRun, PageStudy, PageTimeline, Picture, PictureOrder, Said,
    SaidBenchmark, SaidColumn, SaidComparison, SaidNotice, SaidSuite, SaidTable, StackPart,
};
pub use placement::{CpuKind, PlacedCpu, Placement};
pub use plan::{
    Better, Cache, DecimalMark, FurtherMetric, Hooks, InputContent, InputSource, Limit, Metric, Output, Plan,
    Point, Stop, TraceMode, Variable, holds_n, zero_alone,
};
pub use published::{Printed, Published, PublishedRow, PublishedSystem};
pub use run::{
    CpuEstimator, CpuTime, DeviceTime, Exit, Failure, Figure, MemoryKills, MissingFigure, Phase, Run, Rusage,
    Surroundings, TreeUsage,
};
pub use study::{
    Closing, DamagedTrace, Header, Neighbour, Quiet, STUDY_SCHEMA, StopReason, Study, StudyWriter,
    TraceWriter, read_trace_events, trace_events_path,
};
pub use suite::{MeasuredSpeedup, PublishedSpeedup, SuiteRow, SuiteSummary, SuiteVerdict};
pub use topology::{CacheKind, Core, CoreClass, CoreType, CpuCache, NumaNode, Package, Topology, Unread};
pub use trace::{
    Accounts, Call, Comm, Contention, CpuLoss, Decoded, Event, EventCost, EventFrame, EventKind, Exec, Fork,
    FutexWait, HeldBy, Interrupt, KernelFrame, KernelStack, KnownLock, KnownThread, LEAST_LINUX, Left,
    LockFlags, Need, Object, Sample, SampleMode, StreamError, StreamReader, StreamWriter, Switch, SystemCall,
    TRACE_SCHEMA, TRACEPOINTS, ThreadExit, Tid, TraceHeader, TraceSource, Tracepoint, Untraced, Waker,
    Waking, Work, read_events,
};
pub use units::{Bytes, Kilohertz, Nanos};
pub use usable::{CgroupLevel, Quota, Restriction, Usable};
pub use view::BehindLock;
pub use view::{
    Abstention, Aspect, BoundsView, COMPARISON_SCHEMA, Caveat, CommandView, Compared, ComparedPoint,
    ComparedSpeedup, ComparedStack, Comparison, Components, Contestant, CostModel, CostModelPoint, Culprit,
    Difference, Estimate, FailureCount, FigureView, FirstLimit, Gain, GainKind, GainPoint, Judged,
    LOCKS_VIEW_SCHEMA, LinePrice, LockAdvice, LockCosts, LockPoint, LockResult, LockSituation, LockView,
    LocksView, Losses, MetricView, Misfits, NOBODY, OutsideEvidence, Parallelism, PointView, PredictedPoint,
    Prediction, Prices, Resource, SerialAndParallel, SerialPhase, StackView, Summary, TraceView, Unlike,
    VIEW_SCHEMA, View, Warning, Workers,
};
