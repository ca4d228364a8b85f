//! What is said of machines that were not measured.
//!
//! Only shapes: what a prediction rests on and how far it can be believed stand in it, and the words are the report's.

use serde::{Deserialize, Serialize};

/// A prediction from the measured CPU counts of a study to others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Prediction {
    /// What has the largest say in it: `replay`, or the name of a closed form.
    pub model: String,
    /// The measured counts that it rests on, ascending.
    pub from: Vec<u32>,
    /// What was predicted, ascending by CPU count.
    pub points: Vec<PredictedPoint>,
    /// What stops it first; null where nothing in sight does.
    pub first_limit: Option<FirstLimit>,
    /// The count beyond which more CPUs make it slower; null where none was found.
    pub peak_cpus: Option<f64>,
    /// What no machine of CPUs like these can beat; null without a trace.
    pub bounds: Option<BoundsView>,
    /// All models, each with how well it did, the one with the largest say first.
    pub models: Vec<Contestant>,
    /// The serial fraction by Karp and Flatt at each measured count above the smallest, where there are two of these: one that grows is a cost of each
    /// CPU added, one that stays is serial work.
    pub karp_flatt: Vec<(u32, f64)>,
    /// Scaled speedup by Gustafson at each predicted count: how much more could be done in the same time, were the serial part to
    /// stay as long as it is; empty where the serial fraction is not known.
    pub scaled_speedup: Vec<(u32, f64)>,
    /// Why no point is given; the bands stay.
    pub abstained: Option<Abstention>,
    /// What makes it less sure than its band says, or what it could not use.
    pub caveats: Vec<Caveat>,
}

/// One CPU count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PredictedPoint {
    /// How many CPUs.
    pub cpus: u32,
    /// Elapsed time; null where it was abstained from, and where the study is about a metric.
    pub elapsed_s: Option<f64>,
    /// Speedup over the smallest measured count; null where it was abstained from.
    pub speedup: Option<f64>,
    /// Where the speedup lies with 90% probability, `[low, high]`.
    pub band90: [f64; 2],
    /// The same of the elapsed time; null where the study is about a metric.
    pub elapsed_band90_s: Option<[f64; 2]>,
    /// What has the largest say at this count; see [`Prediction::model`].
    pub model: String,
}

/// What stops a program from using more CPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FirstLimit {
    /// What.
    pub resource: Resource,
    /// So many CPUs' worth of work at a time is the most that it allows, on any number of CPUs; of coherency, the peak; of the size of the
    /// memory, the largest count that fits.
    pub cpus: f64,
}

/// Something that only one can use at a time, or that is shared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Resource {
    /// The longest chain of work that depends on each other.
    SerialWork {
        /// The command that ran most of the serial phases, where that is known.
        command: Option<String>,
    },
    /// A lock.
    Lock {
        /// Which, in words.
        name: String,
    },
    /// A device.
    Device {
        /// Which, in words.
        name: String,
    },
    /// The size of the memory: more CPUs need more of it than there is.
    MemorySize {
        /// Bytes needed at the largest predicted count.
        needed_bytes: u64,
        /// Bytes that there are.
        limit_bytes: u64,
        /// That count.
        at_cpus: u32,
    },
    /// Memory and caches: work takes longer while other CPUs work.
    Memory,
    /// Each pair of CPUs costs something, whatever that is: the law that fits best has no name for it.
    Coherency,
}

/// Time that something takes at least, on any number of CPUs like the traced ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct BoundsView {
    /// CPU time in all: divided by the CPUs it is a bound.
    pub work_s: f64,
    /// The longest chain of work and waits that depend on each other.
    pub span_s: f64,
    /// Time under each lock in all, the longest first.
    pub locks: Vec<(String, f64)>,
    /// Service of each device in all.
    pub devices: Vec<(String, f64)>,
}

