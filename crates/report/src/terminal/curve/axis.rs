//! An axis of the curve: its range, its scale and the places of its labels.
//!
//! This module knows nothing of the plotted data.

use crate::format::ratio;

/// Ratio of the largest to the smallest CPU count, above which the axes are logarithmic. Up to 8 a
/// linear axis keeps 1, 2 and 4 apart at any width here; beyond 8 they would fall into one corner.
const MAX_LINEAR_RATIO: f64 = 8.0;

/// Smallest number of rows between two labels of the speedup: closer labels are noise.
const ROWS_PER_LABEL: f64 = 3.0;

/// Fewest labels of a logarithmic axis: two only show where the axis ends.
const PREFERRED_LABELS: usize = 3;

/// Spread of values over an axis; both axes have one scale, so that the ideal line is straight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::terminal) enum Scale {
    /// Even spacing.
    Linear,
    /// Equal room for each doubling: equal efficiency is an equal distance below the ideal line.
    Log2,
}

impl Scale {
    /// Chooses the scale for CPU counts from `least` to `most`.
    pub(in crate::terminal) fn for_range(least: f64, most: f64) -> Self {
        if most / least > MAX_LINEAR_RATIO { Self::Log2 } else { Self::Linear }
    }

    fn apply(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Log2 => value.log2(),
        }
    }
}

/// An axis with its labels.
pub(in crate::terminal) struct Axis {
    scale: Scale,
    from: f64,
    to: f64,
    labels: Vec<(f64, String)>,
}

impl Axis {
    /// Axis of CPU counts, labelled at the measured counts.
    pub(in crate::terminal) fn for_counts(scale: Scale, counts: &[f64]) -> Self {
        let from = counts.iter().copied().fold(f64::INFINITY, f64::min);
        let to = counts.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let labels = counts.iter().map(|c| (*c, c.to_string())).collect();
        Self { scale, from, to, labels }
    }

    /// Axis of speedups, labelled at round numbers.
    pub(in crate::terminal) fn for_speedups(scale: Scale, from: f64, to: f64) -> Self {
        let values: Vec<f64> = match scale {
            Scale::Linear => even_values(from, to),
            Scale::Log2 => {
                let last = to.log2().floor() as i32;
                let powers: Vec<f64> =
                    (from.log2().ceil() as i32..=last).map(|power| 2_f64.powi(power)).collect();
                // A range of less than two doublings holds too few powers of two.
                if powers.len() < PREFERRED_LABELS { even_values(from, to) } else { powers }
            }
        };
        let labels = values.into_iter().map(|v| (v, label_text(v))).collect();
        Self { scale, from, to, labels }
    }

    /// Position of `value` on the axis, from 0 to 1.
    pub(in crate::terminal) fn position(&self, value: f64) -> f64 {
        let (from, to) = (self.scale.apply(self.from), self.scale.apply(self.to));
        ((self.scale.apply(value) - from) / (to - from)).clamp(0.0, 1.0)
    }

    /// Values at the ends of the axis.
    pub(in crate::terminal) fn ends(&self) -> [f64; 2] {
        [self.from, self.to]
    }

    /// Width of the widest label.
    pub(in crate::terminal) fn label_width(&self) -> usize {
        self.labels.iter().map(|(_, text)| text.len()).max().unwrap_or(0)
    }

    /// Label of a row of a vertical axis with `height` rows; row 0 is the top.
    pub(in crate::terminal) fn label_at(&self, row: usize, height: usize, dots: usize) -> Option<&str> {
        let row_of = |value: f64| super::cell_index(1.0 - self.position(value), height, dots);
        // With few rows, only every second label is used, or every fourth, ….
        let rows_each = (height - 1) as f64 / (self.labels.len().max(2) - 1) as f64;
        let every = (ROWS_PER_LABEL / rows_each / 1.5).ceil().max(1.0) as usize;
        self.labels.iter().step_by(every).find(|(v, _)| row_of(*v) == row).map(|(_, text)| text.as_str())
    }

    /// Line of a horizontal axis and the labels below it. A label that would touch another is left
    /// out; the labels at the ends never are.
    pub(in crate::terminal) fn horizontal_lines(
        &self,
        width: usize,
        dots: usize,
        tick: char,
        line: char,
    ) -> (String, String) {
        let mut rule = vec![line; width];
        // Room for half a label beyond the right end.
        let mut names = vec![' '; width + 2];
        let mut free_from = 0;
        let last = self.labels.len().saturating_sub(1);
        let span = |(value, text): &(f64, String)| {
            let centre = super::cell_index(self.position(*value), width, dots);
            let start = centre.saturating_sub(text.len() / 2).min(width + 2 - text.len());
            (centre, start, start + text.len())
        };
        let last_start = self.labels.last().map_or(0, |label| span(label).1);
        for (i, label) in self.labels.iter().enumerate() {
            let (centre, start, end) = span(label);
            rule[centre] = tick;
            if i == 0 || i == last || (start >= free_from && end < last_start) {
                names[start..end].iter_mut().zip(label.1.chars()).for_each(|(at, c)| *at = c);
                free_from = end + 1;
            }
        }
        (rule.into_iter().collect(), names.into_iter().collect())
    }
}

/// Some five round values at even distances.
fn even_values(from: f64, to: f64) -> Vec<f64> {
    let step = round_step((to - from) / 5.0);
    let first = (from / step).ceil();
    (0..=10).map(|i| (first + f64::from(i)) * step).take_while(|v| *v <= to * (1.0 + 1e-9)).collect()
}

/// Next larger value among 1, 2 and 5 times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let digit = step / power;
    power * [1.0, 2.0, 5.0].into_iter().find(|d| digit <= d + 1e-9).unwrap_or(10.0)
}

/// Round number without needless zeros.
fn label_text(value: f64) -> String {
    let text = ratio(value);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithmic_axis_of_any_range_has_labels_that_differ() {
        for from in [0.3, 0.9, 1.0, 1.1, 3.0, 17.0, 100.0] {
            for ratio in [1.1, 1.3, 1.9, 2.0, 2.5, 3.9, 4.0, 7.0, 60.0, 500.0] {
                let axis = Axis::for_speedups(Scale::Log2, from, from * ratio);
                let texts: Vec<&str> = axis.labels.iter().map(|(_, text)| text.as_str()).collect();
                assert!(texts.len() >= 2, "{from} to {}: {texts:?}", from * ratio);
                assert!(texts.windows(2).all(|pair| pair[0] != pair[1]), "{texts:?}");
                let (_, below) = axis.horizontal_lines(48, 1, '+', '-');
                assert!(below.split_whitespace().count() >= 2, "{from} to {}: {below}", from * ratio);
            }
        }
    }
}
