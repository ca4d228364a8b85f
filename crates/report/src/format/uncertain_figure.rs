//! A figure with its interval: as `98.4 ± 0.3`, or by the ends of the interval if its sides differ
//! much.

use morecores_view::{PointView, Summary, View};

use morecores_study::quantity::{ABSENT, round_to_places};

use super::decimal_places;

/// A figure and its interval, as text rounded to one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UncertainFigure {
    /// The figure; the lower end of its interval if the interval is written by its ends.
    pub(crate) value: String,
    /// Text behind the figure.
    pub(crate) interval: IntervalText,
}

/// Text behind a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IntervalText {
    /// A half-width.
    Known(String),
    /// Upper end of the interval; the lower end replaces the figure.
    UpperEnd(String),
    /// Too few runs for an interval.
    Unknown,
    /// The figure is exact or absent, so there is no `±`.
    None,
}

impl UncertainFigure {
    /// Figure that needs no interval.
    pub(crate) fn exact(value: impl Into<String>) -> Self {
        Self { value: value.into(), interval: IntervalText::None }
    }

    /// Figure in units of `unit`, with its interval. An interval is rarely symmetric. The written
    /// half-width is that of the wider side, so that the text covers the interval. For an interval
    /// that [`is_lopsided`] that would overstate the error, so its ends are written.
    pub(crate) fn new(value: f64, ci95: Option<[f64; 2]>, unit: f64) -> Self {
        if !value.is_finite() {
            return Self::exact(ABSENT);
        }
        if let Some(ends) = ci95.filter(|ends| is_lopsided(value, *ends))
            && let Some(written) = Self::from_ends(ends.map(|end| end / unit))
        {
            return written;
        }
        let value = value / unit;
        let half = ci95.map(|[low, high]| (value - low / unit).max(high / unit - value).max(0.0));
        let places = decimal_places(value, half);
        let interval = match half {
            Some(half) => {
                // A half-width is never rounded to zero: that would claim certainty.
                let least = 10_f64.powi(-places);
                IntervalText::Known(round_to_places(half.max(least), places))
            }
            None => IntervalText::Unknown,
        };
        Self { value: round_to_places(value, places), interval }
    }

    /// Interval by its ends, rounded to the place of the first digit of its half-width; none if
    /// both ends are the same text.
    fn from_ends([low, high]: [f64; 2]) -> Option<Self> {
        let places = decimal_places(f64::midpoint(low, high), Some((high - low) / 2.0));
        let [low, high] = [low, high].map(|end| round_to_places(end, places));
        (low != high).then_some(Self { value: low, interval: IntervalText::UpperEnd(high) })
    }

    /// Figure and interval on one line: `98.4 ± 0.3`, `0.07 to 0.37`, `98.4 ± ?`, `1`.
    pub(crate) fn inline(&self) -> String {
        match &self.interval {
            IntervalText::Known(half) => format!("{} ± {half}", self.value),
            IntervalText::UpperEnd(high) => format!("{} to {high}", self.value),
            IntervalText::Unknown => format!("{} ± ?", self.value),
            IntervalText::None => self.value.clone(),
        }
    }
}

/// Ratio of an interval's sides, above which the wider side does not stand for both.
const MAX_ASYMMETRY: f64 = 2.0;

/// Whether the sides of an interval differ so much that the interval is written by its ends.
fn is_lopsided(value: f64, [low, high]: [f64; 2]) -> bool {
    let (below, above) = (value - low, high - value);
    below.max(above) > MAX_ASYMMETRY * below.min(above)
}

/// Meaning of the text behind figures with these intervals, for a footnote; none without an
/// interval.
pub(crate) fn interval_note(
    figures: impl IntoIterator<Item = (f64, Option<[f64; 2]>)>,
) -> Option<&'static str> {
    let known: Vec<_> = figures.into_iter().filter_map(|(value, ends)| Some((value, ends?))).collect();
    let by_ends = known.iter().filter(|(value, ends)| is_lopsided(*value, *ends)).count();
    match (by_ends, known.len() - by_ends) {
        (0, 0) => None,
        (0, _) => Some("±: 95% interval of the median, its wider side"),
        (_, 0) => Some("\"a to b\": 95% interval of the median"),
        (_, _) => Some(
            "±: 95% interval of the median, its wider side; \"a to b\": its ends, where one side is more than twice \
             the other",
        ),
    }
}

