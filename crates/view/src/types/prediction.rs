//! Predictions for CPU counts that were not measured.
//!
//! This module holds types only: the evidence of a prediction and its reliability. The report
//! writes the text.

use serde::{Deserialize, Serialize};

/// Prediction from the measured CPU counts of a study to other counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Prediction {
    /// Model with the largest weight.
    pub model: ModelName,
    /// Measured CPU counts behind the prediction, ascending.
    pub from: Vec<u32>,
    /// Predicted points, ascending by CPU count.
    pub points: Vec<PredictedPoint>,
    /// Lowest limit on the use of more CPUs; null if none is in sight.
    pub first_limit: Option<FirstLimit>,
    /// CPU count beyond which more CPUs make the command slower; null if none was found.
    pub peak_cpus: Option<f64>,
    /// Lower limits of the elapsed time on any number of these CPUs; null without a trace, and if
    /// the replay of the trace is refuted by a measurement.
    pub bounds: Option<BoundsView>,
    /// All models with their test results, the one with the largest weight first.
    pub models: Vec<ModelView>,
    /// Karp and Flatt's serial fraction at each measured count above the smallest; empty with fewer
    /// than two of these counts. A growing fraction is a cost of each added CPU, a steady one is
    /// serial work.
    pub karp_flatt: Vec<(u32, f64)>,
    /// Gustafson's scaled speedup at each predicted count: the growth of the work done in the same
    /// time if the serial part keeps its duration. Empty if the serial fraction is unknown.
    pub scaled_speedup: Vec<(u32, f64)>,
    /// Reason for giving no point; the bands are still given.
    pub abstained: Option<Abstention>,
    /// Facts that make the prediction less certain than its band, or that it could not use.
    pub caveats: Vec<Caveat>,
}

/// Prediction for one CPU count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PredictedPoint {
    /// Number of CPUs.
    pub cpus: u32,
    /// Elapsed time; null after an abstention, and if the study is about a metric.
    pub elapsed_s: Option<f64>,
    /// Speedup over the smallest measured count; null after an abstention.
    pub speedup: Option<f64>,
    /// 90% prediction band of the speedup, `[low, high]`.
    pub band90: [f64; 2],
    /// 90% prediction band of the elapsed time, `[low, high]`; null if the study is about a metric.
    pub elapsed_band90_s: Option<[f64; 2]>,
    /// Model with the largest weight at this count; see [`Prediction::model`].
    pub model: ModelName,
}

/// Resource that stops a program from using more CPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FirstLimit {
    /// Limiting resource.
    pub resource: Resource,
    /// Largest number of CPUs that the resource lets work at a time, regardless of their number.
    /// For coherency this is the count at the peak, for the size of the memory the largest count
    /// that fits. Never below a speedup of the same prediction or of its measured counts.
    pub cpus: f64,
    /// 90% band of `cpus`; null for the size of the memory.
    pub band90: Option<[f64; 2]>,
    /// Source of the limit.
    pub basis: LimitBasis,
}

/// Source of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum LimitBasis {
    /// Trace: the resource and its use are those of a traced run.
    Trace,
    /// Formula fitted to the measured counts: the limit holds only if the formula does.
    Fit,
}

/// Resource that only one thread can use at a time, or that all threads share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Resource {
    /// Longest chain of dependent work.
    SerialWork {
        /// Command that ran most of the serial phases, if known.
        command: Option<String>,
    },
    /// Lock.
    Lock {
        /// Name of the lock, in words.
        name: String,
    },
    /// Device.
    Device {
        /// Name of the device, in words.
        name: String,
    },
    /// Size of the memory: more CPUs need more memory than the machine has.
    MemorySize {
        /// Bytes needed at the largest predicted count.
        needed_bytes: u64,
        /// Bytes available.
        limit_bytes: u64,
        /// Largest predicted count.
        at_cpus: u32,
    },
    /// Memory and caches: work takes longer while other CPUs work.
    Memory,
    /// Cost of each pair of CPUs, of unknown origin: the closed form that fits best has no name for
    /// it.
    Coherency,
}

