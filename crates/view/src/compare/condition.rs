//! Conditions on figures, such as `speedup@2 < 95%`, and their verdicts.
//!
//! A condition holds if the whole interval satisfies it, and does not hold if no part of the
//! interval does. The callers decide on exit statuses and text.

use std::str::FromStr;

use crate::{ConditionResult, Estimate};
use serde_json::Value;
use thiserror::Error;

use super::figure::{Figure, WhyNoInterval, find_figure};
use super::ratios::log_difference;
use morecores_statistics::Interval;

/// Condition on a figure, with the text that the user wrote.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    text: String,
    figure: String,
    cpus: u32,
    is_below: bool,
    or_equal: bool,
    limit: f64,
    relative_to_base: bool,
}

/// Reason why a condition cannot be judged.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ConditionError {
    /// Text that is not a condition.
    #[error(
        "`{0}`: write a figure at a CPU count, <, <=, > or >=, and a number or a share of BASE, like 'speedup@2 < 95%'"
    )]
    Shape(String),
    /// Study without the figure.
    #[error(
        "`{condition}`: {study} has no figure {figure}; `morecores show {study} --json` has them all, like speedup@2, elapsed_s@1, idle_disk@2"
    )]
    NoFigure {
        /// Condition as the user wrote it.
        condition: String,
        /// Name of the study.
        study: String,
        /// Name of the figure.
        figure: String,
    },
    /// Figure without an interval, which chance alone can move across any limit.
    #[error("`{condition}`: {figure} {}", no_interval_text(*.why, *.cpus))]
    NoInterval {
        /// Condition as the user wrote it.
        condition: String,
        /// Name of the figure.
        figure: String,
        /// CPU count of the condition.
        cpus: u32,
        /// Reason.
        why: WhyNoInterval,
    },
    /// Share of a figure that is not above zero.
    #[error(
        "`{0}`: the figure of BASE or NEW is not above zero, so a share of it has no meaning; write a number without %"
    )]
    NoShare(String),
}

fn no_interval_text(why: WhyNoInterval, cpus: u32) -> String {
    let (what, instead) = match why {
        WhyNoInterval::ExtremeOrMean => ("is an extreme or a mean of the runs", "the median"),
        WhyNoInterval::OneTracedRun => ("comes from one traced run", "a median of the timed runs"),
        WhyNoInterval::NotAMedian => ("is a count, a sum or a setting", "a median of the runs"),
    };
    format!(
        "{what} and has no confidence interval, so chance alone could decide; use {instead}, like elapsed_s@{cpus}, \
         user_s@{cpus} or minor_faults@{cpus}"
    )
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        let shape_error = || ConditionError::Shape(text.to_owned());
        let sign = text.find(['<', '>']).ok_or_else(shape_error)?;
        let (figure, rest) = text.split_at(sign);
        let is_below = rest.starts_with('<');
        let or_equal = rest[1..].starts_with('=');
        let number = rest[1 + usize::from(or_equal)..].trim();
        let (figure, cpus) = figure.trim().rsplit_once('@').ok_or_else(shape_error)?;
        let relative_to_base = number.ends_with('%');
        let limit: f64 = number.trim_end_matches('%').trim().parse().map_err(|_| shape_error())?;
        let is_name_char = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if figure.is_empty() || !figure.chars().all(is_name_char) || !limit.is_finite() {
            return Err(shape_error());
        }
        let cpus = cpus.parse().map_err(|_| shape_error())?;
        let limit = if relative_to_base { limit / 100.0 } else { limit };
        Ok(Self {
            text: text.to_owned(),
            figure: figure.to_owned(),
            cpus,
            is_below,
            or_equal,
            limit,
            relative_to_base,
        })
    }
}

impl Condition {
    /// Returns whether the condition is about a CPU count that is not in `measured`. Only a
    /// prediction can have such a figure.
    pub fn is_beyond(&self, measured: &[u32]) -> bool {
        !measured.contains(&self.cpus)
    }

    fn holds_at(&self, value: f64) -> bool {
        match (self.is_below, self.or_equal) {
            (true, false) => value < self.limit,
            (true, true) => value <= self.limit,
            (false, false) => value > self.limit,
            (false, true) => value >= self.limit,
        }
    }
}

