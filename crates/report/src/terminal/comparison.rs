//! Two studies beside each other, for a terminal.
//!
//! This module only lays out; `crate::comparison` decides the words and the rows.

use morecores_view::{Comparison, ConditionResult};

use super::Style;
use super::grid::Grid;
use crate::comparison::{answer, columns, different_commands, grown, grown_rows, judged, note, unlike};
use crate::{Severity, command};

/// Report of `morecores compare`.
pub fn comparison_report(comparison: &Comparison, style: &Style) -> String {
    let paint = style.paint();
    let mut head: Vec<String> = style
        .wrap(&command::for_reading(&comparison.new.command), "  ")
        .iter()
        .map(|l| paint.bold(l))
        .collect();
    for (side, compared) in [("BASE", &comparison.base), ("NEW ", &comparison.new)] {
        head.push(format!("{side}: {}", style.text(&compared.study)));
    }
    let warning = different_commands(comparison).map(|text| {
        let text = format!("warning: {text}");
        style.wrap_labelled(&text, "  ", |label| paint.label(Severity::Serious, label))
    });
    let mut sections = vec![head, warning.unwrap_or_default(), table(comparison, style)];
    sections.push(style.wrap_labelled(&answer(comparison), "", |lead| paint.bold(lead)));
    sections.push(stack(comparison, style));
    sections.push(unlike(comparison).iter().flat_map(|line| note_lines(line, style)).collect());
    sections.push(comparison.conditions.iter().flat_map(|one| condition(one, style)).collect());
    super::joined(sections)
}

fn table(comparison: &Comparison, style: &Style) -> Vec<String> {
    let mut grid = Grid::new(style);
    for (index, (header, cells)) in columns(comparison).into_iter().enumerate() {
        // The ratios and their verdicts stay longest.
        let rank = [0, 2, 2, 0, 0, 4, 3, 1].get(index).copied().unwrap_or(4);
        grid.figures(rank, &header, cells);
    }
    let mut lines = grid.lines();
    lines.extend(style.wrap_dim(&note(comparison)));
    lines
}

fn stack(comparison: &Comparison, style: &Style) -> Vec<String> {
    let Some(said) = grown(comparison) else { return Vec::new() };
    let mut lines = Vec::new();
    let rows = grown_rows(comparison);
    if !rows.is_empty() {
        let mut grid = Grid::new(style);
        grid.labels("CPUs, NEW less BASE", rows.iter().map(|(name, _)| (*name).to_owned()));
        for (index, stack) in comparison.stack.iter().enumerate() {
            let rank = u8::try_from(comparison.stack.len() - 1 - index).unwrap_or(u8::MAX);
            let cells = rows.iter().map(|(_, cells)| cells[index].clone());
            grid.figures(rank, &format!("of {}", stack.cpus), cells);
        }
        lines.extend(grid.lines());
        lines.push(String::new());
    }
    lines.extend(style.wrap(&said, ""));
    lines
}

fn note_lines(line: &str, style: &Style) -> Vec<String> {
    let text = format!("note: {line}");
    style.wrap_labelled(&text, "  ", |label| style.paint().label(Severity::Note, label))
}

fn condition(one: &ConditionResult, style: &Style) -> Vec<String> {
    let severity = if one.holds == Some(false) { Severity::Note } else { Severity::Serious };
    let text = format!("condition: {}", judged(one));
    style.wrap_labelled(&text, "  ", |label| style.paint().label(severity, label))
}
