//! What stops a command from running faster with more CPUs: decided from the speedup stack first, worded second.
//!
//! [`causes`] says which losses are worth a sentence and who is to blame for them; [`word_cause`] says it. Neither
//! computes a loss: the stack's figures are taken as they are.

mod decide;
mod words;

pub(crate) use decide::tight_loop;
pub use decide::{causes, main_cause, withheld};
pub use words::word_cause;
pub(crate) use words::{word_causes, word_withheld};

use crate::Component;

/// One loss of a speedup stack that is worth a sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    /// What kind of CPU time.
    pub component: Component,
    /// How many CPUs; negative where CPUs were gained.
    pub lost: f64,
    /// Of so many.
    pub cpus: u32,
    /// The CPU count that it is compared with.
    pub base_cpus: u32,
    /// Who or what it is due to, where the trace tells.
    pub blame: Blame,
}

/// Why no cause is named though the runs were traced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Withheld {
    /// A traced run took so much longer, or shorter, than the timed ones that it was another run.
    Unlike {
        /// At this CPU count.
        cpus: u32,
        /// Its time over the median of the timed ones.
        times: f64,
    },
    /// The command ran on more CPUs than it was allotted.
    NotHeld {
        /// At this CPU count.
        cpus: u32,
    },
    /// The baseline ran more threads than it had CPUs.
    NoBaseline {
        /// Its CPU count.
        cpus: u32,
        /// Its threads.
        threads: u32,
    },
    /// The timed runs are so short that tracing changes them.
    Short {
        /// At this CPU count.
        cpus: u32,
        /// Their median.
        seconds: f64,
    },
    /// The figure that the command prints scales otherwise than the whole run, of which alone a trace tells.
    Figure {
        /// At this CPU count.
        cpus: u32,
        /// The figure's speedup.
        figure: f64,
        /// The whole run's.
        whole: f64,
    },
}

/// Who or what a loss is due to.
#[derive(Clone, Debug, PartialEq)]
pub enum Blame {
    /// The trace does not tell.
    Unknown,
    /// Commands that ran while CPUs were idle, with the CPUs charged to each, most first.
    Ran {
        /// Name and CPUs.
        commands: Vec<(String, f64)>,
        /// Whether the first holds nearly all of it.
        alone: bool,
        /// How the others waited meanwhile.
        waiting_in: Option<String>,
    },
    /// The kernel lock that was waited for most.
    Lock {
        /// The lock, or the locking function.
        symbol: String,
        /// Who wanted it.
        caller: Option<String>,
        /// Whether most of the waiting was for it.
        mostly: bool,
    },
    /// What the holders of the locks mostly waited for themselves.
    Behind(Component),
    /// Perhaps processes outside the command's tree, which used these CPUs and which the trace does not see.
    PerhapsProcesses,
    /// Processes outside the command's tree, the busiest first.
    Processes(Vec<String>),
    /// The CPUs take no thread from each other.
    NotBalanced,
    /// So many threads took turns on the CPUs of the baseline.
    CrowdedBase(u32),
    /// Of its work, the share that spins in loops of its own.
    TightLoop(f64),
}
