//! Small tables of names and figures that fit into the style's width.
//!
//! This module only lays out: a long name is cut, and if there is no room, the least important
//! columns are dropped first.

use anstyle::AnsiColor;

use super::Style;
use crate::format::join_with_and;
use crate::stack::Part;
use crate::table::{self, Table};

/// Spaces between two columns.
const GAP: usize = 2;

/// Smallest width of a cut name; below it, a column of figures is dropped instead.
const LEAST_NAME_WIDTH: usize = 14;

/// A column of a table; all text is showable on the terminal.
#[derive(Clone)]
pub(crate) struct Column {
    /// Lines of the header.
    header: Vec<String>,
    cells: Vec<String>,
    kind: ColumnKind,
    /// Importance: the highest is dropped first, 0 never.
    rank: u8,
    /// Colour of each cell; empty for cells without colour.
    pub(crate) colours: Vec<AnsiColor>,
}

impl Column {
    /// Column of figures. The header may contain a line break.
    pub(crate) fn figures(
        style: &Style,
        rank: u8,
        header: &str,
        cells: impl IntoIterator<Item = String>,
    ) -> Self {
        Self::new(style, ColumnKind::Figure, rank, header, cells)
    }

    fn new(
        style: &Style,
        kind: ColumnKind,
        rank: u8,
        header: &str,
        cells: impl IntoIterator<Item = String>,
    ) -> Self {
        let text = |text: &str| style.text(text).into_owned();
        let cells = cells.into_iter().map(|cell| text(&cell)).collect();
        Self { header: header.lines().map(text).collect(), cells, kind, rank, colours: Vec::new() }
    }

    /// Width of the column without any cut.
    fn width(&self) -> usize {
        self.cells.iter().chain(&self.header).map(|text| display_width(text)).max().unwrap_or(0)
    }

    /// Text of the column on one of `lines` header lines; a short header is on the lowest lines.
    fn header_line(&self, line: usize, lines: usize) -> &str {
        let index = (line + self.header.len()).checked_sub(lines);
        index.and_then(|index| self.header.get(index)).map_or("", String::as_str)
    }
}

/// Content of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ColumnKind {
    /// One mark a row, to the left of a name.
    Mark,
    /// Names from outside, left-aligned; they are cut if they are too long.
    Name,
    /// Names chosen by morecores, left-aligned; they are cut only as the last resort.
    Label,
    /// Figures, right-aligned.
    Figure,
}

/// A table under construction.
pub(crate) struct Grid<'a> {
    style: &'a Style,
    columns: Vec<Column>,
}

/// Lines of a table that fits.
pub(crate) struct Layout {
    /// Lines of the header, without colour.
    pub(crate) header: Vec<String>,
    /// Rows, in their colours.
    pub(crate) rows: Vec<String>,
    /// Names of the omitted columns, in the order of the table.
    pub(crate) omitted: Vec<String>,
    width: usize,
}

impl Layout {
    /// Header, rule and rows.
    pub(crate) fn into_lines(self, style: &Style) -> Vec<String> {
        let paint = style.paint();
        let rule = if style.unicode { "─" } else { "-" }.repeat(self.width);
        let mut lines: Vec<String> = self.header.iter().map(|line| paint.bold(line)).collect();
        lines.push(paint.dim(&rule));
        lines.extend(self.rows);
        lines
    }
}

/// Lines of a table, after its title.
pub(super) fn lines_with_title(table: &Table, style: &Style) -> Vec<String> {
    let title = style.wrap(&table.title, "  ").into_iter().map(|line| style.paint().bold(&line));
    title.chain(Grid::from_table(table, style).into_lines()).collect()
}

impl<'a> Grid<'a> {
    pub(crate) fn new(style: &'a Style) -> Self {
        Self { style, columns: Vec::new() }
    }

    /// Table of these columns.
    pub(crate) fn from_columns(columns: Vec<Column>, style: &'a Style) -> Self {
        Self { style, columns }
    }

    /// Table of cells that were written for every report.
    pub(super) fn from_table(table: &Table, style: &'a Style) -> Self {
        let mut grid = Self::new(style);
        for column in &table.columns {
            let (kind, rank) = match column.kind {
                table::ColumnKind::Name(rank) => (ColumnKind::Name, rank),
                table::ColumnKind::Label => (ColumnKind::Label, 0),
                table::ColumnKind::Figure(rank) => (ColumnKind::Figure, rank),
            };
            grid.push(kind, rank, &column.header, column.cells.iter().map(|cell| cell.text.clone()));
        }
        grid
    }

