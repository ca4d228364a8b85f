//! The report of `morecores run` and `morecores show`, for a terminal or a pipe.
//!
//! This module arranges the sections: the answer first, then the table, where the CPUs went, the
//! curve, and the warnings. The caller passes the terminal's abilities in: nothing here asks the
//! terminal or the environment.

mod advice;
mod bars;
mod comparison;
mod curve;
mod division;
mod gains;
pub(crate) mod grid;
mod headline;
mod locks;
mod notices;
pub(crate) mod paint;
mod prediction;
mod stack;
mod suite;
mod table;
mod trace;

use std::borrow::Cow;
use std::path::Path;

use morecores_study::{InCell, QuotaPercent};
use morecores_view::page::Statement;
use morecores_view::{QuotaComparison, TraceView, View};

use crate::stack::Part;
use crate::{ReportedVerdict, decide, notices, verdict_statement};
pub use advice::advice_report;
pub use comparison::comparison_report;
pub use division::{Division, division_report};
pub use gains::gains_report;
pub use locks::locks_report;
use paint::Paint;
pub use prediction::{ModelTable, Price, prediction_report};
pub(crate) use suite::suite_picture;
pub use suite::{suite_report, suite_summary_report};
pub use trace::trace_report;

/// Abilities of the reader's terminal, and the reader's choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal; a number below [`Style::MIN_WIDTH`] counts as [`Style::MIN_WIDTH`].
    pub width: usize,
    /// Whether to colour.
    pub colour: bool,
    /// Whether the terminal shows more than ASCII.
    pub unicode: bool,
    /// Whether to show every column, in several tables if one does not fit.
    pub wide: bool,
}

impl Style {
    /// Narrowest layout: a CPU count next to a figure with its interval.
    pub const MIN_WIDTH: usize = 40;

    /// Largest width of running text and of the curve: longer lines are hard to read.
    const MAX_TEXT_WIDTH: usize = 100;

    fn table_width(&self) -> usize {
        self.width.max(Self::MIN_WIDTH)
    }

    pub(crate) fn text_width(&self) -> usize {
        self.table_width().min(Self::MAX_TEXT_WIDTH)
    }

    pub(crate) fn paint(&self) -> Paint {
        Paint { colour: self.colour }
    }

    /// Sign of a part of a bar in the style's characters.
    fn sign(&self, part: Part) -> char {
        let [unicode, ascii] = part.look().signs;
        if self.unicode { unicode } else { ascii }
    }

    /// Form of `text` that this terminal can show. Control characters are escaped, so that no
    /// command or process name can control the terminal. Without Unicode, characters without an
    /// ASCII form are escaped too.
    pub(crate) fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let is_shown = |c: char| !c.is_control() && (self.unicode || c.is_ascii());
        if text.chars().all(is_shown) {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                c if is_shown(c) => out.push(c),
                c if c.is_control() => out.extend(c.escape_default()),
                '±' => out.push_str("+/-"),
                '≤' => out.push_str("<="),
                'µ' => out.push('u'),
                '–' => out.push('-'),
                '·' => out.push('|'),
                '†' => out.push('*'),
                '‡' => out.push('#'),
                '●' => out.push('o'),
                '┈' => out.push('.'),
                _ => out.push('?'),
            }
        }
        Cow::Owned(out)
    }

    /// Makes `text` showable and breaks it into lines of the text width, with `indent` before every
    /// line except the first.
    pub(crate) fn wrap(&self, text: &str, indent: &str) -> Vec<String> {
        self.wrap_after(text, "", indent)
    }

    /// Wraps like `wrap` and dims the lines: reference text.
    pub(crate) fn wrap_dim(&self, text: &str) -> Vec<String> {
        self.wrap(text, "  ").iter().map(|line| self.paint().dim(line)).collect()
    }

    /// Wraps a statement like `wrap` and paints its lead and colon, if they fit on the first line.
    fn wrap_statement(
        &self,
        statement: &Statement,
        indent: &str,
        paint: impl FnOnce(&str) -> String,
    ) -> Vec<String> {
        let mut lines = self.wrap(&statement.to_string(), indent);
        let label = format!("{}:", self.text(&statement.lead));
        if let Some(first) = lines.first_mut()
            && let Some(rest) = first.strip_prefix(&label)
        {
            *first = paint(&label) + rest;
        }
        lines
    }

    /// Wraps like `wrap`, with `first` before the first line.
    pub(crate) fn wrap_after(&self, text: &str, first: &str, indent: &str) -> Vec<String> {
        let text = self.text(text);
        // The width is measured without colour. Lines break at spaces only: a file name broken at
        // its hyphens cannot be copied.
        let options = textwrap::Options::new(self.text_width())
            .initial_indent(first)
            .subsequent_indent(indent)
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
            .word_separator(textwrap::WordSeparator::AsciiSpace);
        textwrap::wrap(&text, options).into_iter().map(Cow::into_owned).collect()
    }
}

