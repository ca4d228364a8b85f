//! Conditions that spoil, or may spoil, a measurement.
//!
//! This module holds types only; `derive` and `others` find the conditions, and `report` words
//! them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{OperationalLaw, Workers};
use morecores_study::{CpuSet, Failure, OtherProgram};

/// Evidence that a command ran on CPUs that were not allotted to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum OutsideEvidence {
    /// Traced run; the share is the share in that run.
    Trace,
    /// Timed runs that used more CPU time than the allotted CPUs have; the share is a lower bound.
    CpuTime,
}

/// Number of runs that failed in one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FailureCount {
    /// Kind of failure.
    pub how: Failure,
    /// Number of runs.
    pub count: u32,
}

/// Condition that spoils, or may spoil, the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Warning {
    /// Fewer than six runs, so no confidence interval.
    TooFewRuns {
        /// CPU count of the point.
        cpus: u32,
        /// Number of runs.
        runs: u32,
    },
    /// Sweep that ended before it reached the requested precision.
    Imprecise {
        /// CPU count of the point.
        cpus: u32,
        /// Half-width of the confidence interval of the speedup, divided by the speedup. With one
        /// CPU count, it is that of the median, divided by the median.
        half_width: f64,
        /// Requested precision.
        precision: f64,
    },
    /// Runs far from the median.
    Outliers {
        /// CPU count of the point.
        cpus: u32,
        /// Number of these runs.
        count: u32,
    },
    /// First timed run that differs from all later ones, through a cold cache or work that is done
    /// only once.
    FirstRunDiffers {
        /// CPU count of the point.
        cpus: u32,
        /// Ratio of the first run to the median of the later ones.
        ratio: f64,
    },
    /// Change in the speed of the machine during the study.
    Drift {
        /// CPU count of the point.
        cpus: u32,
        /// Ratio of the median of the second half of the runs to that of the first half.
        ratio: f64,
    },
    /// Dependence of each run on the previous one, which makes the confidence intervals too narrow.
    DependentRuns {
        /// CPU count of the point.
        cpus: u32,
        /// Correlation of each run with the next.
        correlation: f64,
    },
    /// Two speeds of about equal frequency among the runs, whose median therefore says little.
    TwoSpeeds {
        /// CPU count of the point.
        cpus: u32,
    },
    /// Time that a hypervisor took from the allotted CPUs.
    Steal {
        /// CPU count of the point.
        cpus: u32,
        /// Stolen share of the allotted CPUs' time.
        share: f64,
    },
    /// CPU quota that held the command back.
    Throttled {
        /// CPU count of the point.
        cpus: u32,
        /// Seconds held back over all runs.
        seconds: f64,
    },
    /// CPUs that take no threads from each other. Several threads may share one CPU while others
    /// are idle.
    NotBalanced {
        /// CPU count of the point.
        cpus: u32,
        /// Allotted CPUs that are not load-balanced.
        cpu_set: CpuSet,
        /// Whether these CPUs are load-balanced when the runs have a cpuset of their own.
        by_cpuset: bool,
    },
    /// CPU quota below the CPU count.
    QuotaBelowCpus {
        /// CPU count of the point.
        cpus: u32,
        /// CPUs' worth of time that the quota allows.
        quota: f64,
    },
    /// Point that adds SMT siblings of cores already in use.
    SmtSiblings {
        /// CPU count of the point.
        cpus: u32,
    },
    /// Point that mixes core types.
    MixedCoreTypes {
        /// CPU count of the point.
        cpus: u32,
    },
    /// Clock rate that may have changed during the study.
    FrequencyScaling {
        /// Frequency governor.
        governor: Option<String>,
        /// Whether boost is on.
        boost: Option<bool>,
    },
    /// Command that was given more CPUs and used no more than before.
    ThreadsDidNotFollow {
        /// CPU count of the point.
        cpus: u32,
        /// CPUs used: (user + system) / elapsed.
        used: f64,
        /// Whether `{n}` or --thread-env told the command the number of CPUs to use.
        #[serde(rename = "told")]
        gets_count: bool,
    },
    /// Work outside the command's tree while the command ran.
    WorkOutsideTree {
        /// CPU count of the point.
        cpus: u32,
        /// CPUs' worth of work of other programs during the runs.
        busy_cpus: f64,
        /// Number of online CPUs of the machine.
        of_cpus: u32,
        /// Other programs that explain a good part of this work, busiest first.
        #[serde(rename = "neighbours")]
        other_programs: Vec<OtherProgram>,
    },
    /// Command that is known to hand its work to a daemon.
    KnownClient {
        /// Name of the command's program.
        program: String,
        /// Daemon, or other place, that does the work.
        daemon: String,
    },
    /// Machine that was busy while nothing was measured.
    NotQuiet {
        /// CPUs that other programs kept busy.
        busy_cpus: f64,
        /// Number of online CPUs of the machine.
        of_cpus: u32,
        /// Programs that used a good part of the CPU time outside the command during the runs,
        /// busiest first.
        #[serde(rename = "neighbours")]
        other_programs: Vec<OtherProgram>,
    },
    /// Processes of the command that the kernel killed for memory.
    KilledForMemory {
        /// CPU count of the point.
        cpus: u32,
        /// Number of runs with a killed process.
        count: u32,
        /// Names of the killed processes, each once; empty if the kernel's log does not name them.
        names: Vec<String>,
        /// Bytes that each job of the command needs; null if unknown.
        job_bytes: Option<u64>,
        /// Bytes of memory available to the command; null if unknown.
        limit_bytes: Option<u64>,
    },
    /// User and system time from `getrusage` only.
    OnlyGetrusage,
    /// Processes that outlived the command.
    Survivors {
        /// Names of these processes.
        names: Vec<String>,
        /// Whether morecores let these processes run on; otherwise it ended them.
        kept: bool,
    },
    /// Failed runs, which no figure includes.
    FailedRuns {
        /// CPU count of the point.
        cpus: u32,
        /// Number of failed runs.
        count: u32,
        /// Kinds of failure, the most frequent first.
        #[serde(default)]
        failures: Vec<FailureCount>,
        /// Exit statuses that count as success.
        #[serde(default)]
        success: BTreeSet<u8>,
    },
    /// Runs that the speedup leaves out, because their round has no successful run of the other
    /// count.
    IncompleteRounds {
        /// CPU count of the point.
        cpus: u32,
        /// Number of left-out runs of this count.
        count: u32,
        /// CPU count of the base.
        base_cpus: u32,
        /// Number of left-out runs of the base.
        base_count: u32,
    },
    /// Speedup from two medians, because no round has exactly one run of both counts.
    NoCommonRounds {
        /// CPU count of the point.
        cpus: u32,
        /// CPU count of the base.
        base_cpus: u32,
    },
    /// Lines of runs.jsonl that cannot be read.
    DamagedLines {
        /// Number of lines.
        count: usize,
    },
    /// Lost events of the traced run, which make every figure of its trace a guess.
    LossyTrace {
        /// CPU count of the traced run.
        cpus: u32,
        /// Number of lost events.
        lost_events: u64,
        /// Share of lost events among all events, lost and kept.
        share: f64,
    },
    /// Command that ran on CPUs that were not allotted to it, so the CPU count is not the real one.
    RanOutsideCpus {
        /// CPU count of the point.
        cpus: u32,
        /// CPU time of the command on other CPUs, divided by the time of the allotted CPUs.
        share: f64,
        /// Evidence for the share.
        evidence: OutsideEvidence,
    },
    /// Traced run so much longer than the untraced ones that the two may not be comparable.
    TraceOverhead {
        /// CPU count of the traced run.
        cpus: u32,
        /// Ratio of the traced elapsed time to the untraced median, minus one.
        overhead: f64,
    },
    /// Components of the traced run that do not add up to the time of its CPUs.
    UnexplainedTime {
        /// CPU count of the traced run.
        cpus: u32,
        /// Unexplained time divided by the time of the allotted CPUs; negative if the components
        /// exceed that time.
        share: f64,
    },
    /// Two countings of the trace that an operational law makes equal, and that differ.
    LawViolated {
        /// CPU count of the traced run.
        cpus: u32,
        /// Violated law.
        law: OperationalLaw,
        /// Time by the number of events, as in [`LawViolation`](crate::LawViolation).
        counted_s: f64,
        /// Time by the timeline.
        integrated_s: f64,
    },
    /// Threads that wait in loops of the program's own, which looks like work.
    UserSpinning {
        /// CPU count of the traced run.
        cpus: u32,
        /// Time in these loops divided by the time of the allotted CPUs.
        share: f64,
    },
    /// Smallest count with more ready threads of one name than CPUs, and more than the command was
    /// told to use.
    #[serde(rename = "crowded_base")]
    OversubscribedBase {
        /// Smallest CPU count.
        cpus: u32,
        /// Threads of that name.
        workers: Workers,
        /// Whether the number of threads equals the number of online CPUs of the machine.
        machine_sized: bool,
        /// Whether `{n}` or --thread-env told the command the number of CPUs to use.
        #[serde(rename = "told")]
        gets_count: bool,
    },
    /// Limit that lets the other CPUs serve interrupts and kernel threads, which flatters the
    /// smallest count.
    OtherCpusHelp,
}
