//! Stacked bars: positive parts to the right of the zero mark, negative parts to its left.
//!
//! This module only draws; the caller decides the parts and their meaning.

use morecores_study::Quantity;

use super::Style;
use crate::stack::Part;

/// Smallest number of columns between two ticks of the axis.
const LEAST_TICK_DISTANCE: f64 = 7.0;

/// Share of a cell from which the part below zero gets a whole cell: a gain must not be rounded
/// away, nor noise drawn.
const VISIBLE_CELL: f64 = 0.2;

/// A bar: its label and its parts, in drawing order away from the zero mark.
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) parts: Vec<(Part, f64)>,
}

impl Bar {
    fn extent(&self, sign: f64) -> f64 {
        self.parts.iter().map(|(_, value)| (sign * finite_or_zero(*value)).max(0.0)).sum()
    }
}

/// Meaning of the numbers at the axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BarUnit {
    /// CPUs.
    Cpus,
    /// Shares of 1, written in percent.
    Share,
}

/// Draws bars, all to one scale, and their axis. The axis reaches at least to `full` on the right
/// of the zero mark.
pub(super) fn draw_bars(bars: &[Bar], full: f64, unit: BarUnit, style: &Style) -> Vec<String> {
    let labels = bars.iter().map(|b| b.label.chars().count()).max().unwrap_or(0);
    let room = style.text_width() - labels - 2;
    let most = |sign: f64| bars.iter().map(|b| b.extent(sign)).fold(0.0, f64::max);
    let (left, right) = (most(-1.0), most(1.0).max(full));
    if !(right > 0.0 && (left + right).is_finite()) {
        return Vec::new();
    }
    // Values below zero get a cell even if they are smaller than one.
    let scale = room as f64 / (left + right);
    let below = ((left * scale).round() as usize).max(usize::from(left * scale > VISIBLE_CELL)).min(room - 1);
    let scale = scale.min((room - below) as f64 / right);
    let zero = if style.unicode { '│' } else { '|' };

    let mut lines: Vec<String> = bars
        .iter()
        .map(|bar| {
            let negative = bar_cells(bar, -1.0, scale, below);
            let positive = bar_cells(bar, 1.0, scale, room - below);
            let pad = " ".repeat(below - negative.len());
            let negative: Vec<Part> = negative.into_iter().rev().collect();
            let label = format!("{:>labels$}", bar.label);
            format!("{label} {pad}{}{zero}{}", cells_text(&negative, style), cells_text(&positive, style))
        })
        .collect();
    lines.extend(axis_lines(labels + 1 + below, room - below, scale, full, unit, style));
    lines
}

/// Part in each cell on one side, counted away from the zero mark. Ends are rounded, not lengths,
/// so that the whole bar has the right length.
fn bar_cells(bar: &Bar, sign: f64, scale: f64, most: usize) -> Vec<Part> {
    let mut cells = Vec::new();
    let mut end = 0.0;
    for (part, value) in &bar.parts {
        end += (sign * finite_or_zero(*value)).max(0.0) * scale;
        cells.resize((end.round() as usize).min(most).max(cells.len()), *part);
    }
    let first = bar.parts.iter().find(|(_, value)| *value < 0.0);
    if let Some((part, _)) =
        first.filter(|_| sign < 0.0 && cells.is_empty() && end > VISIBLE_CELL && most > 0)
    {
        cells.push(*part);
    }
    cells
}

/// Draws cells as text, each run of one part painted.
fn cells_text(cells: &[Part], style: &Style) -> String {
    let mut text = String::new();
    for run in cells.chunk_by(|a, b| a == b) {
        let signs = style.sign(run[0]).to_string().repeat(run.len());
        text.push_str(&style.paint().part(run[0].look().ansi, &signs));
    }
    text
}

/// Draws the line below the bars and the numbers below the line.
fn axis_lines(
    margin: usize,
    room: usize,
    scale: f64,
    full: f64,
    unit: BarUnit,
    style: &Style,
) -> [String; 2] {
    let (corner, line, tick) = if style.unicode { ('└', '─', '┬') } else { ('+', '-', '+') };
    let step = match unit {
        BarUnit::Cpus => (0..32).map(|p| 2_f64.powi(p)).find(|s| s * scale >= LEAST_TICK_DISTANCE),
        BarUnit::Share => [0.25, 0.5].into_iter().find(|s| s * scale >= LEAST_TICK_DISTANCE),
    };
    let step = step.unwrap_or(full);
    let length = ((full * scale).round() as usize).min(room);
    let mut rule: Vec<char> = vec![line; length];
    let mut numbers = " ".repeat(margin) + "0";
    let mut at = step;
    while at <= full * (1.0 + 1e-9) {
        let column = ((at * scale).round() as usize).clamp(1, room.max(1));
        if let Some(cell) = rule.get_mut(column - 1) {
            *cell = tick;
        }
        let number = match unit {
            BarUnit::Cpus => format!("{at:.0}"),
            BarUnit::Share => Quantity::Share.whole_text(at),
        };
        // The number's last digit stands below the tick, so that no number goes beyond the bar.
        let end = margin + 1 + column;
        let start = end.saturating_sub(number.len());
        if start > numbers.len() {
            numbers = format!("{numbers:<start$}{number}");
        }
        at += step;
    }
    let rule: String = rule.into_iter().collect();
    [style.paint().dim(&format!("{}{corner}{rule}", " ".repeat(margin))), style.paint().dim(&numbers)]
}

fn finite_or_zero(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use morecores_view::Component;

    const STYLE: Style = Style { width: 40, colour: false, unicode: false, wide: false };

    fn bar(label: &str, parts: &[(Part, f64)]) -> Bar {
        Bar { label: label.to_owned(), parts: parts.to_vec() }
    }

    #[test]
    fn the_length_of_a_bar_is_its_cpus() {
        let idle = Part::Component(Component::IdleTooLittleWork);
        let two = [bar("1", &[(Part::Speedup, 1.0)]), bar("2", &[(Part::Speedup, 1.5), (idle, 0.5)])];
        assert_eq!(
            draw_bars(&two, 2.0, BarUnit::Cpus, &STYLE),
            [
                "1 |###################",
                "2 |############################.........",
                "  +------------------+-----------------+",
                "  0                  1                 2"
            ]
        );
    }

    #[test]
    fn every_negative_part_is_drawn() {
        let user = Part::Component(Component::UserWork);
        let gained = [bar("2", &[(Part::Speedup, 2.02), (user, -0.02)])];
        let lines = draw_bars(&gained, 2.0, BarUnit::Cpus, &STYLE);
        assert_eq!(lines[0], format!("2 u|{}", "#".repeat(36)));
        assert!(lines[1].starts_with("   +"), "the zero of the axis is below that of the bar: {lines:?}");
    }

    #[test]
    fn both_sides_of_zero_have_one_scale() {
        let user = Part::Component(Component::UserWork);
        let lines = draw_bars(&[bar("2", &[(Part::Speedup, 8.0), (user, -6.0)])], 2.0, BarUnit::Cpus, &STYLE);
        // 37 cells stand for 14 CPUs.
        assert_eq!(lines[0], format!("2 {}|{}", "u".repeat(16), "#".repeat(21)));
    }

    #[test]
    fn without_parts_no_bar_is_drawn() {
        assert!(draw_bars(&[bar("1", &[(Part::Speedup, f64::NAN)])], 0.0, BarUnit::Cpus, &STYLE).is_empty());
        assert!(
            draw_bars(&[bar("1", &[(Part::Speedup, f64::INFINITY)])], 0.0, BarUnit::Cpus, &STYLE).is_empty()
        );
    }
}