/// Whole report, each line ended by a newline. No line is wider than the style's width, except the
/// last one: the path of the study is never broken, so that it can be copied.
pub fn run_report(view: &View, study: Option<&Path>, style: &Style) -> String {
    let mut sections = vec![headline::headline_lines(view, style)];
    let decision = decide(view);
    if decision.has_result(view) {
        sections.push(verdict_lines(&decision, style));
    }
    if !view.points.is_empty() {
        sections.push(table::points_table(view, style));
    }
    sections.extend(trace_sections(view, style));
    sections.extend(curve::speedup_curve(view, style));
    let mut all_notices = notices(&view.warnings, &decision);
    if let Some(prediction) = &view.prediction {
        sections.extend(prediction::prediction_sections(view, prediction, &[], style));
        all_notices.extend(prediction::caveats(prediction));
    }
    sections.push(notices::notice_lines(&all_notices, style));
    sections.extend(study.map(|path| vec![path_line("study", path, style)]));
    join_sections(sections)
}

/// Sections on where the CPUs went, if runs were traced: the stack and the details of the largest
/// count, or everything.
fn trace_sections(view: &View, style: &Style) -> Vec<Vec<String>> {
    // Traces made for a prediction belong to no measured point; only the wide style shows them.
    let has_point = |trace: &&TraceView| view.point(&trace.cell()).is_some();
    let traces: Vec<&TraceView> = if view.points.is_empty() || style.wide {
        view.traces.iter().collect()
    } else {
        view.traces.iter().filter(has_point).collect()
    };
    let Some(stack) = stack::stack_section(view, style) else {
        let traces: Vec<&TraceView> =
            traces.into_iter().filter(|trace| is_shown_alone(view, trace, style)).collect();
        return traces.iter().flat_map(|t| trace::overview_sections(t, style)).collect();
    };
    let lossy_lines = traces.iter().flat_map(|t| trace::lossy_lines(t, style)).collect();
    let shown = if style.wide { traces.as_slice() } else { &traces[traces.len().max(1) - 1..] };
    let details = shown.iter().flat_map(|t| trace::study_sections(t, style));
    let efficiencies = division::efficiency_section(view, style).filter(|_| style.wide);
    [stack, lossy_lines].into_iter().chain(efficiencies).chain(details).collect()
}

/// Whether a trace is shown where no stack compares CPU counts: of several values of `{n}`, the
/// best and one for each CPU are; of several quotas, the smallest that is enough.
fn is_shown_alone(view: &View, trace: &TraceView, style: &Style) -> bool {
    let enough = view.quota.as_ref().and_then(QuotaComparison::smallest_enough);
    if enough.is_some_and(|quota| QuotaPercent::from_coordinates(&trace.axes) != Some(quota.quota_percent))
        && !style.wide
    {
        return false;
    }
    let ranking =
        view.rankings.iter().find(|ranking| ranking.cpus == trace.cpus && ranking.axes == trace.axes);
    style.wide || ranking.is_none_or(|ranking| trace.n == ranking.best || trace.n == trace.cpus)
}

/// Line that names the place of a file. A path keeps its letters on every terminal, so that it can
/// be copied; only control characters are escaped.
fn path_line(what: &str, path: &Path, style: &Style) -> String {
    let letters = Style { unicode: true, ..*style };
    format!("{what}: {}", letters.text(&path.to_string_lossy()))
}

/// Joins the sections that have lines, with an empty line between two.
fn join_sections(sections: Vec<Vec<String>>) -> String {
    let sections = sections.iter().filter(|lines| !lines.is_empty());
    sections.map(|lines| lines.join("\n") + "\n").collect::<Vec<_>>().join("\n")
}

/// Verdict, with its answer in colour.
fn verdict_lines(verdict: &ReportedVerdict, style: &Style) -> Vec<String> {
    style.wrap_statement(&verdict_statement(verdict), "", |lead| style.paint().verdict(verdict.answer, lead))
}
