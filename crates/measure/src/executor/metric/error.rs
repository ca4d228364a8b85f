//! Reasons for which a run has no figure.

use std::fmt;

use morecores_study::{DecimalMark, MissingFigure};

/// Reason for which a run has no figure, and the metric.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("--metric `{metric}` {fault}")]
pub struct MetricError {
    /// Name of the metric, if it has one.
    pub name: Option<String>,
    /// The metric as the option names it.
    pub metric: String,
    /// Fault of the figure.
    pub fault: Box<MetricFault>,
}

impl MetricError {
    /// Record of the error that is kept with the run.
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

/// Fault of a figure.
#[derive(Debug, Clone, PartialEq)]
pub enum MetricFault {
    /// The expression is invalid.
    Expression {
        /// Description of the error in the expression.
        reason: String,
    },
    /// The expression matched nothing.
    NoMatch {
        /// Last line of the output.
        last_line: String,
    },
    /// The expression matched text that is not a number.
    NotANumber {
        /// Matched text.
        text: String,
    },
    /// A rate of zero or below.
    NoRate {
        /// Matched text.
        text: String,
    },
    /// A cost below zero.
    NoCost {
        /// Matched text.
        text: String,
    },
    /// The expression matched a part of the printed text, and the whole text means another number.
    Part {
        /// Matched text.
        text: String,
        /// Printed text.
        whole: String,
    },
    /// The number has different values with a decimal point and with a decimal comma.
    TwoReadings {
        /// Matched text.
        text: String,
        /// Value with a decimal point.
        point: f64,
        /// Value with a decimal comma.
        comma: f64,
    },
    /// The number's decimal mark differs from that of the user or of an earlier figure.
    OtherMark {
        /// Matched text.
        text: String,
        /// Decimal mark of the number.
        mark: DecimalMark,
    },
    /// Some numbers have three digits after a point, and others are whole numbers of up to three
    /// digits. The points may group thousands.
    Mixed {
        /// Matched text.
        text: String,
    },
    /// The unit differs from that of earlier figures, and cannot be converted to it.
    OtherUnit {
        /// Matched text.
        text: String,
        /// Unit beside the number, if any.
        unit: Option<String>,
        /// Unit of the earlier figures, or of `--unit`.
        usual: Option<String>,
    },
    /// `NAME=` may be the metric's name or a part of the expression, and the two interpretations
    /// find different figures.
    NameOrText {
        /// Name of the metric.
        name: String,
        /// Expression after the name.
        regex: String,
        /// Match of the expression with the name as text.
        as_text: String,
        /// Match of the expression without the name.
        as_name: String,
    },
}

impl fmt::Display for MetricFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expression { reason } => write!(f, "cannot be read: {reason}"),
            Self::NoMatch { last_line } => {
                write!(f, "matched nothing in the output of the command; the last line was: {last_line}")
            }
            Self::NotANumber { text } => write!(f, "matched `{text}`, which is not a number"),
            Self::NoRate { text } => {
                write!(
                    f,
                    "matched `{text}`, which is not a rate above zero: for a cost, give --lower-is-better"
                )
            }
            Self::NoCost { text } => write!(f, "matched `{text}`, but a cost is never below zero"),
            Self::Part { text, whole } => write!(
                f,
                "matched `{text}`, a part of `{whole}`, so the figure may be wrong: let the expression match the whole \
                 number, or let the command print a plain one"
            ),
            Self::TwoReadings { text, point, comma } => write!(
                f,
                "matched `{text}`, which is {point} with a decimal point and {comma} with a decimal comma: choose with \
                 --decimal-mark point or --decimal-mark comma"
            ),
            Self::OtherMark { text, mark } => {
                let (this, other) = match mark {
                    DecimalMark::Point => ("point", "comma"),
                    DecimalMark::Comma => ("comma", "point"),
                };
                write!(
                    f,
                    "matched `{text}` with a decimal {this}, but a decimal {other} was given or printed before: let the \
                     command print all numbers in one way"
                )
            }
            Self::Mixed { text } => write!(
                f,
                "matched `{text}`, and in another run a number with three digits behind a point, which may be a \
                 thousands separator: choose with --decimal-mark point or --decimal-mark comma"
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
