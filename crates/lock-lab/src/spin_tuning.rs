//! Spin time of the lock `adaptive` on this machine. The lock itself measures it and derives the
//! bound; this module only converts the units.

use morecores_locks::cost;
use morecores_view::locks::SpinTuning;

/// Measures the spin time on this machine, as a program that calls `prepare` does.
pub fn measure_spin_tuning() -> SpinTuning {
    let tuning = cost::measure();
    SpinTuning {
        cpus: tuning.cpus,
        sleep_ns: tuning.sleep_ns as f64,
        sleeps: tuning.sleeps_ns.map(|ns| ns as f64).to_vec(),
        // The tuning is in picoseconds.
        spin_ns: tuning.look_ps as f64 / 1e3,
        spins: tuning.spin_limit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spin_limit_comes_from_the_timings() {
        let tuning = measure_spin_tuning();
        let cpus = morecores_machine::process::affinity(0).unwrap();
        assert_eq!(tuning.cpus > 1, cpus.len() > 1, "{tuning:?}");
        assert_eq!(tuning.spins > 0, tuning.cpus > 1, "{tuning:?}");
        let mut sleeps = tuning.sleeps.clone();
        sleeps.sort_by(f64::total_cmp);
        // The cost is within the bounds of the locks, or a fixed one without two CPUs to time it.
        let expected = match sleeps[sleeps.len() / 2] {
            0.0 => 14_000.0,
            median => median.clamp(1_000.0, 50_000.0),
        };
        assert_eq!(tuning.sleep_ns, expected, "{tuning:?}");
        assert!(tuning.spin_ns > 0.0, "{tuning:?}");
        if tuning.cpus > 1 {
            // The spins are those that fit into a sleep: at least one, and at most those that 16
            // bits hold.
            let fit = (tuning.sleep_ns / tuning.spin_ns).clamp(1.0, 65_535.0);
            assert!((f64::from(tuning.spins) - fit).abs() <= 1.0, "{tuning:?}");
        }
    }
}
