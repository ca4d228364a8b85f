//! The table of points on a terminal.
//!
//! `points` holds the columns; this module aligns and colours them, and `grid` lays them out.

use morecores_view::{View, Warning};

use super::Style;
use super::grid::{self, Grid};
use super::paint::efficiency_colour;
use crate::format::{IntervalText, UncertainFigure, join_with_and};
use crate::points::{
    Content, Detail, PointColumn, count_mark, estimator_note, interval_notes, point_columns,
};
use crate::table::ColumnKind;

/// Table, with its footnotes below it.
pub(super) fn points_table(view: &View, style: &Style) -> Vec<String> {
    let shown = |column: &PointColumn| match column.detail {
        Detail::Always | Detail::Usual => true,
        Detail::Wide => style.wide,
        Detail::Markdown | Detail::Page => false,
    };
    let columns = point_columns(view).into_iter().filter(shown);
    let columns = columns.map(|column| grid_column(column, view, style)).collect();
    let (mut lines, mut omitted) = (Vec::new(), Vec::new());
    if style.wide {
        for block in blocks(columns, style.table_width()) {
            if !lines.is_empty() {
                lines.push(String::new());
            }
            lines.extend(Grid::from_columns(block, style).layout(usize::MAX).into_lines(style));
        }
    } else {
        let mut layout = Grid::from_columns(columns, style).layout(style.table_width());
        omitted.append(&mut layout.omitted);
        lines.extend(layout.into_lines(style));
    }
    for note in footnotes(view, &omitted) {
        lines.extend(style.wrap(&note, "  ").iter().map(|line| style.paint().dim(line)));
    }
    lines
}

/// Column as the terminal shows it: counts marked, figures aligned, efficiencies coloured.
fn grid_column(PointColumn { content, column, .. }: PointColumn, view: &View, style: &Style) -> grid::Column {
    let rank = if let ColumnKind::Figure(rank) = column.kind { rank } else { 0 };
    let texts = column.cells.iter().map(|cell| cell.text.clone());
    let texts: Vec<String> = match &content {
        Content::CpuCounts => {
            texts.zip(&view.points).map(|(text, point)| text + &count_mark(view, point.cpus)).collect()
        }
        Content::Uncertain(figures) => align_figures(figures, style),
        Content::Efficiencies | Content::Plain => texts.collect(),
    };
    let mut grid_column = grid::Column::figures(style, rank, &column.header_lines(), texts);
    if content == Content::Efficiencies {
        grid_column.colours = view.points.iter().map(|point| efficiency_colour(point.efficiency)).collect();
    }
    grid_column
}

/// Splits all columns into blocks that fit, the first column repeated in each.
fn blocks(columns: Vec<grid::Column>, width: usize) -> Vec<Vec<grid::Column>> {
    let mut columns = columns.into_iter();
    let Some(key) = columns.next() else { return Vec::new() };
    let (mut blocks, mut block) = (Vec::new(), vec![key.clone()]);
    for column in columns {
        if block.len() > 1 && grid::uncut_width(block.iter().chain([&column])) > width {
            blocks.push(std::mem::replace(&mut block, vec![key.clone()]));
        }
        block.push(column);
    }
    blocks.push(block);
    blocks
}

/// Notes needed to understand the figures above.
fn footnotes(view: &View, omitted: &[String]) -> Vec<String> {
    let mut notes = interval_notes(view);
    if view.warnings.iter().any(|w| matches!(w, Warning::SmtSiblings { .. })) {
        notes.push("†: with SMT siblings of cores already in use.".to_owned());
    }
    if view.warnings.iter().any(|w| matches!(w, Warning::MixedCoreTypes { .. })) {
        notes.push("‡: with cores of different types.".to_owned());
    }
    notes.extend(estimator_note(view));
    if !omitted.is_empty() {
        let names = join_with_and(omitted);
        notes.push(format!("Too narrow for {names}: --wide shows every column."));
    }
    notes
}

/// Cells of one width, in which points, half-widths and upper ends are aligned.
fn align_figures(cells: &[UncertainFigure], style: &Style) -> Vec<String> {
    let split = |text: &str| match text.find('.') {
        Some(point) => (text[..point].to_owned(), text[point..].to_owned()),
        None => (text.to_owned(), String::new()),
    };
    // The fraction of a figure is padded, so that half-widths are aligned; the text of a range
    // stays together.
    let fraction = |cell: &UncertainFigure| match cell.interval {
        IntervalText::UpperEnd(_) => 0,
        IntervalText::Known(_) | IntervalText::Unknown | IntervalText::None => {
            split(&cell.value).1.chars().count()
        }
    };
    let padded = cells.iter().map(fraction).max().unwrap_or(0);
    let parts: Vec<_> = cells
        .iter()
        .map(|cell| {
            let (whole, fraction) = split(&cell.value);
            let behind = match &cell.interval {
                IntervalText::Known(half) => format!("{fraction:<padded$} ± {half}"),
                IntervalText::Unknown => format!("{fraction:<padded$} ± ?"),
                IntervalText::UpperEnd(high) => format!("{fraction} to {high}"),
                IntervalText::None => fraction,
            };
            (whole, style.text(&behind).into_owned())
        })
        .collect();
    let widest = |part: fn(&(String, String)) -> &String| {
        parts.iter().map(|p| part(p).chars().count()).max().unwrap_or(0)
    };
    let (whole, behind) = (widest(|p| &p.0), widest(|p| &p.1));
    parts.iter().map(|p| format!("{:>whole$}{:<behind$}", p.0, p.1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_ranges_are_aligned_at_their_points() {
        let style = Style { width: 80, colour: false, unicode: true, wide: false };
        let figure = |value, low, high| UncertainFigure::new(value, Some([low, high]), 1.0);
        let cells = [
            figure(2.19, 2.02, 2.36),
            figure(2.1, 2.0, 3.0),
            figure(10.0, 9.8, 10.2),
            UncertainFigure::exact("1"),
        ];
        let aligned = align_figures(&cells, &style);
        assert_eq!(aligned, [" 2.19 ± 0.17", " 2.0 to 3.0 ", "10.0  ± 0.2 ", " 1          "]);
    }
}
