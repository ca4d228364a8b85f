//! How long `adaptive` spins on a machine, and how that was found.

use serde::{Deserialize, Serialize};

/// The spin bound of a machine: one JSON line of `morecores-work tune-spin`. How it follows from the times is the lock's own
/// business.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpinTuning {
    /// CPUs that this process may use; on one, spinning is useless and `spins` is 0.
    pub cpus: u32,
    /// What a sleep and a wake-up cost, in nanoseconds: the median of `sleeps`.
    pub sleep_ns: f64,
    /// Each measurement of it, in nanoseconds, in the order made.
    pub sleeps: Vec<f64>,
    /// What one turn of the spinning loop takes, in nanoseconds.
    pub spin_ns: f64,
    /// How many turns a waiter makes at most before it sleeps: as many as take about as long as a sleep and a wake-up, or a small
    /// multiple of that.
    pub spins: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_program_is_understood() {
        let line = r#"{"cpus":2,"sleep_ns":5200.5,"sleeps":[5100.0,5200.5,5900],"spin_ns":13.5,"spins":385}"#;
        let tuning: SpinTuning = serde_json::from_str(line).unwrap();
        assert_eq!((tuning.cpus, tuning.spins, tuning.sleeps.len()), (2, 385, 3));
        assert_eq!(
            serde_json::from_str::<SpinTuning>(&serde_json::to_string(&tuning).unwrap()).unwrap(),
            tuning
        );
    }
}
