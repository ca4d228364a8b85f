//! Two studies side by side, for a terminal.
//!
//! This module only lays out; `crate::comparison` decides the words and the rows.

use morecores_view::page::Statement;
use morecores_view::{Comparison, ConditionResult};

use super::Style;
use super::grid::Grid;
use crate::comparison::{
    condition_text, different_commands, growth_table, growth_text, mismatch_lines, table, table_note,
    verdict_statement,
};
use crate::{Severity, command};

/// Report of `morecores compare`.
pub fn comparison_report(comparison: &Comparison, style: &Style) -> String {
    let paint = style.paint();
    let mut head: Vec<String> = style
        .wrap(&command::display_command(&comparison.new.command), "  ")
        .iter()
        .map(|l| paint.bold(l))
        .collect();
    for (side, study) in [("BASE", &comparison.base), ("NEW ", &comparison.new)] {
        head.push(format!("{side}: {}", style.text(&study.study)));
    }
    let warning = different_commands(comparison).map(|text| {
        let text = Statement::new("warning", text);
        style.wrap_statement(&text, "  ", |label| paint.label(Severity::Serious, label))
    });
    let mut sections = vec![head, warning.unwrap_or_default(), table_lines(comparison, style)];
    sections.push(style.wrap_statement(&verdict_statement(comparison), "", |lead| paint.bold(lead)));
    sections.push(growth_section(comparison, style));
    sections.push(mismatch_lines(comparison).iter().flat_map(|line| note_lines(line, style)).collect());
    sections.push(comparison.conditions.iter().flat_map(|one| condition_lines(one, style)).collect());
    super::join_sections(sections)
}

fn table_lines(comparison: &Comparison, style: &Style) -> Vec<String> {
    let mut lines = Grid::from_table(&table(comparison), style).into_lines();
    lines.extend(style.wrap_dim(&table_note(comparison)));
    lines
}

fn growth_section(comparison: &Comparison, style: &Style) -> Vec<String> {
    let Some(text) = growth_text(comparison) else { return Vec::new() };
    let mut lines = Vec::new();
    if let Some(table) = growth_table(comparison) {
        lines.extend(Grid::from_table(&table, style).into_lines());
        lines.push(String::new());
    }
    lines.extend(style.wrap(&text, ""));
    lines
}

fn note_lines(line: &str, style: &Style) -> Vec<String> {
    let text = Statement::new("note", line);
    style.wrap_statement(&text, "  ", |label| style.paint().label(Severity::Note, label))
}

fn condition_lines(one: &ConditionResult, style: &Style) -> Vec<String> {
    let severity = if one.holds == Some(false) { Severity::Note } else { Severity::Serious };
    let text = Statement::new("condition", condition_text(one));
    style.wrap_statement(&text, "  ", |label| style.paint().label(severity, label))
}
