//! The spin bound of the lock `adaptive` on a machine, and its derivation, in words.
//!
//! The lock decides the bound; this module only shows it with the measurements behind it.

use morecores_view::locks::SpinTuning;

use crate::Style;
use crate::format::{cpus, ratio, time};

/// Relative difference below which two times are called equal.
const EQUAL_TOLERANCE: f64 = 0.05;

/// Whole text, each line ended by a newline.
pub fn spin_tuning_report(tuning: &SpinTuning, style: &Style) -> String {
    let (sleep, spin) = (tuning.sleep_ns * 1e-9, tuning.spin_ns * 1e-9);
    let bound = f64::from(tuning.spins) * spin;
    let answer = match tuning.spins {
        0 => format!(
            "No spinning: {} usable, so no thread can free the lock while a waiter spins.",
            cpus_with_verb(tuning.cpus)
        ),
        1 => "A waiter spins at most once before it sleeps.".to_owned(),
        spins => format!("A waiter spins at most {spins} times before it sleeps."),
    };
    let ends = tuning.sleeps.iter().copied().filter(|ns| *ns > 0.0);
    let (least, most) =
        ends.fold((f64::INFINITY, 0.0_f64), |(least, most), ns| (least.min(ns), most.max(ns)));
    let measured = if least <= most {
        let (least, most) = (time(least * 1e-9), time(most * 1e-9));
        format!("the median of {}, which took from {least} to {most}", tuning.sleeps.len())
    } else {
        "assumed, because it was not measurable".to_owned()
    };
    let mut paragraphs = vec![
        answer,
        format!("A sleep and a wake-up: {}, {measured}.", time(sleep)),
        format!("A spin (a look at the lock and a pause): {}.", time(spin)),
    ];
    if tuning.spins > 0 {
        let times = bound / sleep;
        // The bound is whole turns, and the times are rounded.
        let comparison = if (times - 1.0).abs() < EQUAL_TOLERANCE {
            "as long as".to_owned()
        } else {
            format!("{} times", ratio(times))
        };
        paragraphs.push(format!(
            "{} spins take {}, {comparison} a sleep and a wake-up. A waiter that spins for as long as a sleep and a wake-up \
             take, and then sleeps, loses at most twice the time of the best choice (Karlin and others, 1990).",
            tuning.spins,
            time(bound),
        ));
        paragraphs.push(format!("{} usable; with one, no waiter would spin.", cpus_with_verb(tuning.cpus)));
    }
    let lines = paragraphs.iter().flat_map(|paragraph| style.wrap(paragraph, "  "));
    lines.map(|line| line + "\n").collect()
}

/// Subject and verb: `1 CPU is`, `2 CPUs are`.
fn cpus_with_verb(count: u32) -> String {
    format!("{} {}", cpus(count), if count == 1 { "is" } else { "are" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style() -> Style {
        Style { width: 100, colour: false, unicode: true, wide: false }
    }

    fn report(tuning: &SpinTuning) -> String {
        spin_tuning_report(tuning, &style()).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_bound_is_shown_with_its_measurements() {
        let tuning = SpinTuning {
            cpus: 2,
            sleep_ns: 5_000.0,
            sleeps: vec![4_900.0, 5_000.0, 62_000.0],
            spin_ns: 12.5,
            spins: 800,
        };
        let text = report(&tuning);
        for part in [
            "A waiter spins at most 800 times before it sleeps.",
            "A sleep and a wake-up: 5.00 µs, the median of 3, which took from 4.90 µs to 62.0 µs.",
            "A spin (a look at the lock and a pause): 12.5 ns.",
            "800 spins take 10.0 µs, 2.00 times a sleep and a wake-up.",
            "2 CPUs are usable",
        ] {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
        let alike = SpinTuning { spins: 399, ..tuning.clone() };
        assert!(report(&alike).contains("399 spins take 4.99 µs, as long as a sleep and a wake-up."));
        assert!(spin_tuning_report(&tuning, &style()).lines().all(|line| line.chars().count() <= 100));
    }

    #[test]
    fn on_one_cpu_nothing_spins_and_no_measurement_is_shown() {
        let tuning =
            SpinTuning { cpus: 1, sleep_ns: 10_000.0, sleeps: vec![0.0; 3], spin_ns: 12.5, spins: 0 };
        let text = report(&tuning);
        assert!(text.starts_with("No spinning: 1 CPU is usable"), "{text}");
        assert!(text.contains("10.0 µs, assumed") && !text.contains("take"), "{text}");
    }
}
