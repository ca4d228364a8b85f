//! Spin bound of `adaptive` on a machine, and the measurements behind it.

use serde::{Deserialize, Serialize};

/// Spin bound of a machine, as `morecores tune-spin --json` prints it. The lock itself derives the
/// bound from the times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpinTuning {
    /// CPUs that this process may use; on one CPU, spinning is useless and `spins` is 0.
    pub cpus: u32,
    /// Cost of a sleep and a wake-up, in nanoseconds: the median of `sleeps`.
    pub sleep_ns: f64,
    /// Measurements of a sleep and a wake-up, in nanoseconds, in order.
    pub sleeps: Vec<f64>,
    /// Time of one turn of the spinning loop, in nanoseconds.
    pub spin_ns: f64,
    /// Largest number of turns that a waiter makes before it sleeps. These turns take about as long
    /// as a sleep and a wake-up, or a small multiple of that time.
    pub spins: u32,
}
