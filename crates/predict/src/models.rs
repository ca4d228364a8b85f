//! Closed forms of elapsed time against CPUs: what the field has, each fitted to measured points.
//!
//! A model is a promise about counts that were not measured; which one to trust is decided elsewhere, by test. Formulas and
//! their sources are in `docs/methods/predict.md`. Knows nothing of traces and studies.

mod contest;
mod fit;
mod locks;
mod network;
mod trend;
mod usl;

pub use contest::{Contest, Entry, Form, contest};
pub use locks::{Jobs, KernelLock, LockShare};
pub use network::{Loaded, birth_death, mean_value_analysis};
pub use trend::{Trend, gustafson, karp_flatt_trend};
pub use usl::Usl;

/// A measured point: the median elapsed time on so many CPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// How many CPUs; at least 1.
    pub cpus: u32,
    /// The elapsed time, in any unit; above zero.
    pub elapsed: f64,
}

impl Point {
    /// So many CPUs took so long.
    pub const fn new(cpus: u32, elapsed: f64) -> Self {
        Self { cpus, elapsed }
    }
}

/// A model with its parameters known.
pub trait Model {
    /// Elapsed time on so many CPUs, in the unit of the points that it was fitted to.
    fn elapsed(&self, cpus: u32) -> f64;

    /// The number of CPUs from which on more of them make it slower, where there is one.
    fn peak(&self) -> Option<f64> {
        None
    }
}
