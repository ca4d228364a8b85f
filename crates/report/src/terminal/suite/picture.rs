//! Speedups then and now in characters: a line for each part of each benchmark, all on one axis.
//!
//! This module draws the pairs of the summary; the summary decides which speedups form a pair.

use morecores_view::suite::{SuiteRow, SuiteSummary};

use crate::suite::verdict_words;
use crate::terminal::Style;
use crate::terminal::curve::axis::{Axis, Scale};
use crate::terminal::curve::cell_index;
use crate::terminal::grid::cut_to_width;

/// Narrowest and widest plot in characters, without names.
const WIDTHS: (usize, usize) = (20, 64);

/// Divisor of the text width that gives the room for names.
const NAME_SHARE: usize = 3;

/// Signs of the picture.
struct Signs {
    then: char,
    now: char,
    /// Both speedups in one cell.
    both: char,
    interval: char,
    /// Speedup of one CPU.
    one: char,
    horizontal: char,
    tick: char,
}

const UNICODE: Signs =
    Signs {
        then: '○', now: '●', both: '◉', interval: '━', one: '┊', horizontal: '─', tick: '┬'
    };

const ASCII: Signs =
    Signs { then: 'o', now: '#', both: '@', interval: '=', one: ':', horizontal: '-', tick: '+' };

/// Picture with its axis and a key; empty if no part has a speedup.
pub(crate) fn suite_picture(summary: &SuiteSummary, style: &Style) -> Vec<String> {
    let speedups: Vec<f64> = summary.rows.iter().flat_map(speedup_values).filter(|end| *end > 0.0).collect();
    if speedups.is_empty() {
        return Vec::new();
    }
    let lowest = speedups.iter().copied().fold(1.0, f64::min);
    let highest = speedups.iter().copied().fold(2.0, f64::max);
    let scale = Scale::for_range(lowest, highest);
    let axis = Axis::for_speedups(scale, lowest, highest);
    let signs = if style.unicode { &UNICODE } else { &ASCII };
    let room = style.text_width() / NAME_SHARE;
    let names: Vec<String> =
        summary.rows.iter().map(|row| cut_to_width(&style.text(&row.study), room, style)).collect();
    let margin = names.iter().map(|name| textwrap::core::display_width(name)).max().unwrap_or(0);
    let width = style.text_width().saturating_sub(margin + 4).clamp(WIDTHS.0, WIDTHS.1);
    let paint = style.paint();
    let logarithmic = if scale == Scale::Log2 { "   (logarithmic axis)" } else { "" };
    let mut lines = vec![format!("{:margin$} speedup over 1 CPU", "")];
    for (row, name) in summary.rows.iter().zip(&names) {
        let pad = " ".repeat(margin - textwrap::core::display_width(name));
        let marks = if row.then.is_none() && row.now.is_none() {
            paint.dim(&format!(" {}", verdict_words(row)))
        } else {
            draw_marks(row, &axis, width, signs, style)
        };
        lines.push(format!("{name}{pad} {marks}").trim_end().to_owned());
    }
    let (rule, numbers) = axis.horizontal_lines(width, 1, signs.tick, signs.horizontal);
    lines.push(paint.dim(&format!("{:margin$} {rule}", "")));
    lines.push(paint.dim(format!("{:margin$} {numbers}", "").trim_end()));
    let Signs { then, now, both, interval, .. } = signs;
    let key = format!("{then} then   {now} now, {interval} its 95% interval   {both} both{logarithmic}");
    lines.extend(style.wrap_dim(&key));
    lines
}

/// Speedups of a row that the axis must cover.
fn speedup_values(row: &SuiteRow) -> impl Iterator<Item = f64> {
    let now =
        row.now.iter().flat_map(|now| now.ci95.unwrap_or([now.speedup; 2]).into_iter().chain([now.speedup]));
    let ends: Vec<f64> = row.then.iter().map(|then| then.speedup).chain(now).collect();
    ends.into_iter()
}

/// Marks of one row; those of now are painted.
fn draw_marks(row: &SuiteRow, axis: &Axis, width: usize, signs: &Signs, style: &Style) -> String {
    let column = |speedup: f64| cell_index(axis.position(speedup), width, 1);
    let mut cells = vec![(' ', false); width];
    cells[column(1.0)] = (signs.one, false);
    if let Some(now) = &row.now {
        if let Some([low, high]) = now.ci95 {
            cells[column(low)..=column(high)].fill((signs.interval, true));
        }
        cells[column(now.speedup)] = (signs.now, true);
    }
    if let Some(then) = &row.then {
        let cell = &mut cells[column(then.speedup)];
        *cell = if cell.0 == signs.now { (signs.both, true) } else { (signs.then, false) };
    }
    let runs = cells.chunk_by(|a, b| a.1 == b.1);
    let text = |run: &[(char, bool)]| {
        let text: String = run.iter().map(|(sign, _)| sign).collect();
        if run[0].1 { style.paint().measured(&text) } else { text }
    };
    runs.map(text).collect()
}