    fn push(&mut self, kind: ColumnKind, rank: u8, header: &str, cells: impl IntoIterator<Item = String>) {
        self.columns.push(Column::new(self.style, kind, rank, header, cells));
    }

    /// Adds the first column: the sign of a part of a bar in each row, in its colour.
    pub(super) fn add_signs(&mut self, parts: &[Part]) {
        self.push(ColumnKind::Mark, 0, "", parts.iter().map(|part| self.style.sign(*part).to_string()));
        if let Some(signs) = self.columns.last_mut() {
            signs.colours = parts.iter().map(|part| part.look().ansi).collect();
        }
    }

    /// Adds a column of names.
    pub(super) fn add_names(&mut self, rank: u8, header: &str, cells: impl IntoIterator<Item = String>) {
        self.push(ColumnKind::Name, rank, header, cells);
    }

    /// Adds a column of names chosen by morecores.
    pub(super) fn add_labels(&mut self, header: &str, cells: impl IntoIterator<Item = String>) {
        self.push(ColumnKind::Label, 0, header, cells);
    }

    /// Adds a column of figures. The header may contain a line break.
    pub(super) fn add_figures(&mut self, rank: u8, header: &str, cells: impl IntoIterator<Item = String>) {
        self.push(ColumnKind::Figure, rank, header, cells);
    }

    /// Lays the table out within the text width: header, rule, rows, and a note on omitted columns.
    pub(super) fn into_lines(self) -> Vec<String> {
        let (style, width) = (self.style, self.style.text_width());
        let layout = self.layout(width);
        let names: Vec<String> = layout.omitted.iter().map(|name| format!("\"{name}\"")).collect();
        let mut lines = layout.into_lines(style);
        if !names.is_empty() {
            lines.extend(style.wrap_dim(&format!("Too narrow for {}.", join_with_and(names))));
        }
        lines
    }

    /// Lays the table out within `width`, without the columns that do not fit. Two columns stay.
    pub(crate) fn layout(mut self, width: usize) -> Layout {
        let names: Vec<String> = self.columns.iter().map(|column| column.header.join(" ")).collect();
        let mut shown: Vec<usize> = (0..names.len()).collect();
        let mut widths = self.widths();
        while total_width(&self.columns, &widths) > width {
            let longest = |kind: ColumnKind| {
                let long = |i: &usize| self.columns[*i].kind == kind && widths[*i] > LEAST_NAME_WIDTH;
                (0..widths.len()).filter(long).max_by_key(|i| widths[*i])
            };
            let least = (0..self.columns.len())
                .filter(|i| self.columns[*i].rank > 0 && self.columns.len() > 2)
                .max_by_key(|i| self.columns[*i].rank);
            match (longest(ColumnKind::Name), least) {
                (Some(i), _) => {
                    let over = total_width(&self.columns, &widths) - width;
                    widths[i] = widths[i].saturating_sub(over).max(LEAST_NAME_WIDTH);
                }
                (None, Some(i)) => {
                    self.columns.remove(i);
                    shown.remove(i);
                    // With one column less there may be room for the names again.
                    widths = self.widths();
                }
                (None, None) => {
                    let Some(i) = longest(ColumnKind::Label) else { break };
                    let over = total_width(&self.columns, &widths) - width;
                    widths[i] = widths[i].saturating_sub(over).max(LEAST_NAME_WIDTH);
                }
            }
        }
        let omitted = names.into_iter().enumerate().filter(|(i, _)| !shown.contains(i));
        Layout {
            header: self.header(&widths),
            rows: self.rows(&widths),
            omitted: omitted.map(|(_, name)| name).collect(),
            width: total_width(&self.columns, &widths),
        }
    }

    fn widths(&self) -> Vec<usize> {
        self.columns.iter().map(Column::width).collect()
    }

    fn header(&self, widths: &[usize]) -> Vec<String> {
        let deepest = self.columns.iter().map(|c| c.header.len()).max().unwrap_or(0).max(1);
        let line = |line: usize| self.line(widths, |c| c.header_line(line, deepest).to_owned(), |_| None);
        (0..deepest).map(line).collect()
    }

