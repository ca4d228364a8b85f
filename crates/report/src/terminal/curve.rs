//! The speedup curve against the ideal line, in characters: over the CPU counts, or over the values
//! of `{n}` at one CPU count, where no line is ideal.
//!
//! Ratatui's canvas draws lines into a buffer. This module puts axes, points and whiskers around
//! and over them: a point must stand above a line, and a label must name a measured CPU count.

pub(super) mod axis;

use std::borrow::Cow;

use morecores_study::{QuotaPercent, Scaling};
use morecores_view::{PointView, View};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Color;
use ratatui_core::symbols::Marker;
use ratatui_core::widgets::Widget;
use ratatui_widgets::canvas::{Canvas, Line, Points};

use super::Style;
use crate::points::has_one_count;
use axis::{Axis, Scale};

/// Narrowest and widest plot in characters, without labels. A wider plot would only stretch the
/// lines.
const WIDTHS: (usize, usize) = (24, 64);

/// Characters of width for one line of height. A cell is about twice as high as it is wide, so the
/// ideal line rises at some 20 degrees. A report of a few points then fits on one screen.
const WIDTH_TO_HEIGHT: usize = 5;

/// Colour of the measured curve within the buffer; the style decides the painted colour.
const MEASURED_COLOUR: Color = Color::Cyan;

/// Dots of a character cell.
struct CellDots {
    columns: usize,
    rows: usize,
}

/// Characters and markers of the plot.
struct Glyphs {
    point: &'static str,
    bar: &'static str,
    ideal: &'static str,
    corner: char,
    horizontal: char,
    vertical: char,
    tick_x: char,
    tick_y: char,
    line: Marker,
    dot: Marker,
    /// Dots of a cell, across and down, in which the canvas draws lines.
    dots: CellDots,
}

const UNICODE: Glyphs = Glyphs {
    point: "●",
    bar: "│",
    ideal: "⠠⠐⠈",
    corner: '└',
    horizontal: '─',
    vertical: '│',
    tick_x: '┬',
    tick_y: '┤',
    line: Marker::Braille,
    dot: Marker::Braille,
    dots: CellDots { columns: 2, rows: 4 },
};

const ASCII: Glyphs = Glyphs {
    point: "o",
    bar: "|",
    ideal: "...",
    corner: '+',
    horizontal: '-',
    vertical: '|',
    tick_x: '+',
    tick_y: '+',
    line: Marker::Custom('-'),
    dot: Marker::Custom('.'),
    dots: CellDots { columns: 1, rows: 1 },
};

/// Curve with axes and a legend; none for fewer than three points, because the table then shows the
/// same.
pub(super) fn speedup_curve(view: &View, style: &Style) -> Option<Vec<String>> {
    let over = Over::new(view);
    let shown = match over {
        Over::Cpus => view.at_best_n(),
        Over::N => Cow::Borrowed(view),
        Over::Quota => Cow::Owned(view.over_quotas()?),
    };
    let view = shown.as_ref();
    let [base, _, .., largest] = view.points.as_slice() else { return None };
    let glyphs = if style.unicode { &UNICODE } else { &ASCII };
    let (x_from, x_to) = (over.value(base), over.value(largest));
    let ideal = |x: f64| if over == Over::N { 1.0 } else { x / x_from };
    let scale = Scale::for_range(x_from, x_to);

    let interval_ends = |p: &PointView| p.speedup.ci95.unwrap_or([p.speedup.value; 2]);
    let lowest = view.points.iter().map(|p| interval_ends(p)[0]).fold(1.0, f64::min);
    let highest = view.points.iter().map(|p| interval_ends(p)[1]).fold(ideal(x_to), f64::max);
    if !(lowest > 0.0 && highest.is_finite()) {
        return None;
    }
    let y = Axis::for_speedups(scale, lowest, highest);
    let counts: Vec<f64> = view.points.iter().map(|p| over.value(p)).collect();
    let x = Axis::for_counts(scale, &counts);

    let labels = y.label_width();
    let margin = labels + 2;
    let width = (style.text_width() - margin - 2).clamp(WIDTHS.0, WIDTHS.1);
    let height = width / WIDTH_TO_HEIGHT;
    let plot = Plot { over, x, y, width, height };

    let mut buffer = plot.draw_lines(view, ideal, glyphs);
    let whiskers = plot.draw_points(view, &mut buffer, glyphs);

    let mut lines = vec![heading(view.plan.scaling, scale, labels)];
    for row in 0..height {
        let (label, mark) = match plot.y.label_at(row, height, glyphs.dots.rows) {
            Some(label) => (label, glyphs.tick_y),
            None => ("", glyphs.vertical),
        };
        lines.push(format!("{label:>labels$} {mark}{}", row_text(&buffer, row, style)));
    }
    let (rule, names) = plot.x.horizontal_lines(width, glyphs.dots.columns, glyphs.tick_x, glyphs.horizontal);
    lines.push(format!("{:>labels$} {}{rule}", "", glyphs.corner));
    lines.push(format!("{:>margin$}{names}", ""));
    lines.push(format!("{:>margin$}{:^width$}", "", over.name()).trim_end().to_owned());
    let legend = legend(view, over, glyphs, whiskers);
    lines.extend(style.wrap(&legend, "  ").iter().map(|l| style.paint().dim(l)));
    Some(lines.into_iter().map(|line| line.trim_end().to_owned()).collect())
}

