//! One way to write each quantity, used by every report for people.
//!
//! Pure text. `±`, `µ` and similar characters are written as they are;
//! [`Style::text`](crate::Style) replaces them for a terminal that has only ASCII. Machine-readable
//! reports write plain numbers and do not use this module.

mod uncertain_figure;

use morecores_study::Bytes;

pub(crate) use uncertain_figure::{Half, UncertainFigure, figures_with_intervals, interval_note};

/// Significant digits of a figure without an interval.
const PLAIN_DIGITS: i32 = 3;

/// Limit on significant digits: no measured figure is more precise, however narrow its interval.
const MAX_DIGITS: i32 = 6;

/// Text for a figure that does not exist.
pub(crate) const ABSENT: &str = "–";

/// Unit of time, chosen once for a whole column so that its figures compare at a glance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeUnit {
    /// Nanoseconds.
    Nanoseconds,
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Minutes.
    Minutes,
}

impl TimeUnit {
    const ALL: [Self; 5] =
        [Self::Nanoseconds, Self::Microseconds, Self::Milliseconds, Self::Seconds, Self::Minutes];

    /// Symbol of the unit.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => "µs",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
            Self::Minutes => "min",
        }
    }

    /// Length of the unit in seconds.
    pub const fn seconds(self) -> f64 {
        match self {
            Self::Nanoseconds => 1e-9,
            Self::Microseconds => 1e-6,
            Self::Milliseconds => 1e-3,
            Self::Seconds => 1.0,
            Self::Minutes => 60.0,
        }
    }

    /// Chooses the unit for a column of times in seconds: the largest unit in which the smallest
    /// time is still at least 1. The unit is larger if the largest time would otherwise have more
    /// than four digits before the point. Minutes are chosen only for that second reason: people
    /// compare times of minutes in seconds.
    pub fn for_column(seconds: impl IntoIterator<Item = f64>) -> Self {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for time in seconds.into_iter().filter(|t| t.is_finite() && *t > 0.0) {
            least = least.min(time);
            most = most.max(time);
        }
        if most == 0.0 {
            return Self::Seconds;
        }
        let fits = |unit: Self| most / unit.seconds() < 10_000.0;
        let whole = |unit: &Self| *unit < Self::Minutes && least / unit.seconds() >= 1.0;
        let unit = Self::ALL.into_iter().rev().find(whole).unwrap_or(Self::Nanoseconds);
        Self::ALL.into_iter().find(|u| *u >= unit && fits(*u)).unwrap_or(Self::Minutes)
    }
}

/// Figure and the ends of its interval, all rounded to the place of the first digit of the wider
/// side. In a sentence both ends stand beside the figure, and more digits would only be harder to
/// read.
pub(crate) fn figure_with_bounds(value: f64, ci95: Option<[f64; 2]>) -> (String, Option<[String; 2]>) {
    let places = match ci95.map(|[low, high]| (value - low).max(high - value)) {
        Some(half) if half > 0.0 => (-magnitude(half)).max(least_places(value)).clamp(0, MAX_DIGITS - 1),
        _ => plain_places(value),
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
        None => plain_places(value),
    }
}

/// Places for two significant digits.
fn least_places(value: f64) -> i32 {
    1 - magnitude(value)
}

/// Power of ten of the first significant digit.
fn magnitude(value: f64) -> i32 {
    if value.abs() > 0.0 { value.abs().log10().floor() as i32 } else { 0 }
}

/// Places for [`PLAIN_DIGITS`] significant digits; whole numbers are not rounded.
fn plain_places(value: f64) -> i32 {
    // The magnitude is that of the rounded value: 9.996 is 10.0, not 10.00.
    (PLAIN_DIGITS - 1 - magnitude(value * 1.0005)).clamp(0, 3)
}

/// Rounds `value` to `places` decimal places, or to tens, hundreds, … if `places` is negative.
fn round_to_places(value: f64, places: i32) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    let text = if places >= 0 {
        format!("{value:.*}", places as usize)
    } else {
        let step = 10_f64.powi(-places);
        format!("{:.0}", (value / step).round() * step)
    };
    // "-0.0" says nothing that "0.0" does not say.
    if text.starts_with('-') && text.bytes().all(|b| matches!(b, b'-' | b'0' | b'.')) {
        text[1..].to_owned()
    } else {
        text
    }
}

/// Number with three significant digits and no unit: `1.93`, `28.0`, `1234`.
pub fn ratio(value: f64) -> String {
    round_to_places(value, plain_places(value))
}

/// Number of a guess, with two significant digits: `6.4`, `28`, `130`.
pub(crate) fn two_digits(value: f64) -> String {
    round_to_places(value, 1 - magnitude(value))
}

