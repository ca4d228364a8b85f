//! A study of locks in words and tables: which lock to take, the cost of waiting, and each lock
//! under contention.
//!
//! This module only words the results and chooses the columns. `terminal`, `markdown` and `page`
//! decide the layout; the analysis decides which lock is best.

pub(crate) mod advice;
pub(crate) mod notices;
pub(crate) mod prices;
pub(crate) mod tables;

use morecores_view::Estimate;

use crate::format::{ABSENT, TimeUnit, count, figure_with_bounds, ratio};

/// Text in a table of this module for a figure that does not exist.
pub(crate) fn absent() -> String {
    ABSENT.to_owned()
}

/// Length of time from nanoseconds, without needless digits: `0`, `100 ns`, `1 µs`, `2.5 ms`.
pub(crate) fn planned_time(ns: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")];
    match units.into_iter().find(|(size, _)| ns >= *size) {
        None if ns == 0 => "0".to_owned(),
        None => format!("{ns} ns"),
        Some((size, unit)) => {
            let text = format!("{:.2}", ns as f64 / size as f64);
            format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

/// Measured time in nanoseconds with the ends of its interval, all in the unit that suits it: `4.42
/// ns [4.38, 4.51]`.
pub(crate) fn time_with_ends(ns: &Estimate) -> String {
    let unit = TimeUnit::for_column([ns.value * 1e-9]);
    let scaled = |value: f64| value * 1e-9 / unit.seconds();
    let (value, ends) = figure_with_bounds(scaled(ns.value), ns.ci95.map(|ends| ends.map(scaled)));
    format!("{value} {}{}", unit.symbol(), in_brackets(ends))
}

/// Measured time in nanoseconds without the ends of its interval.
pub(crate) fn time(ns: f64) -> String {
    crate::format::time(ns * 1e-9)
}

/// Rate with the ends of its interval: `1.52 M [1.49, 1.55]`.
pub(crate) fn rate_with_ends(per_s: &Estimate) -> String {
    let (unit, symbol) = match per_s.value {
        v if v >= 999.5e6 => (1e9, " G"),
        v if v >= 999.5e3 => (1e6, " M"),
        v if v >= 9_999.5 => (1e3, " k"),
        _ => (1.0, ""),
    };
    let (value, ends) =
        figure_with_bounds(per_s.value / unit, per_s.ci95.map(|ends| ends.map(|end| end / unit)));
    format!("{value}{symbol}{}", in_brackets(ends))
}

/// Rate: `1.52 M`.
pub(crate) fn rate(per_s: f64) -> String {
    if per_s >= 10.0 || per_s == 0.0 { count(per_s) } else { ratio(per_s) }
}

/// Share with the ends of its interval, in percent: `73% [71, 75]`.
pub(crate) fn share_with_ends(share: &Estimate) -> String {
    let percent = |value: f64| value * 100.0;
    let (value, ends) = figure_with_bounds(percent(share.value), share.ci95.map(|ends| ends.map(percent)));
    format!("{value}%{}", in_brackets(ends))
}

/// CPUs with the ends of their interval: `1.02 [1.01, 1.04]`.
pub(crate) fn cpus_with_ends(cpus: &Estimate) -> String {
    let two_places = |value: f64| crate::format::cpu_share(value);
    format!("{}{}", two_places(cpus.value), in_brackets(cpus.ci95.map(|ends| ends.map(two_places))))
}

/// Ends of an interval in brackets, unless they are equal.
fn in_brackets(ends: Option<[String; 2]>) -> String {
    ends.filter(|[low, high]| low != high).map(|[low, high]| format!(" [{low}, {high}]")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, ci95: Some([low, high]) }
    }

    #[test]
    fn figures_are_written_with_their_ends_and_few_digits() {
        assert_eq!(time_with_ends(&estimate(4.4213, 4.381, 4.5128)), "4.42 ns [4.38, 4.51]");
        assert_eq!(time_with_ends(&estimate(15_321.0, 14_900.0, 16_012.0)), "15.3 µs [14.9, 16.0]");
        assert_eq!(time_with_ends(&Estimate { value: 1_500.0, ci95: None }), "1.50 µs");
        assert_eq!(rate_with_ends(&estimate(1.5234e6, 1.49e6, 1.551e6)), "1.52 M [1.49, 1.55]");
        assert_eq!(share_with_ends(&estimate(0.731, 0.712, 0.749)), "73% [71, 75]");
        assert_eq!(share_with_ends(&estimate(1.0, 1.0, 1.0)), "100%");
        assert_eq!(cpus_with_ends(&estimate(1.021, 1.012, 1.044)), "1.02 [1.01, 1.04]");
    }

    #[test]
    fn planned_times_are_as_round_as_they_are() {
        let spans = [0, 100, 1_000, 1_500, 20_000, 2_000_000_000].map(planned_time);
        assert_eq!(spans, ["0", "100 ns", "1 µs", "1.5 µs", "20 µs", "2 s"]);
    }
}
