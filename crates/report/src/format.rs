//! One way to write each figure with its interval, used by every report for people.
//!
//! The figures alone are written by [`Quantity`], the table of units. Pure text. `±`, `µ` and
//! similar characters are written as they are; [`Style::text`](crate::Style) replaces them for a
//! terminal that has only ASCII. Machine-readable reports write plain numbers and do not use this
//! module.

mod uncertain_figure;

use morecores_study::quantity::{magnitude, round_to_places, significant_places};
use morecores_study::{Coordinates, QUOTA_AXIS, Quantity, QuotaPercent};
use morecores_view::Estimate;

pub(crate) use morecores_study::quantity::ABSENT;
pub(crate) use uncertain_figure::{IntervalText, UncertainFigure, figures_with_intervals, interval_note};

/// Limit on significant digits: no measured figure is more precise, however narrow its interval.
const MAX_DIGITS: i32 = 6;

/// Figure and the ends of its interval, all rounded to the place of the first digit of the wider
/// side. In a sentence both ends stand beside the figure, and more digits would only be harder to
/// read.
pub(crate) fn figure_with_bounds(value: f64, ci95: Option<[f64; 2]>) -> (String, Option<[String; 2]>) {
    let places = match ci95.map(|[low, high]| (value - low).max(high - value)) {
        Some(half) if half > 0.0 => (-magnitude(half)).max(least_places(value)).clamp(0, MAX_DIGITS - 1),
        _ => significant_places(value),
    };
    (round_to_places(value, places), ci95.map(|ends| ends.map(|end| round_to_places(end, places))))
}

/// Number of decimal places of a figure; a negative number rounds to tens, hundreds, ….
///
/// The half-width gets one significant digit, or two if the first digit is a 1. This follows the
/// rule of the Particle Data Group, which has the same reason: one digit of 0.14 would be 40% off.
/// The figure is rounded to the same place, but keeps two significant digits however wide its
/// interval is: "1" beside an efficiency of 38% would contradict that efficiency.
fn decimal_places(value: f64, half: Option<f64>) -> i32 {
    let most = MAX_DIGITS - 1 - magnitude(value.abs());
    match half {
        Some(half) if half > 0.0 => {
            let first_digit = half / 10_f64.powi(magnitude(half));
            let digits = if first_digit < 1.95 { 2 } else { 1 };
            (digits - 1 - magnitude(half)).max(least_places(value)).min(most)
        }
        Some(_) => most.clamp(0, 3),
        None => significant_places(value),
    }
}

/// Places for two significant digits.
fn least_places(value: f64) -> i32 {
    1 - magnitude(value)
}

/// Number with three significant digits and no unit: `1.93`, `28.0`, `1234`.
pub fn ratio(value: f64) -> String {
    Quantity::Number.text(value)
}

/// Number of a guess, with two significant digits: `6.4`, `28`, `130`.
pub(crate) fn two_digits(value: f64) -> String {
    round_to_places(value, 1 - magnitude(value))
}

/// Share in percent: `0.21%`, `3.6%`, `96%`.
pub fn percent(share: f64) -> String {
    Quantity::Share.text(share)
}

/// Serial fraction: `3.6%`; `4%` if its interval supports no more digits; `≤ 1.2%` if the
/// interval contains zero, so that the fraction cannot be distinguished from none.
pub(crate) fn serial_fraction(fraction: Option<f64>, ci95: Option<[f64; 2]>) -> String {
    match (fraction, ci95) {
        (None, _) => ABSENT.to_owned(),
        (Some(_), Some([low, high])) if low <= 0.0 && high >= 0.0 => format!("≤ {}", percent(high)),
        (Some(fraction), Some([low, high])) if high > low => {
            let half = (high - fraction).max(fraction - low) * 100.0;
            let share_places = Quantity::Share.scale(fraction).places.map_or(0, i32::from);
            let places = share_places.min((-magnitude(half)).max(0));
            format!("{}%", round_to_places(fraction * 100.0, places))
        }
        (Some(fraction), _) => percent(fraction),
    }
}

