//! The table of the measured points: one list of columns for all reports for people.
//!
//! This module lays out nothing: a report chooses columns by their [`Detail`].

use std::collections::BTreeSet;

use morecores_statistics::MIN_RUNS;
use morecores_study::{Axis, AxisValue, CpuEstimator, InCell, QUOTA_AXIS, Quantity, QuotaPercent, Scaling};
use morecores_view::page::TableCell;
use morecores_view::{PointView, QuotaComparison, QuotaView, Ranking, Summary, View, Warning};

use crate::format::{
    self, ABSENT, UncertainFigure, figures_with_intervals, interval_note, join_with_and, serial_fraction,
};
use crate::table::{Column, Table, figure_cell};

/// Column of the table of points.
pub(crate) struct PointColumn {
    pub(crate) detail: Detail,
    pub(crate) content: Content,
    pub(crate) column: Column,
}

/// Reports that show a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Every report.
    Always,
    /// The terminal and the page.
    Usual,
    /// The terminal with `--wide`, and the page.
    Wide,
    /// Markdown alone.
    Markdown,
    /// The page alone.
    Page,
}

/// Properties of a column that a layout may use beside its cells.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    /// CPU counts, which may get a mark.
    CpuCounts,
    /// Efficiencies, which may get a colour.
    Efficiencies,
    /// Figures that may be aligned with their intervals.
    Uncertain(Vec<UncertainFigure>),
    /// Text alone.
    Plain,
}

/// Columns of the table, in the order of display.
pub(crate) fn point_columns(view: &View) -> Vec<PointColumn> {
    use Detail::{Always, Markdown, Page, Wide};
    let mut all = Columns { points: &view.points, columns: Vec::new() };
    let count = |count: u32| TableCell::figure(Quantity::Count, Some(f64::from(count)), count.to_string());
    let figure = |quantity: Quantity, value: f64| figure_cell(quantity, Some(value));
    let several_quotas = view.quota.is_some();
    let (several_n, one_count) = (!view.rankings.is_empty(), has_one_count(view));
    all.push(Always, 0, "CPUs", "cpus", |p| count(p.cpus));
    all.set_content(Content::CpuCounts);
    all.push(if several_n { Always } else { Wide }, if several_n { 0 } else { 20 }, "n", "n", |p| count(p.n));
    all.push_axes(&view.plan.axes);
    all.push(Wide, 21, "runs", "runs", |p| count(p.runs));
    all.push_metrics();
    all.push_elapsed(view.plan.metric.is_some());
    if let Some(quota) = &view.quota {
        all.push_quota_leads(quota);
    }
    if several_n {
        all.push_leads(&view.rankings);
    }
    all.push_speedup(if view.plan.scaling == Scaling::Weak { "scaled\nspeedup" } else { "speedup" });
    // Both are figures of added CPUs.
    let of_cpus = if several_n && one_count { Wide } else { Always };
    all.push(of_cpus, 3, "effi-\nciency", "efficiency", |p| figure(Quantity::Share, p.efficiency));
    all.set_content(Content::Efficiencies);
    all.push(if several_quotas { Wide } else { of_cpus }, 4, "serial\nfraction", "serial_fraction", |p| {
        let text = serial_fraction(p.serial_fraction, p.serial_fraction_ci95);
        TableCell::figure(Quantity::Share, p.serial_fraction, text)
    });
    all.push_cpu_time(7, "user", "user_median_s", |p| p.user_s.median);
    all.push_cpu_time(8, "system", "system_median_s", |p| p.system_s.median);
    all.push_throttling();
    all.push(Always, 6, "kernel\nratio", "kernel_ratio", |p| figure_cell(Quantity::Share, p.kernel_ratio));
    all.push(Always, 5, "%CPU", "cpu_percent", |p| TableCell {
        value: Some(p.cpu_percent),
        unit: None,
        text: format!("{:.0}", p.cpu_percent),
    });
    all.push(Markdown, 0, "runs", "runs", |p| count(p.runs));
    let mut add_count = |rank, header, name, value: fn(&PointView) -> f64| {
        all.push(Wide, rank, header, name, |p| figure(Quantity::Count, value(p)));
    };
    add_count(30, "minor\nfaults", "minor_faults", |p| p.minor_faults);
    add_count(31, "major\nfaults", "major_faults", |p| p.major_faults);
    add_count(32, "voluntary\nswitches", "voluntary_switches", |p| p.voluntary_switches);
    add_count(33, "involuntary\nswitches", "involuntary_switches", |p| p.involuntary_switches);
    all.push(Wide, 34, "peak of the\nlargest process", "max_rss_bytes", |p| {
        let bound = if p.max_rss_is_bound { "≤ " } else { "" };
        let peak = figure(Quantity::Data, p.max_rss_bytes as f64);
        TableCell { text: format!("{bound}{}", peak.text), ..peak }
    });
    // Of several numbers of jobs, memory may decide.
    let of_memory = if several_n { Detail::Usual } else { Wide };
    all.push_known(of_memory, 9, "peak of\nthe tree", "tree_peak_bytes", Quantity::Data, |p| {
        p.tree_peak_bytes.map(|bytes| bytes as f64)
    });
    all.push(Wide, 36, "block\nread", "block_read_bytes", |p| figure(Quantity::Data, p.block_read_bytes));
    all.push(Wide, 37, "block\nwritten", "block_written_bytes", |p| {
        figure(Quantity::Data, p.block_written_bytes)
    });
    let (counts, times) = (Quantity::Count, Quantity::Time);
    all.push_known(Wide, 38, "swapped\nin (pages)", "swapped_in_pages", counts, |p| p.swapped_in_pages);
    all.push_known(Wide, 39, "swapped\nout (pages)", "swapped_out_pages", counts, |p| p.swapped_out_pages);
    all.push_known(Wide, 40, "steal,\nall runs", "steal_s", times, |p| p.steal_s);
    all.push_known(Wide, 41, "throttled,\nall runs", "throttled_s", times, |p| p.throttled_s);
    all.push(Page, 42, "noise\nfloor", "noise_floor", |p| figure_cell(Quantity::Share, p.noise_floor));
    all.columns
}

