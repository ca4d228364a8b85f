//! The few colours of the report, and their uses.
//!
//! No information is in a colour alone: the text next to it says the same.

use anstyle::{AnsiColor, Style};
use morecores_machine::State;
use morecores_view::Answer;

use crate::warning::Severity;

/// Efficiency from which a CPU count is green: four fifths of the allotted CPUs are used. A choice.
const GOOD_EFFICIENCY: f64 = 0.8;

/// Efficiency below which a CPU count is red: more than half of the allotted CPUs is lost. A
/// choice.
const POOR_EFFICIENCY: f64 = 0.5;

/// Colour of a figure of a point with this efficiency.
pub(super) fn efficiency_colour(efficiency: f64) -> AnsiColor {
    if efficiency >= GOOD_EFFICIENCY {
        AnsiColor::Green
    } else if efficiency >= POOR_EFFICIENCY {
        AnsiColor::Yellow
    } else {
        AnsiColor::Red
    }
}

/// Colours text, or leaves it unchanged.
#[derive(Clone, Copy)]
pub(crate) struct Paint {
    /// Whether to colour.
    pub(super) colour: bool,
}

impl Paint {
    fn styled(self, style: Style, text: &str) -> String {
        if self.colour && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// Paints the command and column names.
    pub(crate) fn bold(self, text: &str) -> String {
        self.styled(Style::new().bold(), text)
    }

    /// Paints reference text.
    pub(crate) fn dim(self, text: &str) -> String {
        self.styled(Style::new().dimmed(), text)
    }

    /// Paints the measured curve.
    pub(super) fn measured(self, text: &str) -> String {
        self.styled(Style::new().fg_color(Some(AnsiColor::Cyan.into())), text)
    }

    /// Paints a cell or a part of a bar; its text or its sign says the same.
    pub(super) fn part(self, colour: AnsiColor, text: &str) -> String {
        self.styled(Style::new().fg_color(Some(colour.into())), text)
    }

    /// Paints the first words of the verdict.
    pub(super) fn verdict(self, answer: Answer, text: &str) -> String {
        let colour = match answer {
            Answer::Yes => AnsiColor::Green,
            Answer::No => AnsiColor::Red,
            Answer::Unknown => AnsiColor::Yellow,
        };
        self.styled(Style::new().bold().fg_color(Some(colour.into())), text)
    }

    /// Paints the state of a finding.
    pub(crate) fn state(self, state: State, text: &str) -> String {
        let colour = match state {
            State::Fine => AnsiColor::Green,
            State::Limited => AnsiColor::Yellow,
            State::Missing => AnsiColor::Red,
        };
        self.styled(Style::new().fg_color(Some(colour.into())), text)
    }

    /// Paints the label of a warning.
    pub(super) fn label(self, severity: Severity, text: &str) -> String {
        match severity {
            Severity::Serious => {
                self.styled(Style::new().bold().fg_color(Some(AnsiColor::Yellow.into())), text)
            }
            Severity::Caution => self.styled(Style::new().fg_color(Some(AnsiColor::Yellow.into())), text),
            Severity::Note => self.dim(text),
        }
    }
}