/// Lower limits of the elapsed time on any number of CPUs like the traced ones, each with its 90%
/// band. No limit is above a measured or a predicted elapsed time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct BoundsView {
    /// Total CPU time; the lower limit is this time divided by the number of CPUs.
    pub work_s: f64,
    /// 90% band of `work_s`.
    pub work_band90_s: [f64; 2],
    /// Longest chain of dependent work and waits.
    pub span_s: f64,
    /// 90% band of `span_s`.
    pub span_band90_s: [f64; 2],
    /// Total time under each lock, the longest first.
    pub locks: Vec<(String, f64)>,
    /// 90% band of each value of `locks`.
    pub lock_bands90_s: Vec<[f64; 2]>,
    /// Total service time of each device.
    pub devices: Vec<(String, f64)>,
    /// 90% band of each value of `devices`.
    pub device_bands90_s: Vec<[f64; 2]>,
}

/// Name of a model of elapsed times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum ModelName {
    /// Replay of the traced runs on virtual CPUs.
    #[serde(rename = "replay")]
    Replay,
    /// Speedup equal to the number of CPUs.
    #[serde(rename = "ideal")]
    Ideal,
    /// Amdahl's law.
    Amdahl,
    /// Universal scalability law.
    #[serde(rename = "USL")]
    Usl,
    /// Model of one kernel lock.
    #[serde(rename = "kernel lock")]
    KernelLock,
    /// Ceiling: perfect scaling up to a number of CPUs, and no gain beyond.
    #[serde(rename = "ceiling")]
    Ceiling,
    /// No model, because the study has too few counts.
    #[serde(rename = "none")]
    NoModel,
}

/// Model that competes for the prediction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ModelView {
    /// Name of the model.
    pub model: ModelName,
    /// Relative error of its prediction of the largest measured count from the smaller ones; null
    /// if the model cannot make this prediction.
    pub back_test: Option<f64>,
    /// Relative error of its fit to the measured counts; null for a model without a fit.
    pub residual: Option<f64>,
    /// Weight in the prediction at the largest predicted count.
    pub weight: f64,
}

/// Reason for giving no predicted point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum Abstention {
    /// Trace of the largest count that leaves too much of its CPUs' time unexplained.
    Unexplained {
        /// Unexplained time divided by the time of the allotted CPUs.
        share: f64,
    },
    /// Device that was close to saturation at the largest measured count.
    Saturated {
        /// Name of the device: the kernel's name, or words.
        device: String,
        /// Busy time of the device divided by the time of the runs.
        share: f64,
    },
    /// Threads that wait in loops of their own. With more threads than CPUs, the waiting threads
    /// take CPUs from the working ones.
    Spinning {
        /// Time in these loops divided by the time of the allotted CPUs.
        share: f64,
    },
    /// Two points with a serial fraction above one half. Two points cannot tell serial work from a
    /// cost of the second CPU.
    SteepFromTwoPoints {
        /// Serial fraction between the two points.
        serial_fraction: f64,
    },
    /// Measured counts that differ in more than the number of CPUs: SMT siblings or other core
    /// types.
    MixedKinds,
    /// Command that ran on more CPUs than it was allotted, so its times do not belong to the
    /// counts.
    NotHeld {
        /// CPU time on other CPUs, divided by the time of the allotted CPUs.
        share: f64,
    },
    /// Command that runs as many threads as the machine has CPUs, regardless of its allowed CPUs.
    /// On a larger machine it runs a different number.
    MachineSized {
        /// Number of threads.
        threads: u32,
    },
    /// Command that runs for a fixed time. Its elapsed time says nothing about its speed.
    FixedTime {
        /// Elapsed time in seconds.
        elapsed_s: f64,
    },
    /// Command that gets slower and then faster again as CPUs are added; no model has this shape.
    Contradictory,
}

