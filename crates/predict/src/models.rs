//! Closed forms of elapsed time against CPU count: the field's standard models, each fitted to the
//! measured points.
//!
//! A model extrapolates to counts that were not measured. The average of the models weighs each one
//! by its likelihood. `docs/methods/predict.md` lists the formulas and their sources. This module
//! knows neither traces nor studies.

mod average;
mod ceiling;
mod fit;
mod locks;
mod network;
mod trend;
mod usl;

pub use average::{Candidate, DrawnModel, Form, ModelAverage, average_models};
pub use ceiling::Ceiling;
pub use locks::KernelLock;
pub use network::{NetworkSolution, mean_value_analysis};
pub use trend::{Trend, gustafson_speedup, karp_flatt_trend};
pub use usl::Usl;

/// Measured point: the median elapsed time on a number of CPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Number of CPUs; at least 1.
    pub cpus: u32,
    /// Elapsed time, in any unit; above zero.
    pub elapsed: f64,
    /// Relative standard error of the ratio of this time to that of the first point.
    pub error: f64,
}

impl Point {
    /// Creates a point without error from a CPU count and its elapsed time.
    pub const fn new(cpus: u32, elapsed: f64) -> Self {
        Self { cpus, elapsed, error: 0.0 }
    }

    /// Sets the relative standard error.
    #[must_use]
    pub const fn with_error(self, error: f64) -> Self {
        Self { error, ..self }
    }
}

/// Model with known parameters.
pub trait Model {
    /// Elapsed time on `cpus` CPUs, in the unit of the fitted points.
    fn elapsed(&self, cpus: u32) -> f64;

    /// Elapsed time on CPUs that amount to `cpus` whole ones: between two counts, on a straight
    /// line of the logarithms.
    fn elapsed_at(&self, cpus: f64) -> f64 {
        let below = cpus.max(1.0).floor();
        let [least, most] = [below, below + 1.0].map(|count| self.elapsed(count as u32).ln());
        let share = (cpus.max(1.0) / below).ln() / ((below + 1.0) / below).ln();
        (least + share * (most - least)).exp()
    }

    /// Number of CPUs beyond which more CPUs increase the elapsed time, if the model has such a
    /// peak.
    fn peak(&self) -> Option<f64> {
        None
    }
}
