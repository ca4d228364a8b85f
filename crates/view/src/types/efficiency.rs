//! Efficiencies of a traced CPU count, in the derived view, with the names of POP (pop-coe.eu).

use serde::{Deserialize, Serialize};

use morecores_study::Coordinates;

use super::Estimate;

/// Efficiencies of the traced runs on one CPU count. Each is a factor, 1 without loss:
///
/// - `parallel = load_balance · serialisation · transfer`;
/// - `global = parallel · computation_scaling`.
///
/// The measured efficiency, the speedup per added CPU, is `global` divided by the `parallel` of the
/// base. Each interval is a 95% interval over several traced runs, null with one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct EfficiencyView {
    /// CPU count.
    pub cpus: u32,
    /// Value of `{n}`.
    pub n: u32,
    /// Values on further axes.
    #[serde(default, skip_serializing_if = "Coordinates::is_empty")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub axes: Coordinates,
    /// CPU count to which the computation is compared; null without another traced count.
    pub base_cpus: Option<u32>,
    /// Parallel efficiency times computation scaling; null without a base. Its interval is that of
    /// the measured speedup.
    pub global: Option<Estimate>,
    /// Useful CPU time divided by the CPU time of all allotted CPUs.
    pub parallel: Estimate,
    /// Mean useful time of the CPUs divided by the useful time of the busiest worker.
    pub load_balance: Estimate,
    /// Useful time of the busiest worker divided by the elapsed time on an ideal machine: the loss
    /// to dependencies between threads. Null for traces without wake-ups.
    pub serialisation: Option<Estimate>,
    /// Elapsed time on an ideal machine divided by the elapsed time: the loss to waits for CPUs,
    /// devices and the network. Null for traces without wake-ups.
    pub transfer: Option<Estimate>,
    /// Useful CPU time in the base divided by the useful CPU time here, for the same work; null
    /// without a base.
    pub computation_scaling: Option<Estimate>,
    /// Measured efficiency: speedup over the base per CPU of the base; null without a base.
    pub measured: Option<Estimate>,
}