/// Judges `condition` for the views `base` and `new` as JSON, each with the name of its study.
///
/// # Errors
///
/// [`ConditionError`] if a study has no such figure, if the figure has no interval, or if a share
/// of the figure is undefined.
pub fn judge(
    condition: &Condition,
    base: (&str, &Value),
    new: (&str, &Value),
) -> Result<ConditionResult, ConditionError> {
    let Condition { text, figure, cpus, .. } = condition;
    let (condition_text, name) = (|| text.clone(), || format!("{figure}@{cpus}"));
    let find = |(study, view): (&str, &Value)| match find_figure(view, figure, *cpus) {
        Some(Figure::Estimate(estimate)) => Ok(estimate),
        Some(Figure::WithoutInterval(why)) => {
            Err(ConditionError::NoInterval { condition: condition_text(), figure: name(), cpus: *cpus, why })
        }
        None => {
            let study = study.to_owned();
            Err(ConditionError::NoFigure { condition: condition_text(), study, figure: name() })
        }
    };
    let new = find(new)?;
    let base = condition.relative_to_base.then(|| find(base)).transpose()?;
    let compared = match base {
        None => new,
        Some(base) => share_of_base(new, base).ok_or_else(|| ConditionError::NoShare(condition_text()))?,
    };
    let holds = compared.ci95.and_then(|ends| {
        let [low, high] = ends.map(|end| condition.holds_at(end));
        (low == high).then_some(low)
    });
    Ok(ConditionResult {
        condition: condition_text(),
        base,
        new,
        compared,
        limit: condition.limit,
        of_base: condition.relative_to_base,
        holds,
    })
}

/// Returns the ratio of `new` to `base`; none if one of them is not positive. The ratio has no
/// interval if one of the two has none or includes zero.
fn share_of_base(new: Estimate, base: Estimate) -> Option<Estimate> {
    if !(new.value > 0.0 && base.value > 0.0) {
        return None;
    }
    let interval = |estimate: Estimate| {
        let [lo, hi] = estimate.ci95.filter(|[lo, _]| *lo > 0.0)?;
        Some(Interval { lo, hi })
    };
    let quotient =
        interval(new).zip(interval(base)).map(|(n, b)| log_difference((new.value, n), (base.value, b)));
    Some(Estimate { value: new.value / base.value, ci95: quotient.map(Interval::ends) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn view(speedup: f64, half: f64) -> Value {
        json!({"points": [
            {"cpus": 2, "speedup": {"value": speedup, "ci95": [speedup - half, speedup + half]}, "failed_runs": 0, "major_faults": 0.0,
             "major_faults_ci95": [0.0, 0.0]},
            {"cpus": 4, "speedup": {"value": speedup, "ci95": null}},
        ]})
    }

    fn holds(text: &str, base: &Value, new: &Value) -> Option<bool> {
        let condition: Condition = text.parse().expect(text);
        judge(&condition, ("a", base), ("b", new)).expect(text).holds
    }

    #[test]
    fn a_condition_holds_if_the_whole_interval_does() {
        let (base, less, wide) = (view(1.9, 0.01), view(1.6, 0.01), view(1.75, 0.2));
        assert_eq!(holds("speedup@2 < 95%", &base, &less), Some(true));
        assert_eq!(holds("speedup@2<95%", &base, &base), Some(false));
        assert_eq!(holds("speedup@2 < 95 %", &base, &wide), None);
        assert_eq!(holds("speedup@2 < 1.7", &base, &less), Some(true));
        assert_eq!(holds("speedup@2 > 1.7", &base, &less), Some(false));
        assert_eq!(holds("speedup@4 >= 1.0", &base, &less), None, "too few runs");
        assert_eq!(holds("major_faults@2 <= 0", &base, &less), Some(true));
        assert_eq!(holds("major_faults@2 < 0", &base, &less), Some(false));
    }

    #[test]
    fn text_that_is_not_a_condition_is_refused() {
        for text in [
            "",
            "speedup",
            "speedup < 2",
            "speedup@2",
            "speedup@2 < ",
            "speedup@x < 2",
            "@2 < 3",
            "speedup@2 < nan",
            "a b@2 < 3",
            "speedup@2 = 3",
        ] {
            assert_eq!(text.parse::<Condition>(), Err(ConditionError::Shape(text.to_owned())));
        }
        let condition: Condition = "speedup@8 < 95%".parse().expect("a condition");
        let error =
            judge(&condition, ("a", &view(1.0, 0.1)), ("b", &view(1.0, 0.1))).expect_err("no such count");
        assert!(error.to_string().contains("b has no figure speedup@8"), "{error}");
        let exact: Condition = "failed_runs@2 > 0".parse().expect("a condition");
        let error = judge(&exact, ("a", &view(1.0, 0.1)), ("b", &view(1.0, 0.1))).expect_err("no interval");
        assert!(error.to_string().contains("use a median of the runs, like elapsed_s@2"), "{error}");
        let share: Condition = "major_faults@2 < 95%".parse().expect("a condition");
        let error =
            judge(&share, ("a", &view(0.0, 0.1)), ("b", &view(1.0, 0.1))).expect_err("a share of nothing");
        assert_eq!(error, ConditionError::NoShare("major_faults@2 < 95%".to_owned()));
    }
}