/// Figures of a view that are written with their intervals.
pub(crate) fn figures_with_intervals(view: &View) -> impl Iterator<Item = (f64, Option<[f64; 2]>)> {
    let summaries = |point: &PointView| {
        let median = |summary: &Summary| (summary.median, summary.ci95);
        [Some(median(&point.elapsed_s)), point.metric.as_ref().map(|metric| median(&metric.summary))]
    };
    let speedups = view.points.iter().skip(1).map(|point| (point.speedup.value, point.speedup.ci95));
    view.points.iter().flat_map(summaries).flatten().chain(speedups)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn uncertain_figure(value: f64, half: f64) -> String {
        UncertainFigure::new(value, Some([value - half, value + half]), 1.0).inline()
    }

    #[test]
    fn digits_follow_the_interval() {
        assert_eq!(uncertain_figure(98.412, 0.31), "98.4 ± 0.3");
        assert_eq!(uncertain_figure(98.412, 0.142), "98.41 ± 0.14");
        assert_eq!(uncertain_figure(569.3, 4.2), "569 ± 4");
        assert_eq!(uncertain_figure(1234.0, 80.0), "1230 ± 80");
        assert_eq!(uncertain_figure(1.0, 0.96), "1.0 ± 1.0");
        assert_eq!(uncertain_figure(0.76, 2.1), "0.76 ± 2.10");
        assert_eq!(uncertain_figure(1.2, 2.3), "1.2 ± 2.3");
        assert_eq!(uncertain_figure(11.4, 14.2), "11 ± 14");
        assert_eq!(uncertain_figure(980.0, 1420.0), "980 ± 1420");
        assert_eq!(uncertain_figure(98.4, 1e-9), "98.4000 ± 0.0001", "never without an uncertainty");
        assert_eq!(uncertain_figure(2.0, 0.0), "2.000 ± 0.001");
    }

    #[test]
    fn the_wider_side_of_an_interval_is_written() {
        assert_eq!(UncertainFigure::new(10.0, Some([9.7, 10.5]), 1.0).inline(), "10.0 ± 0.5");
    }

    #[test]
    fn a_lopsided_interval_is_written_by_its_ends() {
        let written = |value, low, high| UncertainFigure::new(value, Some([low, high]), 1.0).inline();
        assert_eq!(written(0.35, 0.07, 0.37), "0.07 to 0.37");
        assert_eq!(written(10.0, 9.9, 10.5), "9.9 to 10.5");
        assert_eq!(written(10.0, 10.0, 10.5), "10.0 to 10.5");
        assert_eq!(written(569.3, 560.0, 1420.0), "560 to 1420");
        assert_eq!(written(2.0, 2.0 - 1e-12, 2.0), "2.00000 ± 0.00001", "not told apart by ends");
        assert_eq!(UncertainFigure::new(0.0102, Some([0.0101, 0.0109]), 1e-3).inline(), "10.1 to 10.9");
        let note = interval_note([(10.0, None), (10.0, Some([9.9, 10.5]))]);
        assert_eq!(note, Some("\"a to b\": 95% interval of the median"));
        let note = interval_note([(10.0, Some([9.8, 10.2])), (10.0, Some([9.9, 10.5]))]);
        assert!(
            note.is_some_and(|note| note.starts_with('±') && note.contains("\"a to b\": its ends")),
            "{note:?}"
        );
        assert_eq!(interval_note([(10.0, None)]), None);
    }

    #[test]
    fn a_missing_interval_is_marked() {
        assert_eq!(UncertainFigure::new(98.412, None, 1.0).inline(), "98.4 ± ?");
    }

    proptest! {
        /// The written interval covers the exact interval, except for half a unit of its last
        /// digit.
        #[test]
        fn the_written_interval_covers_the_exact_one(value in 0.001..1e4f64, below in 0.0..100.0f64, above in 0.0..100.0f64) {
            let text = UncertainFigure::new(value, Some([value - below, value + above]), 1.0);
            let first: f64 = text.value.parse().unwrap();
            // One significant digit of 1.95 and more is at most 25% off, and the figure half a
            // digit.
            let slack = 0.26 * below.max(above) + 1e-9;
            match &text.interval {
                IntervalText::Known(half) => {
                    let half: f64 = half.parse().unwrap();
                    prop_assert!(half >= below.max(above) - slack && (first - value).abs() <= half, "{text:?}");
                }
                IntervalText::UpperEnd(high) => {
                    let high: f64 = high.parse().unwrap();
                    prop_assert!(first <= value - below + slack && high >= value + above - slack, "{text:?}");
                }
                IntervalText::Unknown | IntervalText::None => panic!("no interval"),
            }
        }
    }
}
