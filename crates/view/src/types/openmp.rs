//! Waits of threads for each other in OpenMP's runtime, in the derived view.

use serde::{Deserialize, Serialize};

/// Time for which the threads of a command waited for each other in parallel regions of OpenMP:
/// load imbalance. The runtime is gcc's (libgomp), LLVM's or Intel's (libomp), as a library of its
/// own. Times are CPU-seconds, by samples and stacks, with standard errors.
///
/// The time from a region's end to the next region's beginning is no imbalance: it is the serial
/// part of the program. Waits for the locks of OpenMP are none either.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct OpenMpView {
    /// Command whose threads waited.
    pub command: String,
    /// Time of all waits in regions, spinning and asleep.
    pub waited_s: f64,
    /// Standard error of this time.
    pub waited_error_s: f64,
    /// Part of it that the threads spent spinning on a CPU. Its error is that of the whole time.
    pub spun_s: f64,
    /// Part of it that the threads slept.
    pub slept_s: f64,
    /// Time for which threads spun between regions, where nothing is parallel.
    pub spun_between_s: f64,
    /// Regions with at least a hundredth of the waits, longest waits first.
    pub regions: Vec<OpenMpRegion>,
}

/// Parallel region: the place in the program that opens it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct OpenMpRegion {
    /// Function with the code of the region, as the compiler names it (`solve._omp_fn.0`,
    /// `.omp_outlined.`); null if no sample found it.
    pub function: Option<String>,
    /// Function that opens the region.
    pub caller: String,
    /// Place of the calling function in the source code, `file:line`; null if it is unknown.
    pub source: Option<String>,
    /// Path of the file with the calling function.
    pub module: Option<String>,
    /// Time of the waits in the region, in CPU-seconds.
    pub waited_s: f64,
    /// Standard error of this time.
    pub waited_error_s: f64,
}
