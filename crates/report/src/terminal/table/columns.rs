//! The columns of the table: their names, their figures and their importance.

use std::collections::BTreeSet;

use morecores_study::Quantity;
use morecores_view::{PointView, Summary, View, Warning};

use crate::format::{self, ABSENT, Half, UncertainFigure};
use crate::terminal::Style;
use crate::terminal::grid::Column;
use crate::terminal::paint::efficiency_colour;

/// Collects columns in display order.
struct Columns<'a> {
    view: &'a View,
    style: &'a Style,
    /// Columns, each with whether it is shown by default.
    columns: Vec<(bool, Column)>,
}

/// Every column with figures in the view, the most important first.
pub(super) fn all_columns(view: &View, style: &Style) -> Vec<(bool, Column)> {
    let mut all = Columns { view, style, columns: Vec::new() };
    all.add_usual(0, ["", "CPUs"], |p| marked_count(view, p));
    all.add_wide(20, ["", "n"], |p| p.n.to_string());
    let axes: BTreeSet<&String> = view.points.iter().flat_map(|point| point.axes.keys()).collect();
    for axis in axes {
        let planned = view.plan.axes.iter().find(|planned| planned.key() == *axis);
        let heading = match planned.and_then(|planned| Some((planned, planned.unit.as_ref()?))) {
            Some((planned, unit)) => [planned.name.as_str(), unit],
            None => ["", axis],
        };
        all.add_usual(1, heading, |p| p.axes.get(axis).map_or(ABSENT.to_owned(), ToString::to_string));
    }
    all.add_wide(21, ["", "runs"], |p| p.runs.to_string());
    all.add_metric();
    all.add_further_metrics();
    all.add_elapsed();
    all.add_speedup();
    all.add_usual(3, ["effi-", "ciency"], efficiency_cell);
    if let Some((_, column)) = all.columns.last_mut() {
        column.colours = view.points.iter().map(|point| efficiency_colour(point.efficiency)).collect();
    }
    all.add_usual(4, ["serial", "fraction"], |p| {
        format::serial_fraction(p.serial_fraction, p.serial_fraction_ci95)
    });
    all.add_cpu_time(7, "user", |p| p.user_s.median);
    all.add_cpu_time(8, "system", |p| p.system_s.median);
    all.add_usual(6, ["kernel", "ratio"], |p| p.kernel_ratio.map_or(ABSENT.to_owned(), format::percent));
    all.add_usual(5, ["", "%CPU"], |p| format!("{:.0}", p.cpu_percent));
    all.add_wide(30, ["minor", "faults"], |p| format::count(p.minor_faults));
    all.add_wide(31, ["major", "faults"], |p| format::count(p.major_faults));
    all.add_wide(32, ["voluntary", "switches"], |p| format::count(p.voluntary_switches));
    all.add_wide(33, ["involuntary", "switches"], |p| format::count(p.involuntary_switches));
    all.add_wide(34, ["peak of the", "largest process"], |p| {
        let bound = if p.max_rss_is_bound { "≤ " } else { "" };
        format!("{bound}{}", format::bytes(p.max_rss_bytes as f64))
    });
    all.add_if_known(35, ["peak of", "the tree"], |p| p.tree_peak_bytes.map(|b| format::bytes(b as f64)));
    all.add_wide(36, ["block", "read"], |p| format::bytes(p.block_read_bytes));
    all.add_wide(37, ["block", "written"], |p| format::bytes(p.block_written_bytes));
    all.add_if_known(38, ["swapped", "in (pages)"], |p| p.swapped_in_pages.map(format::count));
    all.add_if_known(39, ["swapped", "out (pages)"], |p| p.swapped_out_pages.map(format::count));
    all.add_if_known(40, ["steal,", "all runs"], |p| p.steal_s.map(format::time));
    all.add_if_known(41, ["throttled,", "all runs"], |p| p.throttled_s.map(format::time));
    all.columns
}