/// Evidence that a prediction could not use, or an assumption that it makes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case", tag = "caveat")]
pub enum Caveat {
    /// No traced run; the prediction uses closed forms only.
    Untraced,
    /// Traces without one whose `{n}` is the target; the prediction uses closed forms only.
    NotOversubscribed {
        /// Predicted CPU counts without such a trace.
        cpus: Vec<u32>,
    },
    /// Lost events in the trace.
    Lossy {
        /// Lost events divided by all events.
        share: f64,
    },
    /// Trace without system calls. Waits that ended at once left no event, so the replay cannot
    /// repeat them.
    NoSystemCalls,
    /// A single measured count, no measurement on 1 CPU, or a metric. The slowdown of work by other
    /// busy CPUs is then an assumption, not a measurement.
    OneCount,
    /// Counts whose band is so wide that no point is given.
    Wide {
        /// CPU counts with a wide band.
        cpus: Vec<u32>,
        /// Threshold of the ratio of the band's ends; a larger ratio is wide.
        factor: f64,
    },
    /// Replay in which threads waited for each other forever and were released by force. The
    /// program has an order that the trace does not show.
    Forced {
        /// Number of released waits divided by the number of threads.
        share: f64,
    },
    /// Traced run with more threads than CPUs that used much more CPU time than a run with one CPU
    /// per thread. A larger number of processes does not explain the difference. How much of it
    /// disappears on more CPUs is unknown.
    #[serde(rename = "crowded")]
    Oversubscribed {
        /// Ratio of the two CPU times.
        times: f64,
    },
    /// Replay that missed the largest measured count by more than its band. No limit and no gain
    /// comes from it.
    FailedBackTest {
        /// Largest measured count.
        cpus: u32,
        /// Relative error of the predicted elapsed time.
        error: f64,
    },
    /// Counts whose speedup would exceed a threshold by formulas alone. No trace supports so large
    /// a speedup, so no point is given.
    FitAlone {
        /// CPU counts without a point.
        cpus: Vec<u32>,
        /// Threshold of the speedup.
        above: f64,
    },
    /// Threads that share memory and wait for each other, seen on one CPU only. How they disturb
    /// each other shows only on two CPUs or more.
    UnseenSharing,
    /// Program whose user time grows as the time per copied byte does. The prediction follows the
    /// bandwidth of the machine's memory.
    MemoryBound {
        /// Chance that the program lives on this bandwidth.
        chance: f64,
        /// Predicted CPU counts for which the bandwidth was measured.
        cpus: Vec<u32>,
    },
}

/// Kind of obstacle that a what-if estimate removes or reduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum GainKind {
    /// Disk.
    Disk,
    /// Work that one thread does alone.
    Serial,
    /// Command.
    Command,
    /// Lock, of the kernel or of the command itself.
    Lock,
}

/// Estimated gain from removing an obstacle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Gain {
    /// Description of the change, as the user requested it or as it was found: `the disk`, `ld`,
    /// `ld=2x`.
    pub change: String,
    /// Kind of the obstacle.
    pub kind: GainKind,
    /// Gains by CPU count.
    pub points: Vec<GainPoint>,
}

/// Estimated gain at one CPU count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct GainPoint {
    /// Number of CPUs.
    pub cpus: u32,
    /// Value of `{n}` in the replayed run.
    pub n: u32,
    /// Elapsed time without the change, by the same replay.
    pub elapsed_s: f64,
    /// Elapsed time saved; never so much that the rest is shorter than the lower limits of the
    /// changed program.
    pub saved_s: f64,
    /// 90% band of `saved_s`, for this elapsed time without the change.
    pub saved_band90_s: [f64; 2],
    /// Gain in speedup over the smallest measured count, in CPUs.
    pub gained_cpus: f64,
    /// 90% band of `gained_cpus`.
    pub gained_cpus_band90: [f64; 2],
}
