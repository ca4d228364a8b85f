//! A study for a pull request: verdict, table, speedup stack or traced runs, and warnings in
//! GitHub's Markdown.
//!
//! Figures are written as in the other reports; there is no colour and no curve.

mod comparison;
mod locks;
mod stack;
mod suite;
mod trace;

use morecores_study::Quantity;
use std::fmt::{self, Write};

use morecores_view::{FigureView, PointView, View};

use crate::format::{ABSENT, UncertainFigure, cpus, figures_with_intervals, interval_note, percent};
pub use comparison::comparison_markdown;
pub use locks::locks_markdown;
pub use suite::{suite_markdown, suite_summary_markdown};

use crate::table::{Column, ColumnKind, Table};
use crate::{Severity, command, decide, notices, verdict_statement};

/// Writes the verdict, the table, the speedup stack (the traced runs if there is no stack), and the
/// warnings.
///
/// # Errors
///
/// Fails if writing to `out` fails; writing to a `String` never does.
pub fn view_markdown(view: &View, out: &mut impl Write) -> fmt::Result {
    writeln!(
        out,
        "{}\n",
        code_span(&command::display_command_with_variables(&view.command, &view.plan.env))
    )?;
    let verdict = decide(view);
    if verdict.has_result(view) {
        writeln!(out, "{}\n", escape_prose(&verdict_statement(&verdict).to_string()))?;
    }
    if !view.points.is_empty() {
        write_points_table(view, out)?;
    }
    if view.stack.is_empty() {
        view.traces.iter().try_for_each(|t| trace::write_trace(t, out))?;
    } else {
        stack::write_stack(view, out)?;
    }
    let notices = notices(&view.warnings, &verdict);
    for notice in &notices {
        let label = if notice.severity == Severity::Note { "Note" } else { "Warning" };
        writeln!(out, "- **{label}:** {}", escape_prose(&notice.text))?;
    }
    if !notices.is_empty() {
        writeln!(out)?;
    }
    let host = &view.host;
    let machine: Vec<&str> = [host.cpu_model.as_str(), host.os.as_str(), host.kernel.as_str()]
        .into_iter()
        .filter(|p| !p.is_empty())
        .collect();
    let mut facts = vec![escape_prose(&machine.join(", ")), format!("CPUs limited by {}", view.plan.limit)];
    if let [first, rest @ ..] = view.points.as_slice() {
        let mixed = rest.iter().any(|p| p.kernel_ratio_estimator != first.kernel_ratio_estimator);
        let estimator = if mixed { "several estimators" } else { first.kernel_ratio_estimator.name() };
        facts.extend(interval_note(figures_with_intervals(view)).map(str::to_owned));
        facts.push(format!("kernel ratio by {estimator}"));
    }
    writeln!(out, "<sub>{}; morecores {}.</sub>", facts.join("; "), escape_prose(&view.tool))
}

fn write_points_table(view: &View, out: &mut impl Write) -> fmt::Result {
    let unit = Quantity::Time.column_scale(view.points.iter().map(|p| p.elapsed_s.median));
    let metric = view.points.iter().find_map(|p| p.metric.as_ref());
    let metric_name = metric.map(|m| metric_title(m.name.as_deref(), m.unit.as_deref()));
    let further = view.points.first().map_or(&[] as &[FigureView], |p| &p.further_metrics);

    let mut header = vec!["CPUs".to_owned()];
    header.extend(metric_name.map(|name| escape_prose(&name)));
    header.extend(further.iter().map(|m| escape_prose(&metric_title(Some(&m.name), m.unit.as_deref()))));
    header.push(format!("elapsed ({})", unit.symbol));
    header.extend(
        ["speedup", "efficiency", "serial fraction", "kernel ratio", "%CPU", "runs"].map(str::to_owned),
    );
    writeln!(out, "| {} |", header.join(" | "))?;
    writeln!(out, "|{}", "---:|".repeat(header.len()))?;
    let base = view.points.first().map_or(0, |p| p.cpus);
    for point in &view.points {
        let mut cells = vec![point.cpus.to_string()];
        if metric.is_some() {
            cells.push(point.metric.as_ref().map_or(ABSENT.to_owned(), |m| {
                UncertainFigure::new(m.summary.median, m.summary.ci95, 1.0).inline()
            }));
        }
        let figure = |m: &FigureView| UncertainFigure::new(m.summary.median, m.summary.ci95, 1.0).inline();
        cells.extend(point.further_metrics.iter().map(figure));
        cells.push(UncertainFigure::new(point.elapsed_s.median, point.elapsed_s.ci95, unit.size).inline());
        cells.extend(ratio_cells(point, base));
        cells.push(point.runs.to_string());
        writeln!(out, "| {} |", cells.join(" | "))?;
    }
    let without: Vec<String> =
        view.points.iter().filter(|p| p.elapsed_s.ci95.is_none()).map(|p| cpus(p.cpus)).collect();
    if !without.is_empty() {
        writeln!(out, "\n± ?: no interval with fewer than six runs ({}).", without.join(", "))?;
    }
    writeln!(out)
}

fn write_table(table: &Table, out: &mut impl Write) -> fmt::Result {
    let rule = |column: &Column| match column.kind {
        ColumnKind::Name(_) | ColumnKind::Label => "---",
        ColumnKind::Figure(_) => "---:",
    };
    let headers: Vec<String> =
        table.columns.iter().map(|column| escape_prose(&column.header.replace('\n', " "))).collect();
    writeln!(out, "| {} |", headers.join(" | "))?;
    writeln!(out, "|{}|", table.columns.iter().map(rule).collect::<Vec<_>>().join("|"))?;
    for row in 0..table.columns.iter().map(|column| column.cells.len()).max().unwrap_or(0) {
        let cells: Vec<String> =
            table.columns.iter().map(|column| escape_prose(&column.cells[row].text)).collect();
        writeln!(out, "| {} |", cells.join(" | "))?;
    }
    writeln!(out)
}

/// Name of a metric on one line.
fn metric_title(name: Option<&str>, unit: Option<&str>) -> String {
    match (name, unit) {
        (Some(name), Some(unit)) => format!("{name} ({unit})"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => "metric".to_owned(),
    }
}

fn ratio_cells(point: &PointView, base: u32) -> [String; 5] {
    let speedup = if point.cpus == base {
        UncertainFigure::exact("1")
    } else {
        UncertainFigure::new(point.speedup.value, point.speedup.ci95, 1.0)
    };
    [
        speedup.inline(),
        percent(point.efficiency),
        crate::format::serial_fraction(point.serial_fraction, point.serial_fraction_ci95),
        point.kernel_ratio.map_or(ABSENT.to_owned(), percent),
        format!("{:.0}", point.cpu_percent),
    ]
}

/// Escapes text for Markdown, so that nothing in it starts a table cell, a tag or emphasis.
fn escape_prose(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '*' | '_' | '<' | '>' | '`' | '[' | ']' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// Code span, fenced by more backticks than the text holds in a row (CommonMark 0.31, section 6.1).
fn code_span(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let pad = if text.contains('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}
