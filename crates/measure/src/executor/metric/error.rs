//! Reasons for which a run has no figure.

use std::fmt;

use morecores_study::{DecimalMark, MissingFigure};

/// Reason for which a run has no figure, and the metric.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("--metric `{metric}` {fault}")]
pub struct MetricError {
    /// Name of the metric, where it has one.
    pub name: Option<String>,
    /// The metric as the option names it.
    pub metric: String,
    /// What is wrong.
    pub fault: Box<MetricFault>,
}

impl MetricError {
    /// What is kept of it with the run.
    pub(crate) fn missing(&self) -> MissingFigure {
        let text = match &*self.fault {
            MetricFault::Expression { .. } | MetricFault::NoMatch { .. } => None,
            MetricFault::NotANumber { text }
            | MetricFault::NoRate { text }
            | MetricFault::NoCost { text }
            | MetricFault::Part { whole: text, .. }
            | MetricFault::TwoReadings { text, .. }
            | MetricFault::OtherMark { text, .. }
            | MetricFault::Mixed { text }
            | MetricFault::OtherUnit { text, .. }
            | MetricFault::NameOrText { as_name: text, .. } => Some(text.clone()),
        };
        MissingFigure { name: self.name.clone(), text }
    }
}

/// What is wrong with a figure.
#[derive(Debug, Clone, PartialEq)]
pub enum MetricFault {
    /// The expression cannot be read.
    Expression {
        /// What is wrong with it.
        reason: String,
    },
    /// It matched nothing.
    NoMatch {
        /// The last line of the output.
        last_line: String,
    },
    /// It matched something that is no number.
    NotANumber {
        /// What it matched.
        text: String,
    },
    /// A rate of nothing.
    NoRate {
        /// What it matched.
        text: String,
    },
    /// A cost below nothing.
    NoCost {
        /// What it matched.
        text: String,
    },
    /// It matched a part of what was printed, and the whole means something else.
    Part {
        /// What it matched.
        text: String,
        /// What was printed.
        whole: String,
    },
    /// The number has one value by a decimal point, another by a decimal comma.
    TwoReadings {
        /// What it matched.
        text: String,
        /// By a point.
        point: f64,
        /// By a comma.
        comma: f64,
    },
    /// The number has another mark before its fraction than the user or an earlier figure said.
    OtherMark {
        /// What it matched.
        text: String,
        /// Its mark.
        mark: DecimalMark,
    },
    /// Numbers with three digits behind a point and whole ones: thousands may be grouped.
    Mixed {
        /// What it matched.
        text: String,
    },
    /// The unit is another than that of the figures before, and cannot be converted.
    OtherUnit {
        /// What it matched.
        text: String,
        /// The unit beside it, if there is one.
        unit: Option<String>,
        /// That of the figures before, or of `--unit`.
        usual: Option<String>,
    },
    /// `NAME=` may be the metric's name, or a part of the expression, which finds another figure.
    NameOrText {
        /// The name.
        name: String,
        /// The expression behind it.
        regex: String,
        /// What the expression matches with the name as text.
        as_text: String,
        /// What it matches without.
        as_name: String,
    },
}

impl fmt::Display for MetricFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expression { reason } => write!(f, "cannot be read: {reason}"),
            Self::NoMatch { last_line } => {
                write!(f, "matched nothing in what the command printed; its last line was: {last_line}")
            }
            Self::NotANumber { text } => write!(f, "matched `{text}`, which is not a number"),
            Self::NoRate { text } => {
                write!(f, "matched `{text}`, which is no rate above zero: for a cost, give --lower-is-better")
            }
            Self::NoCost { text } => write!(f, "matched `{text}`, and a cost is not below zero"),
            Self::Part { text, whole } => write!(
                f,
                "matched `{text}`, a part of `{whole}`, which means something else: let the expression take in the \
                 whole number, or the command print a plain one"
            ),
            Self::TwoReadings { text, point, comma } => write!(
                f,
                "matched `{text}`, which is {point} with a decimal point and {comma} with a decimal comma: say which by \
                 --decimal-mark point or --decimal-mark comma"
            ),
            Self::OtherMark { text, mark } => {
                let (this, other) = match mark {
                    DecimalMark::Point => ("point", "comma"),
                    DecimalMark::Comma => ("comma", "point"),
                };
                write!(
                    f,
                    "matched `{text}` with a decimal {this}, where a decimal {other} was given or printed before: the \
                     command's numbers must be printed alike"
                )
            }
            Self::Mixed { text } => write!(
                f,
                "matched `{text}`, and in another run a number with three digits behind a point, which may stand between \
                 thousands: say so by --decimal-mark point or --decimal-mark comma"
            ),
            Self::OtherUnit { text, unit, usual } => {
                let named = |unit: &Option<String>| unit.clone().unwrap_or_else(|| "no unit".to_owned());
                write!(
                    f,
                    "matched `{text}` with {} beside it, where {} is expected by --unit or the runs before, and the one \
                     cannot be converted to the other: let the command print one unit",
                    named(unit),
                    named(usual)
                )
            }
            Self::NameOrText { name, regex, as_text, as_name } => write!(
                f,
                "finds `{as_name}` where {name} is its name, and `{as_text}` where `{name}=` is what the command prints: \
                 for the second, give {name}={name}={regex}"
            ),
        }
    }
}