/// Whether all points have one CPU count.
pub(crate) fn has_one_count(view: &View) -> bool {
    view.points.windows(2).all(|pair| pair[0].cpus == pair[1].cpus)
}

/// Table of the columns whose detail is one of `details`.
pub(crate) fn points_table(view: &View, title: &str, details: &[Detail]) -> Table {
    let columns = point_columns(view).into_iter().filter(|column| details.contains(&column.detail));
    Table::new(title, columns.map(|column| column.column).collect())
}

/// Notes needed to understand the figures of the table.
pub(crate) fn interval_notes(view: &View) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(interval_note(figures_with_intervals(view)).map(|note| format!("{note}.")));
    notes.extend(missing_interval_note(view));
    notes
}

/// Reason why figures have no interval; none if all have one.
pub(crate) fn missing_interval_note(view: &View) -> Option<String> {
    let without = || view.points.iter().filter(|p| p.elapsed_s.ci95.is_none()).map(|p| p.runs);
    let (least, most) = (without().min()?, without().max()?);
    let runs = if least == most { format!("{most}") } else { format!("{least} to {most}") };
    Some(format!("± ?: no interval, because it needs {MIN_RUNS} runs and there are {runs}."))
}

/// Source of user and system time, unless it is the one that a reader expects.
pub(crate) fn estimator_note(view: &View) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for point in &view.points {
        let name = point.kernel_ratio_estimator.name();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let expected = [CpuEstimator::Cgroup.name()];
    (names != expected && !names.is_empty())
        .then(|| format!("User, system and kernel ratio by {}.", join_with_and(&names)))
}

/// Mark of a count with CPUs of different kinds; empty for other counts.
pub(crate) fn count_mark(view: &View, cpus: u32) -> String {
    let mark = |warning: Warning, mark| if view.warnings.contains(&warning) { mark } else { "" };
    format!("{}{}", mark(Warning::SmtSiblings { cpus }, "†"), mark(Warning::MixedCoreTypes { cpus }, "‡"))
}

/// Columns under construction.
struct Columns<'a> {
    points: &'a [PointView],
    columns: Vec<PointColumn>,
}

