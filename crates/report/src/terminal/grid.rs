//! Small tables of names and figures that fit into the style's width.
//!
//! This module only lays out: a long name is cut, and without room the least important columns go
//! first.

use anstyle::AnsiColor;

use super::Style;
use crate::format::join_with_and;
use crate::stack::Part;

/// Spaces between two columns.
const GAP: usize = 2;

/// Smallest width of a cut name; below it, a column of figures goes instead.
const LEAST_NAME_WIDTH: usize = 14;

/// A column of a table.
pub(super) struct Column {
    /// Lines of the header.
    header: Vec<String>,
    cells: Vec<String>,
    kind: ColumnKind,
    /// Importance: the highest is dropped first, 0 never.
    rank: u8,
}

impl Column {
    /// Text of the column on one of `lines` header lines; a short header stands on the lowest
    /// lines.
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
pub(super) struct Grid<'a> {
    style: &'a Style,
    columns: Vec<Column>,
    /// Colour of the first character of each row, if rows have one.
    colours: Vec<AnsiColor>,
}

impl<'a> Grid<'a> {
    pub(super) fn new(style: &'a Style) -> Self {
        Self { style, columns: Vec::new(), colours: Vec::new() }
    }

    fn push(&mut self, kind: ColumnKind, rank: u8, header: &str, cells: impl IntoIterator<Item = String>) {
        let text = |t: &str| self.style.text(t).into_owned();
        let cells = cells.into_iter().map(|cell| text(&cell)).collect();
        let header = header.lines().map(text).collect();
        self.columns.push(Column { header, cells, kind, rank });
    }

    /// Adds the first column: the sign of a part of a bar in each row, in its colour.
    pub(super) fn add_signs(&mut self, parts: &[Part]) {
        let cells = parts.iter().map(|part| self.style.sign(*part).to_string()).collect();
        self.columns.push(Column { header: Vec::new(), cells, kind: ColumnKind::Mark, rank: 0 });
        self.colours = parts.iter().map(|part| part.look().ansi).collect();
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
        let width = self.style.text_width();
        self.fit_into(width)
    }

    fn fit_into(mut self, width: usize) -> Vec<String> {
        let headers: Vec<Vec<String>> = self.columns.iter().map(|c| c.header.clone()).collect();
        let mut widths = self.widths();
        while total_width(&self.columns, &widths) > width {
            let longest = |kind: ColumnKind| {
                let long = |i: &usize| self.columns[*i].kind == kind && widths[*i] > LEAST_NAME_WIDTH;
                (0..widths.len()).filter(long).max_by_key(|i| widths[*i])
            };
            let least = (0..self.columns.len())
                .filter(|i| self.columns[*i].rank > 0)
                .max_by_key(|i| self.columns[*i].rank);
            match (longest(ColumnKind::Name), least) {
                (Some(i), _) => {
                    let over = total_width(&self.columns, &widths) - width;
                    widths[i] = widths[i].saturating_sub(over).max(LEAST_NAME_WIDTH);
                }
                (None, Some(i)) => {
                    self.columns.remove(i);
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
        let mut lines = self.rows(&widths);
        let is_dropped = |header: &&Vec<String>| !self.columns.iter().any(|c| c.header == **header);
        let dropped: Vec<String> =
            headers.iter().filter(is_dropped).map(|h| format!("\"{}\"", h.join(" "))).collect();
        if !dropped.is_empty() {
            let note = format!("Too narrow for {}.", join_with_and(dropped));
            lines.extend(self.style.wrap_dim(&note));
        }
        lines
    }

    fn widths(&self) -> Vec<usize> {
        let width = |c: &Column| c.cells.iter().chain(&c.header).map(|t| display_width(t)).max().unwrap_or(0);
        self.columns.iter().map(width).collect()
    }

    fn rows(&self, widths: &[usize]) -> Vec<String> {
        let paint = self.style.paint();
        let rule = if self.style.unicode { "─" } else { "-" }.repeat(total_width(&self.columns, widths));
        let deepest = self.columns.iter().map(|c| c.header.len()).max().unwrap_or(0).max(1);
        let mut lines: Vec<String> = (0..deepest)
            .map(|line| paint.bold(self.line(widths, |c| c.header_line(line, deepest)).trim_end()))
            .collect();
        lines.push(paint.dim(&rule));
        let rows = self.columns.iter().map(|c| c.cells.len()).max().unwrap_or(0);
        for row in 0..rows {
            let line = self.line(widths, |c| c.cells.get(row).map_or("", String::as_str));
            lines.push(self.colour_sign(row, line.trim_end()));
        }
        lines
    }

    fn colour_sign(&self, row: usize, line: &str) -> String {
        let (Some(colour), Some(mark)) = (self.colours.get(row), line.chars().next()) else {
            return line.to_owned();
        };
        let (mark, rest) = line.split_at(mark.len_utf8());
        self.style.paint().part(*colour, mark) + rest
    }

    fn line(&self, widths: &[usize], cell: impl Fn(&Column) -> &str) -> String {
        let mut line = String::new();
        for (i, (column, width)) in self.columns.iter().zip(widths).enumerate() {
            let text = cut_to_width(cell(column), *width, self.style);
            let pad = " ".repeat(width - display_width(&text));
            if i > 0 {
                line.push_str(&" ".repeat(gap_after(&self.columns[i - 1])));
            }
            line.push_str(&if column.kind == ColumnKind::Figure { pad + &text } else { text + &pad });
        }
        line
    }
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
    fn names_are_cut_before_figures_go() {
        assert_eq!(
            grid(&STYLE).fit_into(34),
            [
                "command             calls  waiting",
                "──────────────────────────────────",
                "a_rather_long_com…     12     0.1%",
                "多核多核多核多核        3       7%"
            ]
        );
    }

    #[test]
    fn a_header_of_two_lines_stands_on_the_rule() {
        let mut grid = Grid::new(&STYLE);
        grid.add_names(0, "command", ["make".to_owned()]);
        grid.add_figures(0, "waiting\nratio", ["0.1%".to_owned()]);
        assert_eq!(
            grid.fit_into(80),
            ["         waiting", "command    ratio", "────────────────", "make        0.1%"]
        );
    }

    #[test]
    fn the_least_important_column_goes_first_and_is_named() {
        let lines = grid(&STYLE).fit_into(24);
        assert_eq!(lines[2..4], ["a_rather_long_co…     12", "多核多核多核多核       3"]);
        assert_eq!(lines.last().map(String::as_str), Some("Too narrow for \"waiting\"."));
    }

    #[test]
    fn a_name_is_cut_to_its_width_in_ascii_too() {
        let ascii = Style { unicode: false, ..STYLE };
        assert_eq!(cut_to_width("0123456789", 6, &ascii), "012...");
        assert_eq!(cut_to_width("0123456789", 10, &ascii), "0123456789");
        assert_eq!(cut_to_width("多核多核", 5, &STYLE), "多核…");
    }
}
