//! Tables of typed cells: the one form of a table before a terminal, Markdown or the page lays it
//! out.
//!
//! This module chooses neither rows nor columns, and lays out nothing.

use morecores_study::Quantity;
use morecores_view::Estimate;
use morecores_view::page::TableCell;

use crate::format::{ABSENT, with_ends};

/// Columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table {
    /// Title; empty if the context of the table makes it clear.
    pub(crate) title: String,
    pub(crate) columns: Vec<Column>,
    /// Whether each row is a result of today.
    pub(crate) now: Vec<bool>,
}

impl Table {
    /// Table whose rows are all results of today.
    pub(crate) fn new(title: impl Into<String>, columns: Vec<Column>) -> Self {
        let rows = columns.first().map_or(0, |column| column.cells.len());
        Self { title: title.into(), columns, now: vec![true; rows] }
    }
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    /// May be broken at its newlines; a hyphen before a newline belongs to the break.
    pub(crate) header: String,
    /// Unit of a metric or axis: the last header line on a terminal, in brackets elsewhere.
    pub(crate) unit: Option<String>,
    pub(crate) cells: Vec<TableCell>,
    pub(crate) kind: ColumnKind,
    /// Name of the values in CSV, ending in their unit; none if CSV has the text of the cells.
    pub(crate) csv_name: Option<String>,
}

impl Column {
    /// Column of names chosen by morecores.
    pub(crate) fn labels(header: &str, cells: impl IntoIterator<Item = String>) -> Self {
        Self::new(ColumnKind::Label, header, cells.into_iter().map(TableCell::name))
    }

    /// Column of figures with their rank.
    pub(crate) fn figures(rank: u8, header: &str, cells: impl IntoIterator<Item = TableCell>) -> Self {
        Self::new(ColumnKind::Figure(rank), header, cells)
    }

    /// Column without a unit of its own.
    pub(crate) fn new(kind: ColumnKind, header: &str, cells: impl IntoIterator<Item = TableCell>) -> Self {
        let cells = cells.into_iter().collect();
        Self { header: header.to_owned(), unit: None, cells, kind, csv_name: None }
    }

    /// Header on one line, with the unit behind it.
    pub(crate) fn title(&self) -> String {
        let header = self.header.replace("-\n", "").replace('\n', " ");
        match &self.unit {
            Some(unit) => format!("{header} ({unit})"),
            None => header,
        }
    }

    /// Header with its line breaks, the unit on the last line.
    pub(crate) fn header_lines(&self) -> String {
        [Some(&self.header), self.unit.as_ref()].into_iter().flatten().cloned().collect::<Vec<_>>().join("\n")
    }
}

/// Content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    /// Names, cut if there is no room; their rank works like that of figures.
    Name(u8),
    /// Names chosen by morecores, cut only as the last resort.
    Label,
    /// Figures with their rank: if there is no room, the highest rank is dropped first, 0 never.
    Figure(u8),
}

/// Cell of a figure; a dash if there is none.
pub(crate) fn figure_cell(quantity: Quantity, value: Option<f64>) -> TableCell {
    TableCell::figure(quantity, value, value.map_or(ABSENT.to_owned(), |value| quantity.text(value)))
}

/// Cell of an estimate with the ends of its interval; a dash if there is none.
pub(crate) fn estimate_cell(quantity: Quantity, estimate: Option<&Estimate>) -> TableCell {
    let text = estimate.map_or(ABSENT.to_owned(), |estimate| with_ends(quantity, estimate));
    TableCell::figure(quantity, estimate.map(|estimate| estimate.value), text)
}
