//! Causes that keep a command from running faster with more CPUs: decided from the speedup stack
//! first, worded second.
//!
//! [`causes`] selects the losses worth a sentence and the culprit of each; [`cause_clause`] puts a
//! cause into words. Neither computes a loss: the figures come from the stack unchanged.

mod decide;
mod text;

pub(crate) use decide::tight_loop_share;
pub use decide::{causes, main_causes, no_cause_reason};
pub use text::{cause_clause, main_causes_text};
pub(crate) use text::{cause_clauses, no_cause_sentence};

use morecores_view::Component;
use morecores_view::code::{CodeSite, RuntimeLock, UserLockView};

/// Loss of a speedup stack that is worth a sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct LossCause {
    /// Kind of CPU time.
    pub component: Component,
    /// Loss in CPUs; negative if CPUs were gained.
    pub lost: f64,
    /// 95% interval of the loss; none without an interval of the speedup.
    pub ci95: Option<[f64; 2]>,
    /// Number of CPUs at the count.
    pub cpus: u32,
    /// CPU count of the baseline.
    pub base_cpus: u32,
    /// Culprit of the loss, if the trace identifies one.
    pub explanation: Explanation,
    /// Functions that hold a part of the loss beyond their intervals, with their shares of it, most
    /// first.
    pub functions: Vec<(String, f64)>,
}

/// Reason why no cause is named although the runs were traced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoCauseReason {
    /// A traced run took so much longer or shorter than the timed runs that its causes need not be
    /// theirs.
    TraceDiffers {
        /// CPU count of the traced run.
        cpus: u32,
        /// Elapsed time of the traced run over the median of the timed runs.
        times: f64,
    },
    /// The command ran on more CPUs than it was allotted.
    RanOutsideCpus {
        /// CPU count with the largest share of time on other CPUs.
        cpus: u32,
    },
    /// The baseline ran more threads than it had CPUs.
    NoBaseline {
        /// CPU count of the baseline.
        cpus: u32,
        /// Number of threads at the baseline.
        threads: u32,
    },
    /// The timed runs are so short that tracing changes them.
    TooShort {
        /// CPU count of the runs.
        cpus: u32,
        /// Median of the timed runs, in seconds.
        seconds: f64,
    },
    /// The figure that the command prints scales differently from the whole run, and a trace
    /// describes only the whole run.
    FigureDiffers {
        /// CPU count of the points compared.
        cpus: u32,
        /// Speedup of the figure.
        figure: f64,
        /// Speedup of the whole run.
        whole: f64,
    },
    /// Every loss large enough to be named may be noise.
    WithinNoise {
        /// Largest of these losses.
        component: Component,
        /// Loss in CPUs.
        lost: f64,
        /// 95% interval of the loss.
        ci95: [f64; 2],
        /// CPU count of the stack.
        cpus: u32,
    },
}

/// Elapsed time of a traced run in serial phases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SerialTime {
    /// Elapsed time of the serial phases, in seconds.
    pub seconds: f64,
    /// Elapsed time of the whole run, in seconds.
    pub elapsed_s: f64,
}

/// Lock of the command's own, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedLock {
    /// Lock of a language's runtime.
    Runtime(RuntimeLock),
    /// Variable of the program.
    Variable(String),
    /// Locks without a variable, for which threads wait in this function.
    Site(String),
}

impl NamedLock {
    /// Name of a lock; none if neither its variable nor a place of its waits is known.
    pub(crate) fn from_view(lock: &UserLockView) -> Option<Self> {
        let site = || lock.sites.first().map(|site| Self::Site(site.function.clone()));
        lock.runtime.map(Self::Runtime).or_else(|| lock.name.clone().map(Self::Variable)).or_else(site)
    }
}

/// Culprit of a loss.
#[derive(Clone, Debug, PartialEq)]
pub enum Explanation {
    /// The trace does not identify a culprit.
    Unknown,
    /// Commands that ran while CPUs were idle, with the CPUs charged to each, most first.
    Commands {
        /// Name and CPUs of each command; no name where no thread of the command ran.
        commands: Vec<(Option<String>, f64)>,
        /// Whether the first command accounts for nearly all of the loss.
        alone: bool,
        /// Time in which one thread of the first command ran alone, if it explains the loss.
        serial: Option<SerialTime>,
        /// System call in which most of the other threads waited at the time.
        waiting_in: Option<String>,
    },
    /// Kernel lock with the longest waits.
    Lock {
        /// The lock, or the locking function.
        symbol: String,
        /// Caller that wanted the lock.
        caller: Option<String>,
        /// Whether most of the waiting was for this lock.
        mostly: bool,
    },
    /// Locks of the command's own.
    UserLocks {
        /// Lock with the longest waits, if it has a name.
        lock: Option<NamedLock>,
        /// Whether most of the waiting was for this lock.
        mostly: bool,
        /// Place that released this lock after at least half of the time in which others waited.
        released_in: Option<CodeSite>,
        /// Component for which the holders of the locks mostly waited themselves.
        holders_wait: Option<Component>,
    },
    /// Perhaps processes outside the command's tree, which used these CPUs and which the trace does
    /// not see.
    PerhapsProcesses,
    /// Processes outside the command's tree, the busiest first.
    Processes(Vec<String>),
    /// The CPUs take no thread from each other.
    NotBalanced,
    /// Number of threads that took turns on the CPUs of the baseline.
    OversubscribedBase(u32),
    /// Share of the work that spins in the command's own loops.
    TightLoop(f64),
    /// Waits of threads for each other in OpenMP's runtime hold at least half of the loss: they
    /// spin in extra user-mode time, and sleep in idle time.
    OpenMp {
        /// Their share of the loss.
        share: f64,
        /// Function that opens the region with the longest waits; none if the threads mostly spun
        /// between regions.
        region: Option<String>,
    },
}