impl Columns<'_> {
    /// Adds a column of figures. `csv_name` is the name of its values in CSV.
    fn push(
        &mut self,
        detail: Detail,
        rank: u8,
        header: &str,
        csv_name: &str,
        cell: impl Fn(&PointView) -> TableCell,
    ) {
        let mut column = Column::figures(rank, header, self.points.iter().map(cell));
        column.csv_name = Some(csv_name.to_owned());
        self.columns.push(PointColumn { detail, content: Content::Plain, column });
    }

    /// Sets the content of the last column.
    fn set_content(&mut self, content: Content) {
        if let Some(last) = self.columns.last_mut() {
            last.content = content;
        }
    }

    /// Adds a column, unless no point has the figure.
    fn push_known(
        &mut self,
        detail: Detail,
        rank: u8,
        header: &str,
        csv_name: &str,
        quantity: Quantity,
        value: impl Fn(&PointView) -> Option<f64>,
    ) {
        if self.points.iter().any(|point| value(point).is_some()) {
            self.push(detail, rank, header, csv_name, |point| figure_cell(quantity, value(point)));
        }
    }

    /// Adds a column of figures with their intervals.
    fn push_uncertain(
        &mut self,
        detail: Detail,
        rank: u8,
        header: &str,
        csv_name: &str,
        figure: impl Fn(&PointView) -> (Option<f64>, UncertainFigure),
    ) {
        let (values, figures): (Vec<_>, Vec<_>) = self.points.iter().map(figure).unzip();
        let cell = |(value, figure): (Option<f64>, &UncertainFigure)| TableCell {
            value,
            unit: None,
            text: figure.inline(),
        };
        let mut column = Column::figures(rank, header, values.into_iter().zip(&figures).map(cell));
        column.csv_name = Some(csv_name.to_owned());
        self.columns.push(PointColumn { detail, content: Content::Uncertain(figures), column });
    }

    fn push_axes(&mut self, planned: &[Axis]) {
        let axes: BTreeSet<&String> = self.points.iter().flat_map(|point| point.axes.keys()).collect();
        for axis in axes {
            if axis == QUOTA_AXIS {
                self.push_quotas();
                continue;
            }
            let cell = |point: &PointView| match point.axes.get(axis) {
                Some(AxisValue::Number(number)) => {
                    TableCell { value: Some(*number as f64), unit: None, text: number.to_string() }
                }
                Some(name) => TableCell::name(name.to_string()),
                None => TableCell::name(ABSENT),
            };
            let with_unit = planned.iter().find(|planned| planned.key() == *axis && planned.unit.is_some());
            let header = with_unit.map_or(axis, |planned| &planned.name);
            let mut column = Column::figures(1, header, self.points.iter().map(cell));
            column.unit = with_unit.and_then(|planned| planned.unit.clone());
            self.columns.push(PointColumn { detail: Detail::Always, content: Content::Plain, column });
        }
    }

    /// Adds the quotas as numbers of CPUs, which is how users give them.
    fn push_quotas(&mut self) {
        let cell = |point: &PointView| match QuotaPercent::from_coordinates(&point.axes) {
            Some(quota) => TableCell { value: Some(quota.cpus()), unit: None, text: quota.to_string() },
            None => TableCell::name(ABSENT),
        };
        let column = Column::figures(1, "limit\n(CPUs)", self.points.iter().map(cell));
        self.columns.push(PointColumn { detail: Detail::Always, content: Content::Plain, column });
    }

    fn push_metrics(&mut self) {
        let figure = |summary: Option<Summary>| {
            let text = summary.map_or(UncertainFigure::exact(ABSENT), |summary| {
                UncertainFigure::new(summary.median, summary.ci95, 1.0)
            });
            (summary.map(|summary| summary.median), text)
        };
        if let Some(metric) = self.points.iter().find_map(|p| p.metric.as_ref()) {
            let (header, unit) = metric_header(metric.name.as_deref(), metric.unit.as_deref());
            self.push_uncertain(Detail::Always, 1, header, "metric_median", |point| {
                figure(point.metric.as_ref().map(|metric| metric.summary))
            });
            self.set_unit(unit);
        }
        for (index, further) in self.points.first().map_or(&[][..], |p| &p.further_metrics).iter().enumerate()
        {
            let csv_name = format!("{}_median", further.name);
            self.push_uncertain(Detail::Always, 2, &further.name, &csv_name, |point| {
                figure(point.further_metrics.get(index).map(|metric| metric.summary))
            });
            self.set_unit(further.unit.as_deref());
        }
    }

    /// Sets the unit of the last column.
    fn set_unit(&mut self, unit: Option<&str>) {
        if let Some(last) = self.columns.last_mut() {
            last.column.unit = unit.map(str::to_owned);
        }
    }

    /// Adds the elapsed times. With a metric they matter least: then the elapsed time is often the
    /// time that the program was told to run.
    fn push_elapsed(&mut self, has_metric: bool) {
        let scale = Quantity::Time.column_scale(self.points.iter().map(|p| p.elapsed_s.median));
        let rank = if has_metric { 9 } else { 1 };
        let header = format!("elapsed ({})", scale.symbol);
        self.push_uncertain(Detail::Always, rank, &header, "elapsed_median_s", |p| {
            let figure = UncertainFigure::new(p.elapsed_s.median, p.elapsed_s.ci95, scale.size);
            (Some(p.elapsed_s.median), figure)
        });
    }

    /// Adds the speedup of the best `n` of the same CPU count over each.
    fn push_leads(&mut self, rankings: &[Ranking]) {
        self.push_uncertain(Detail::Always, 1, "best n\nahead", "lead", |p| {
            let ranking = rankings.iter().find(|r| r.cpus == p.cpus && r.axes == p.axes);
            let value = ranking.and_then(|ranking| ranking.values.iter().find(|value| value.n == p.n));
            match value.map(|value| value.lead) {
                None => (None, UncertainFigure::exact(ABSENT)),
                Some(_) if ranking.is_some_and(|ranking| ranking.best == p.n) => {
                    (Some(1.0), UncertainFigure::exact("1"))
                }
                Some(lead) => (Some(lead.value), UncertainFigure::new(lead.value, lead.ci95, 1.0)),
            }
        });
    }

    /// Adds the speedup of the largest quota over each that is compared with it.
    fn push_quota_leads(&mut self, comparison: &QuotaComparison) {
        self.push_uncertain(Detail::Always, 1, "largest\nahead", "quota_lead", |p| {
            let own = QuotaPercent::from_coordinates(&p.axes);
            let is_own = |quota: &&QuotaView| Some(quota.quota_percent) == own && quota.n == p.n;
            let largest = comparison.quotas.last();
            match comparison.quotas.iter().find(is_own) {
                None => (None, UncertainFigure::exact(ABSENT)),
                own if own == largest => (Some(1.0), UncertainFigure::exact("1")),
                Some(QuotaView { lead, .. }) => {
                    (Some(lead.value), UncertainFigure::new(lead.value, lead.ci95, 1.0))
                }
            }
        });
    }

    /// Adds the throttling by the quota of each point, unless no point has one.
    fn push_throttling(&mut self) {
        let share = Quantity::Share;
        self.push_known(Detail::Always, 4, "throt-\ntled", "throttled_share", share, |p| {
            Some(p.throttling?.share)
        });
        self.push_known(Detail::Wide, 41, "throttled\nperiods", "throttled_periods_share", share, |p| {
            Some(p.throttling?.periods_share)
        });
    }

    fn push_speedup(&mut self, header: &str) {
        let base = self.points.first().map(InCell::cell);
        self.push_uncertain(Detail::Always, 2, header, "speedup", |p| {
            // The speedup of the base follows from the definition, not from a measurement.
            let figure = match &base {
                Some(base) if p.cell() == *base => UncertainFigure::exact("1"),
                _ => UncertainFigure::new(p.speedup.value, p.speedup.ci95, 1.0),
            };
            (Some(p.speedup.value), figure)
        });
    }

    fn push_cpu_time(&mut self, rank: u8, name: &str, csv_name: &str, seconds: fn(&PointView) -> f64) {
        // One scale serves both columns, so that they can be compared with each other too.
        let both = self.points.iter().map(|p| p.user_s.median.max(p.system_s.median));
        let scale = Quantity::Time.column_scale(both);
        self.push_uncertain(Detail::Usual, rank, &format!("{name}\n({})", scale.symbol), csv_name, |p| {
            // Without a ratio of the two, neither is known.
            match p.kernel_ratio.map(|_| seconds(p)) {
                Some(time) => (Some(time), UncertainFigure::exact(format::ratio(time / scale.size))),
                None => (None, UncertainFigure::exact(ABSENT)),
            }
        });
    }
}

/// Header and unit of a metric, as far as the metric has them.
fn metric_header<'a>(name: Option<&'a str>, unit: Option<&'a str>) -> (&'a str, Option<&'a str>) {
    match (name, unit) {
        (Some(name), unit) => (name, unit),
        (None, Some(unit)) => (unit, None),
        (None, None) => ("metric", None),
    }
}