fn heading(scaling: Scaling, scale: Scale, labels: usize) -> String {
    let speedup = if scaling == Scaling::Weak { "scaled speedup" } else { "speedup" };
    let scale = match scale {
        Scale::Linear => "",
        Scale::Log2 => " (logarithmic axes)",
    };
    format!("{speedup:>labels$}{scale}")
}

/// Meaning of the signs, and the kind of the intervals.
fn legend(view: &View, over: Over, glyphs: &Glyphs, whiskers: bool) -> String {
    let intervals = match (whiskers, view.points.iter().skip(1).all(|p| p.speedup.ci95.is_none())) {
        (true, _) => format!(", {} 95% interval", glyphs.bar),
        (false, true) => " (no interval: too few runs)".to_owned(),
        (false, false) => " (95% intervals are smaller than the mark)".to_owned(),
    };
    let line = if over == Over::N { "as fast as the first" } else { "ideal" };
    format!("{} measured{intervals}   {} {line}", glyphs.point, glyphs.ideal)
}

/// Values on the horizontal axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    Cpus,
    N,
    /// CPU quotas, as numbers of CPUs.
    Quota,
}

impl Over {
    fn new(view: &View) -> Self {
        if view.quota.is_some() {
            Self::Quota
        } else if has_one_count(view) && !view.rankings.is_empty() {
            Self::N
        } else {
            Self::Cpus
        }
    }

    fn value(self, point: &PointView) -> f64 {
        match self {
            Self::Cpus => f64::from(point.cpus),
            Self::N => f64::from(point.n),
            Self::Quota => QuotaPercent::from_coordinates(&point.axes).map_or(f64::NAN, QuotaPercent::cpus),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Cpus => "CPUs",
            Self::N => "n",
            Self::Quota => "limit (CPUs)",
        }
    }
}

/// A plot's axes and size in characters.
struct Plot {
    over: Over,
    x: Axis,
    y: Axis,
    width: usize,
    height: usize,
}

impl Plot {
    /// Draws the ideal line, dotted, and the measured curve, solid.
    fn draw_lines(&self, view: &View, ideal: impl Fn(f64) -> f64, glyphs: &Glyphs) -> Buffer {
        let area = Rect::new(0, 0, self.width as u16, self.height as u16);
        let mut buffer = Buffer::empty(area);
        let place = |p: &PointView| (self.x.position(self.over.value(p)), self.y.position(p.speedup.value));
        // One dot a cell. The ideal is a straight line on linear and on logarithmic axes.
        let [start, end] = self.x.ends().map(|cpus| self.y.position(ideal(cpus)));
        let dot = |i: usize| i as f64 / self.width as f64;
        let dotted: Vec<(f64, f64)> =
            (0..=self.width).map(|i| (dot(i), start + (end - start) * dot(i))).collect();
        Canvas::default()
            .x_bounds([0.0, 1.0])
            .y_bounds([0.0, 1.0])
            .marker(glyphs.dot)
            .paint(|context| {
                context.draw(&Points { coords: &dotted, color: Color::Reset });
                context.layer();
                context.marker(glyphs.line);
                for pair in view.points.windows(2) {
                    let ((x1, y1), (x2, y2)) = (place(&pair[0]), place(&pair[1]));
                    context.draw(&Line { x1, y1, x2, y2, color: MEASURED_COLOUR });
                }
            })
            .render(area, &mut buffer);
        buffer
    }

    /// Puts points and whiskers over the lines; returns whether any whisker had room.
    fn draw_points(&self, view: &View, buffer: &mut Buffer, glyphs: &Glyphs) -> bool {
        let mut whiskers = false;
        let mut put = |column: usize, row: usize, sign: &str| {
            if let Some(cell) = buffer.cell_mut((column as u16, row as u16)) {
                cell.set_symbol(sign).set_fg(MEASURED_COLOUR);
            }
        };
        for point in &view.points {
            let column = cell_index(self.x.position(self.over.value(point)), self.width, glyphs.dots.columns);
            let row =
                |speedup: f64| cell_index(1.0 - self.y.position(speedup), self.height, glyphs.dots.rows);
            if let Some([low, high]) = point.speedup.ci95
                && (self.y.position(high) - self.y.position(low)) * self.height as f64 >= 1.0
            {
                whiskers = true;
                (row(high)..=row(low)).for_each(|r| put(column, r, glyphs.bar));
            }
            put(column, row(point.speedup.value), glyphs.point);
        }
        whiskers
    }
}

/// Cell in which the canvas draws a position between 0 and 1.
pub(super) fn cell_index(position: f64, cells: usize, dots: usize) -> usize {
    ((position * (cells * dots - 1) as f64).round() as usize / dots).min(cells - 1)
}

/// Text of one row of the buffer, with the measured curve painted.
fn row_text(buffer: &Buffer, row: usize, style: &Style) -> String {
    let mut text = String::new();
    let mut run = String::new();
    let mut run_colour = Color::Reset;
    let mut flush = |run: &mut String, colour: Color| {
        text.push_str(&if colour == MEASURED_COLOUR { style.paint().measured(run) } else { run.clone() });
        run.clear();
    };
    for column in 0..buffer.area.width {
        let Some(cell) = buffer.cell((column, row as u16)) else { continue };
        if cell.fg != run_colour {
            flush(&mut run, run_colour);
            run_colour = cell.fg;
        }
        run.push_str(cell.symbol());
    }
    flush(&mut run, run_colour);
    text
}
