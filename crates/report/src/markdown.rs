//! A study for a pull request: verdict, table, speedup stack or traced runs, and warnings in
//! GitHub's Markdown.
//!
//! Figures are written as in the other reports; there is no colour and no curve.

mod comparison;
mod locks;
mod stack;
mod suite;
mod trace;

use std::fmt::{self, Write};

use morecores_study::Host;
use morecores_view::View;

use crate::format::{figures_with_intervals, interval_note};
use crate::points::{Detail, missing_interval_note, points_table};
pub use comparison::comparison_markdown;
pub use locks::locks_markdown;
pub use suite::{suite_markdown, suite_summary_markdown};

use crate::table::{Column, ColumnKind, Table};
use crate::{Notice, Severity, command, decide, notices, verdict_statement};

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
    write_notices(&notices(&view.warnings, &verdict), out)?;
    let mut facts =
        vec![escape_prose(&machine_name(&view.host)), format!("CPUs limited by {}", view.plan.limit)];
    if let [first, rest @ ..] = view.points.as_slice() {
        let mixed = rest.iter().any(|p| p.kernel_ratio_estimator != first.kernel_ratio_estimator);
        let estimator = if mixed { "several estimators" } else { first.kernel_ratio_estimator.name() };
        facts.extend(interval_note(figures_with_intervals(view)).map(str::to_owned));
        facts.push(format!("kernel ratio by {estimator}"));
    }
    writeln!(out, "<sub>{}; morecores {}.</sub>", facts.join("; "), escape_prose(&view.tool))
}

/// Names of the CPU, the system and the kernel, as far as the study has them.
fn machine_name(host: &Host) -> String {
    let names = [&host.cpu_model, &host.os, &host.kernel].map(String::as_str);
    names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(", ")
}

fn write_notices(notices: &[Notice], out: &mut impl Write) -> fmt::Result {
    for Notice { severity, text } in notices {
        let label = if *severity == Severity::Note { "Note" } else { "Warning" };
        writeln!(out, "- **{label}:** {}", escape_prose(text))?;
    }
    if notices.is_empty() { Ok(()) } else { writeln!(out) }
}

fn write_points_table(view: &View, out: &mut impl Write) -> fmt::Result {
    let table = points_table(view, "", &[Detail::Always, Detail::Markdown]);
    write_table(&table, out)?;
    if let Some(note) = missing_interval_note(view) {
        writeln!(out, "{note}\n")?;
    }
    Ok(())
}

fn write_table(table: &Table, out: &mut impl Write) -> fmt::Result {
    let rule = |column: &Column| match column.kind {
        ColumnKind::Name(_) | ColumnKind::Label => "---",
        ColumnKind::Figure(_) => "---:",
    };
    let headers: Vec<String> = table.columns.iter().map(|column| escape_prose(&column.title())).collect();
    writeln!(out, "| {} |", headers.join(" | "))?;
    writeln!(out, "|{}|", table.columns.iter().map(rule).collect::<Vec<_>>().join("|"))?;
    for row in 0..table.columns.iter().map(|column| column.cells.len()).max().unwrap_or(0) {
        let cells: Vec<String> =
            table.columns.iter().map(|column| escape_prose(&column.cells[row].text)).collect();
        writeln!(out, "| {} |", cells.join(" | "))?;
    }
    writeln!(out)
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