/// Count or median of counts: `987`, `12.3 k`, `4.56 M`.
pub fn count(value: f64) -> String {
    Quantity::Count.text(value)
}

/// Amount of data: `24.5 MiB`.
pub(crate) fn bytes(value: f64) -> String {
    Quantity::Data.text(value)
}

/// One time in the unit that suits it: `98.4 s`, `569 µs`; `0` for none.
pub fn time(seconds: f64) -> String {
    Quantity::Time.text(seconds)
}

/// Figure with the ends of its interval, all in the unit that suits the figure: `4.42 ns [4.38,
/// 4.51]`. The ends stay out if they are equal.
pub(crate) fn with_ends(quantity: Quantity, estimate: &Estimate) -> String {
    let (scale, gap) = (quantity.scale(estimate.value), quantity.unit().gap);
    let scaled = |value: f64| value / scale.size;
    let (value, ends) =
        figure_with_bounds(scaled(estimate.value), estimate.ci95.map(|ends| ends.map(scaled)));
    let gap = if scale.symbol.is_empty() { "" } else { gap };
    format!("{value}{gap}{}{}", scale.symbol, ends_in_brackets(ends))
}

/// Measured point: `2 CPUs`, `2 CPUs, n = 4`, `2 CPUs, limit of 1.5 CPUs`.
pub fn point_name(count: u32, n: u32, axes: &Coordinates) -> String {
    let further = point_values(count, n, axes);
    further.into_iter().fold(cpus(count), |name, value| format!("{name}, {value}"))
}

/// Values of a point beside its CPU count: `n = 4` unless it is that count, `limit of 1.5 CPUs`,
/// `variant old`.
pub(crate) fn point_values(count: u32, n: u32, axes: &Coordinates) -> Vec<String> {
    let quota = QuotaPercent::from_coordinates(axes).map(|quota| format!("limit of {}", quota_cpus(quota)));
    let others = axes.iter().filter(|(axis, _)| *axis != QUOTA_AXIS);
    let others = others.map(|(axis, value)| format!("{axis} {value}"));
    (n != count).then(|| format!("n = {n}")).into_iter().chain(quota).chain(others).collect()
}

/// CPUs with the ends of their interval: `1.02 [1.01, 1.04]`.
pub(crate) fn cpus_with_ends(cpus: &Estimate) -> String {
    format!("{}{}", cpu_share(cpus.value), ends_in_brackets(cpus.ci95.map(|ends| ends.map(cpu_share))))
}

fn ends_in_brackets(ends: Option<[String; 2]>) -> String {
    ends.filter(|[low, high]| low != high).map(|[low, high]| format!(" [{low}, {high}]")).unwrap_or_default()
}

/// Length of time for reading, not for comparing: `45 s`, `16 min`, `1 h 4 min`.
pub fn duration(seconds: f64) -> String {
    let minutes = (seconds / 60.0).round();
    if seconds < 10.0 {
        time(seconds)
    } else if seconds < 99.5 {
        format!("{} s", round_to_places(seconds, 0))
    } else if minutes < 60.0 {
        format!("{minutes:.0} min")
    } else {
        format!("{:.0} h {:.0} min", (minutes / 60.0).floor(), minutes % 60.0)
    }
}

/// Figures of one column with equal numbers of decimal places: three significant digits of the
/// largest figure and one more.
pub(crate) fn column_cells(values: &[f64]) -> Vec<String> {
    let largest = values.iter().filter(|v| v.is_finite()).fold(0.0, |a: f64, v| a.max(v.abs()));
    let places = significant_places(largest) + i32::from(largest < 999.5);
    values.iter().map(|v| round_to_places(*v, places.min(3))).collect()
}