impl Columns<'_> {
    fn push(&mut self, usual: bool, rank: u8, header: [&str; 2], cells: impl IntoIterator<Item = String>) {
        let column = Column::figures(self.style, rank, header.join("\n").trim_start(), cells);
        self.columns.push((usual, column));
    }

    fn add_usual(&mut self, rank: u8, header: [&str; 2], cell: impl Fn(&PointView) -> String) {
        self.push(true, rank, header, self.view.points.iter().map(cell).collect::<Vec<_>>());
    }

    fn add_wide(&mut self, rank: u8, header: [&str; 2], cell: impl Fn(&PointView) -> String) {
        self.push(false, rank, header, self.view.points.iter().map(cell).collect::<Vec<_>>());
    }

    /// Adds a column of the wide style, unless no point has the figure.
    fn add_if_known(&mut self, rank: u8, header: [&str; 2], cell: impl Fn(&PointView) -> Option<String>) {
        let cells: Vec<_> = self.view.points.iter().map(cell).collect();
        if cells.iter().any(Option::is_some) {
            self.push(false, rank, header, cells.into_iter().map(|c| c.unwrap_or(ABSENT.to_owned())));
        }
    }

    fn add_metric(&mut self) {
        let Some(metric) = self.view.points.iter().find_map(|p| p.metric.as_ref()) else { return };
        let header = metric_header(metric.name.as_deref(), metric.unit.as_deref());
        let cells: Vec<UncertainFigure> =
            self.view.points.iter().map(|p| uncertain_figure(p.metric.as_ref().map(|m| m.summary))).collect();
        self.push(true, 1, header, align_figures(&cells, self.style));
    }

    fn add_further_metrics(&mut self) {
        let Some(first) = self.view.points.first() else { return };
        for (index, metric) in first.further_metrics.iter().enumerate() {
            let cell =
                |p: &PointView| uncertain_figure(p.further_metrics.get(index).map(|metric| metric.summary));
            let cells: Vec<UncertainFigure> = self.view.points.iter().map(cell).collect();
            let header = metric_header(Some(&metric.name), metric.unit.as_deref());
            self.push(true, 2, header, align_figures(&cells, self.style));
        }
    }

    fn add_elapsed(&mut self) {
        // With a metric the elapsed time is the time that the program was told to run.
        let rank = if self.view.plan.metric.is_some() { 9 } else { 1 };
        let unit = Quantity::Time.column_scale(self.view.points.iter().map(|p| p.elapsed_s.median));
        let cell = |p: &PointView| UncertainFigure::new(p.elapsed_s.median, p.elapsed_s.ci95, unit.size);
        let cells: Vec<UncertainFigure> = self.view.points.iter().map(cell).collect();
        self.push(true, rank, ["", &format!("elapsed ({})", unit.symbol)], align_figures(&cells, self.style));
    }

    fn add_speedup(&mut self) {
        let base = self.view.points.first().map(|p| p.cpus);
        let cell = |p: &PointView| match base {
            // This value follows from the definition, not from a measurement.
            Some(base) if p.cpus == base => UncertainFigure::exact("1"),
            _ => UncertainFigure::new(p.speedup.value, p.speedup.ci95, 1.0),
        };
        let cells: Vec<UncertainFigure> = self.view.points.iter().map(cell).collect();
        self.push(true, 2, ["", "speedup"], align_figures(&cells, self.style));
    }

    fn add_cpu_time(&mut self, rank: u8, name: &str, seconds: fn(&PointView) -> f64) {
        // One unit serves both columns, so that they can be compared with each other too.
        let both = self.view.points.iter().map(|p| p.user_s.median.max(p.system_s.median));
        let unit = Quantity::Time.column_scale(both);
        // Without a ratio of the two, neither is known.
        let cell = |p: &PointView| match p.kernel_ratio {
            Some(_) => UncertainFigure::exact(format::ratio(seconds(p) / unit.size)),
            None => UncertainFigure::exact(ABSENT),
        };
        let cells: Vec<UncertainFigure> = self.view.points.iter().map(cell).collect();
        self.push(true, rank, [name, &format!("({})", unit.symbol)], align_figures(&cells, self.style));
    }
}

/// CPU count, marked if its CPUs are of different kinds.
fn marked_count(view: &View, point: &PointView) -> String {
    let has = |wanted: Warning| view.warnings.contains(&wanted);
    let smt = if has(Warning::SmtSiblings { cpus: point.cpus }) { "†" } else { "" };
    let mixed = if has(Warning::MixedCoreTypes { cpus: point.cpus }) { "‡" } else { "" };
    format!("{}{smt}{mixed}", point.cpus)
}

/// Name above unit; `metric` if there is neither.
fn metric_header<'a>(name: Option<&'a str>, unit: Option<&'a str>) -> [&'a str; 2] {
    match (name, unit) {
        (Some(name), Some(unit)) => [name, unit],
        (Some(one), None) | (None, Some(one)) => ["", one],
        (None, None) => ["", "metric"],
    }
}

fn uncertain_figure(summary: Option<Summary>) -> UncertainFigure {
    summary.map_or(UncertainFigure::exact(ABSENT), |summary| {
        UncertainFigure::new(summary.median, summary.ci95, 1.0)
    })
}

fn efficiency_cell(point: &PointView) -> String {
    format::percent(point.efficiency)
}

/// Cells of one width, in which points, half-widths and upper ends are aligned.
fn align_figures(cells: &[UncertainFigure], style: &Style) -> Vec<String> {
    let split = |text: &str| match text.find('.') {
        Some(point) => (text[..point].to_owned(), text[point..].to_owned()),
        None => (text.to_owned(), String::new()),
    };
    // The fraction of a figure is padded, so that half-widths are aligned; the text of a range
    // stays together.
    let fraction = |cell: &UncertainFigure| match cell.half {
        Half::UpperEnd(_) => 0,
        Half::Known(_) | Half::Unknown | Half::None => split(&cell.value).1.chars().count(),
    };
    let padded = cells.iter().map(fraction).max().unwrap_or(0);
    let parts: Vec<_> = cells
        .iter()
        .map(|cell| {
            let (whole, fraction) = split(&cell.value);
            let behind = match &cell.half {
                Half::Known(half) => format!("{fraction:<padded$} ± {half}"),
                Half::Unknown => format!("{fraction:<padded$} ± ?"),
                Half::UpperEnd(high) => format!("{fraction} to {high}"),
                Half::None => fraction,
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