/// A model in the contest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Contestant {
    /// `replay`, or the name of a closed form.
    pub model: String,
    /// Relative error with which it predicted the largest measured count from the smaller ones; null where it could not.
    pub back_test: Option<f64>,
    /// Relative error in its fit to the measured counts; null for one that is not fitted.
    pub residual: Option<f64>,
    /// Its share in the prediction at the largest predicted count.
    pub weight: f64,
}

/// Why no point is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum Abstention {
    /// The trace of the largest count does not account for so much of its CPUs' time.
    Unexplained {
        /// Over the time of the allotted CPUs.
        share: f64,
    },
    /// A device was nearly busy all the time at the largest measured count.
    Saturated {
        /// Which: as the kernel calls it, or in words.
        device: String,
        /// Its busy time over that of the runs.
        share: f64,
    },
    /// Threads wait in loops of their own: with more threads than CPUs they take CPUs from those that work.
    Spinning {
        /// Such time over the time of the allotted CPUs.
        share: f64,
    },
    /// Two points, half of it serial: what of that is serial work and what a cost of the second CPU cannot be told.
    SteepFromTwoPoints {
        /// The serial fraction between them.
        serial_fraction: f64,
    },
    /// The counts measured differ in more than the number of CPUs: siblings, other core types.
    MixedKinds,
    /// The command ran on more CPUs than it was allotted: its times are not those of the counts.
    NotHeld {
        /// Its CPU time on other CPUs over that of the allotted ones.
        share: f64,
    },
    /// The command runs as many threads as the machine has CPUs, whatever it may use: on a larger machine it is another.
    MachineSized {
        /// Number of them.
        threads: u32,
    },
    /// It gets slower and faster again: the models have no shape for that.
    Contradictory,
}

/// What a prediction could not use, or what it takes on trust.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case", tag = "caveat")]
pub enum Caveat {
    /// No run was traced: closed forms only.
    Untraced,
    /// Traces were made, but none with `{n}` as the target: closed forms only.
    NotOversubscribed {
        /// The counts for which there is none.
        cpus: Vec<u32>,
    },
    /// Events of the trace were lost.
    Lossy {
        /// Over all there were.
        share: f64,
    },
    /// The trace has no system calls: waits that were satisfied at once left nothing to replay.
    NoSystemCalls,
    /// Measured on one count only, not on 1 CPU, or as a metric: how much longer work takes while other CPUs work is assumed, not known.
    OneCount,
    /// The band of these counts is so wide that no point is given.
    Wide {
        /// Which.
        cpus: Vec<u32>,
        /// Wider than this factor.
        factor: f64,
    },
    /// In the replay threads waited for each other without end, and were let go on: it is of an order that the trace does not show.
    Forced {
        /// How often, over the number of threads.
        share: f64,
    },
    /// The traced run with more threads than CPUs took so many times the CPU time of one with a CPU for each, and as many times more
    /// processes do not explain it; how much of that goes again on more CPUs is not known.
    Crowded {
        /// How many times.
        times: f64,
    },
}

/// Kind of what is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum GainKind {
    /// The disk.
    Disk,
    /// The work that one thread does alone.
    Serial,
    /// A command.
    Command,
    /// A lock, of the kernel or of the command's own.
    Lock,
}

/// What would be gained if something were not in the way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Gain {
    /// What is changed, as it was asked for or found: `the disk`, `ld`, `ld=2x`.
    pub change: String,
    /// What kind of thing that is.
    pub kind: GainKind,
    /// At each CPU count.
    pub points: Vec<GainPoint>,
}

/// What would be gained on so many CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct GainPoint {
    /// How many CPUs.
    pub cpus: u32,
    /// What `{n}` was in the run that was replayed.
    pub n: u32,
    /// Elapsed time as it is, by the same replay.
    pub elapsed_s: f64,
    /// Elapsed time saved.
    pub saved_s: f64,
    /// CPUs more of speedup, over the smallest measured count.
    pub gained_cpus: f64,
}