/// Share in percent, with two significant digits below 10% and none after the point above: `0.21%`,
/// `3.6%`, `96%`. A positive share that would round to zero is written `<0.01%`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.005 {
        return "<0.01%".to_owned();
    }
    format!("{}%", round_to_places(percent, percent_places(percent)))
}

/// Threshold in percent: `1%`.
pub(crate) fn whole_percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

/// Decimal places of a figure in percent.
fn percent_places(percent: f64) -> i32 {
    match percent.abs() {
        0.0 => 0,
        small if small < 0.995 => 2,
        middling if middling < 9.95 => 1,
        _ => 0,
    }
}

/// Serial fraction: `3.6%`; `4%` if its interval supports no more digits; `≤ 1.2%` if the
/// interval contains zero, so that the fraction cannot be distinguished from none.
pub(crate) fn serial_fraction(fraction: Option<f64>, ci95: Option<[f64; 2]>) -> String {
    match (fraction, ci95) {
        (None, _) => ABSENT.to_owned(),
        (Some(_), Some([low, high])) if low <= 0.0 && high >= 0.0 => format!("≤ {}", percent(high)),
        (Some(fraction), Some([low, high])) if high > low => {
            let half = (high - fraction).max(fraction - low) * 100.0;
            let places = percent_places(fraction * 100.0).min((-magnitude(half)).max(0));
            format!("{}%", round_to_places(fraction * 100.0, places))
        }
        (Some(fraction), _) => percent(fraction),
    }
}

/// Count or median of counts: `987`, `12.3 k`, `4.56 M`.
pub fn count(value: f64) -> String {
    const PREFIXES: [&str; 4] = ["k", "M", "G", "T"];
    if value.abs() < 9_999.5 {
        // Medians of an even number of counts may end in a half, which is noise.
        return round_to_places(value, 0);
    }
    let mut scaled = value / 1e3;
    let mut prefix = 0;
    while scaled.abs() >= 999.5 && prefix + 1 < PREFIXES.len() {
        scaled /= 1e3;
        prefix += 1;
    }
    format!("{} {}", round_to_places(scaled, plain_places(scaled)), PREFIXES[prefix])
}

/// Amount of data: `24.5 MiB`.
pub(crate) fn bytes(value: f64) -> String {
    // The cast saturates; negative amounts do not exist.
    Bytes(value.round() as u64).to_string()
}

/// One time in the unit that suits it: `98.4 s`, `569 µs`.
pub fn time(seconds: f64) -> String {
    let unit = TimeUnit::for_column([seconds]);
    format!("{} {}", ratio(seconds / unit.seconds()), unit.symbol())
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
    let places = plain_places(largest) + i32::from(largest < 999.5);
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
    round_to_places(cpus, 2)
}

/// Number of CPUs: `1 CPU`, `2 CPUs`.
pub fn cpus(n: u32) -> String {
    if n == 1 { "1 CPU".to_owned() } else { format!("{n} CPUs") }
}

/// List in words: `a`, `a and b`, `a, b and c`.
pub(crate) fn join_with_and<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|i| i.to_string()).collect();
    match items.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
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
    fn a_column_has_one_unit() {
        assert_eq!(TimeUnit::for_column([98.4, 51.0]), TimeUnit::Seconds);
        assert_eq!(TimeUnit::for_column([1_200.0, 640.0]), TimeUnit::Seconds);
        assert_eq!(TimeUnit::for_column([569e-6, 1.2e-3]), TimeUnit::Microseconds);
        assert_eq!(TimeUnit::for_column([120.0, 0.9]), TimeUnit::Seconds);
        assert_eq!(TimeUnit::for_column([20_000.0, 5_000.0]), TimeUnit::Minutes);
        assert_eq!(TimeUnit::for_column([0.0, f64::NAN]), TimeUnit::Seconds);
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
    fn quantities_read_well() {
        assert_eq!([1.934, 28.0, 1234.4, 9.996, 0.0].map(ratio), ["1.93", "28.0", "1234", "10.0", "0.00"]);
        assert_eq!(
            [0.036, 0.962, 0.0996, 0.0, 0.0002, -0.012].map(percent),
            ["3.6%", "96%", "10%", "0%", "0.02%", "-1.2%"]
        );
        assert_eq!(
            [0.0, 987.5, 12_345.0, 999_900.0, 4.56e6].map(count),
            ["0", "988", "12.3 k", "1.00 M", "4.56 M"]
        );
        assert_eq!([4.2, 45.0, 960.0, 3_840.0].map(duration), ["4.20 s", "45 s", "16 min", "1 h 4 min"]);
        assert_eq!([6.43, 27.8, 131.0].map(two_digits), ["6.4", "28", "130"]);
        assert_eq!(time(569.2e-6), "569 µs");
        assert_eq!(join_with_and([1, 2, 4]), "1, 2 and 4");
    }
}