/// Share in percent with its standard error: `11.2 ± 0.4%`.
pub(crate) fn percent_with_error(share: f64, error: f64) -> String {
    let half = error * 100.0;
    let share = share * 100.0;
    UncertainFigure::new(share, (half > 0.0).then_some([share - half, share + half]), 1.0).inline() + "%"
}

/// CPUs of a speedup stack, always to a hundredth so that readers can add them up: `0.31`.
pub(crate) fn cpu_share(cpus: f64) -> String {
    Quantity::Cpus.text(cpus)
}

/// Number of CPUs: `1 CPU`, `2 CPUs`.
pub fn cpus(n: u32) -> String {
    if n == 1 { "1 CPU".to_owned() } else { format!("{n} CPUs") }
}

/// CPU quota as a number of CPUs: `0.5 CPUs`, `1 CPU`.
pub(crate) fn quota_cpus(quota: QuotaPercent) -> String {
    format!("{quota} {}", if quota == QuotaPercent(100) { "CPU" } else { "CPUs" })
}

/// List in words: `a`, `a and b`, `a, b and c`.
pub(crate) fn join_with_and<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    join_with("and", items)
}

/// Alternatives in words: `a`, `a or b`, `a, b or c`.
pub(crate) fn join_with_or<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    join_with("or", items)
}

fn join_with<T: ToString>(word: &str, items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|i| i.to_string()).collect();
    match items.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} {word} {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_in_a_sentence_has_the_digits_of_its_interval() {
        assert_eq!(figure_with_bounds(1.21, Some([0.1, 3.4])).0, "1.2");
    }

    #[test]
    fn a_serial_fraction_claims_no_more_than_its_interval() {
        assert_eq!(serial_fraction(Some(0.0366), Some([0.0315, 0.0417])), "3.7%");
        assert_eq!(serial_fraction(Some(0.04), Some([0.022, 0.058])), "4%");
        assert_eq!(serial_fraction(Some(0.004), Some([-0.002, 0.01])), "≤ 1.0%");
        assert_eq!(serial_fraction(Some(0.00525), Some([0.0052, 0.0053])), "0.53%");
        assert_eq!(serial_fraction(Some(-0.109), Some([-0.12, -0.10])), "-11%");
        assert_eq!(serial_fraction(Some(0.0366), None), "3.7%");
        assert_eq!(serial_fraction(None, None), ABSENT);
    }

    #[test]
    fn figures_are_written_with_their_ends_and_few_digits() {
        let estimate = |value, low, high| Estimate { value, ci95: Some([low, high]) };
        let (time, rate, share) = (Quantity::Time, Quantity::Rate, Quantity::Share);
        assert_eq!(with_ends(time, &estimate(4.4213e-9, 4.381e-9, 4.5128e-9)), "4.42 ns [4.38, 4.51]");
        assert_eq!(with_ends(time, &estimate(15.321e-6, 14.9e-6, 16.012e-6)), "15.3 µs [14.9, 16.0]");
        assert_eq!(with_ends(time, &Estimate { value: 1.5e-6, ci95: None }), "1.50 µs");
        assert_eq!(with_ends(rate, &estimate(1.5234e6, 1.49e6, 1.551e6)), "1.52 M [1.49, 1.55]");
        assert_eq!(with_ends(share, &estimate(0.731, 0.712, 0.749)), "73% [71, 75]");
        assert_eq!(with_ends(share, &estimate(1.0, 1.0, 1.0)), "100%");
        assert_eq!(cpus_with_ends(&estimate(1.021, 1.012, 1.044)), "1.02 [1.01, 1.04]");
    }

    #[test]
    fn quantities_read_well() {
        assert_eq!([4.2, 45.0, 960.0, 3_840.0].map(duration), ["4.20 s", "45 s", "16 min", "1 h 4 min"]);
        assert_eq!([6.43, 27.8, 131.0].map(two_digits), ["6.4", "28", "130"]);
        assert_eq!(join_with_and([1, 2, 4]), "1, 2 and 4");
    }
}