    fn rows(&self, widths: &[usize]) -> Vec<String> {
        let rows = self.columns.iter().map(|c| c.cells.len()).max().unwrap_or(0);
        let line = |row: usize| {
            let cell = |column: &Column| column.cells.get(row).cloned().unwrap_or_default();
            self.line(widths, cell, |column| column.colours.get(row).copied())
        };
        (0..rows).map(line).collect()
    }

    fn line(
        &self,
        widths: &[usize],
        cell: impl Fn(&Column) -> String,
        colour: impl Fn(&Column) -> Option<AnsiColor>,
    ) -> String {
        let mut line = String::new();
        for (i, (column, width)) in self.columns.iter().zip(widths).enumerate() {
            let text = cut_to_width(&cell(column), *width, self.style);
            let pad = " ".repeat(width - display_width(&text));
            if i > 0 {
                line.push_str(&" ".repeat(gap_after(&self.columns[i - 1])));
            }
            let padded = if column.kind == ColumnKind::Figure { pad + &text } else { text + &pad };
            match colour(column) {
                Some(colour) => line.push_str(&self.style.paint().part(colour, &padded)),
                None => line.push_str(&padded),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// Width of a table of these columns without any cut.
pub(crate) fn uncut_width<'c>(columns: impl IntoIterator<Item = &'c Column>) -> usize {
    let widths: Vec<usize> = columns.into_iter().map(Column::width).collect();
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// Spaces behind a column.
fn gap_after(column: &Column) -> usize {
    if column.kind == ColumnKind::Mark { 1 } else { GAP }
}

fn total_width(columns: &[Column], widths: &[usize]) -> usize {
    let gaps: usize = columns.split_last().map_or(0, |(_, rest)| rest.iter().map(gap_after).sum());
    widths.iter().sum::<usize>() + gaps
}

fn display_width(text: &str) -> usize {
    textwrap::core::display_width(text)
}

/// Cuts `text` to at most `width` columns; an ellipsis replaces the end if the text does not fit.
pub(super) fn cut_to_width(text: &str, width: usize, style: &Style) -> String {
    if display_width(text) <= width {
        return text.to_owned();
    }
    let ellipsis = if style.unicode { "…" } else { "..." };
    let room = width.saturating_sub(display_width(ellipsis));
    let mut out = String::new();
    for c in text.chars() {
        out.push(c);
        if display_width(&out) > room {
            out.pop();
            break;
        }
    }
    out + ellipsis
}

#[cfg(test)]
mod tests {
    use super::*;

    const STYLE: Style = Style { width: 80, colour: false, unicode: true, wide: false };

    fn grid(style: &Style) -> Grid<'_> {
        let mut grid = Grid::new(style);
        grid.add_names(0, "command", ["a_rather_long_command_name", "多核多核多核多核"].map(str::to_owned));
        grid.add_figures(1, "calls", ["12", "3"].map(str::to_owned));
        grid.add_figures(2, "waiting", ["0.1%", "7%"].map(str::to_owned));
        grid
    }

    #[test]
    fn names_are_cut_before_figures_are_dropped() {
        assert_eq!(
            grid(&STYLE).layout(34).into_lines(&STYLE),
            [
                "command             calls  waiting",
                "──────────────────────────────────",
                "a_rather_long_com…     12     0.1%",
                "多核多核多核多核        3       7%"
            ]
        );
    }

    #[test]
    fn a_header_of_two_lines_ends_at_the_rule() {
        let mut grid = Grid::new(&STYLE);
        grid.add_names(0, "command", ["make".to_owned()]);
        grid.add_figures(0, "waiting\nratio", ["0.1%".to_owned()]);
        assert_eq!(
            grid.layout(80).into_lines(&STYLE),
            ["         waiting", "command    ratio", "────────────────", "make        0.1%"]
        );
    }

    #[test]
    fn the_least_important_column_is_dropped_first_and_named() {
        let layout = grid(&STYLE).layout(24);
        assert_eq!(layout.rows, ["a_rather_long_co…     12", "多核多核多核多核       3"]);
        assert_eq!(layout.omitted, ["waiting"]);
    }

    #[test]
    fn a_name_is_cut_to_its_width_in_ascii_too() {
        let ascii = Style { unicode: false, ..STYLE };
        assert_eq!(cut_to_width("0123456789", 6, &ascii), "012...");
        assert_eq!(cut_to_width("0123456789", 10, &ascii), "0123456789");
        assert_eq!(cut_to_width("多核多核", 5, &STYLE), "多核…");
    }
}
