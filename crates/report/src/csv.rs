//! The points of a study as CSV (RFC 4180), with unrounded numbers, for spreadsheets and scripts. A
//! study has one row for each CPU count; a study of locks has one row for each point and lock.
//!
//! Column names are a public contract: each ends in its unit, new columns are added at the end, and
//! an empty field is a figure that does not exist. The further metrics follow as the last columns,
//! by name. Column names are the keys of the view's JSON made flat: `elapsed_median_s` is
//! `elapsed_s.median`, and `elapsed_low_s` and `elapsed_high_s` are the ends of `elapsed_s.ci95`.

use std::collections::BTreeSet;
use std::io;

use morecores_view::locks::{LockPoint, LockResult, LocksView};
use morecores_view::{FigureView, PointView, Summary, View};

/// Computes a column's value for a point.
type PointValue = fn(&PointView) -> String;

/// Columns in order: the name and the value. Units: `_s` seconds, `_bytes` bytes, `_percent`
/// percent, `_pages` pages; a name without a unit is a count, a ratio or a text. `_low` and `_high`
/// bound a 95% interval.
const COLUMNS: &[(&str, PointValue)] = &[
    ("cpus", |p| p.cpus.to_string()),
    ("n", |p| p.n.to_string()),
    ("cpu_set", |p| p.cpu_set.to_string()),
    ("limit", |p| p.limit.to_string()),
    ("runs", |p| p.runs.to_string()),
    ("failed_runs", |p| p.failed_runs.to_string()),
    ("outliers", |p| p.outliers.to_string()),
    ("elapsed_median_s", |p| p.elapsed_s.median.to_string()),
    ("elapsed_low_s", |p| bound(p.elapsed_s.ci95, 0)),
    ("elapsed_high_s", |p| bound(p.elapsed_s.ci95, 1)),
    ("elapsed_mean_s", |p| p.elapsed_s.mean.to_string()),
    ("elapsed_min_s", |p| p.elapsed_s.min.to_string()),
    ("elapsed_max_s", |p| p.elapsed_s.max.to_string()),
    ("speedup", |p| p.speedup.value.to_string()),
    ("speedup_low", |p| bound(p.speedup.ci95, 0)),
    ("speedup_high", |p| bound(p.speedup.ci95, 1)),
    ("efficiency", |p| p.efficiency.to_string()),
    ("serial_fraction", |p| optional(p.serial_fraction)),
    ("serial_fraction_low", |p| bound(p.serial_fraction_ci95, 0)),
    ("serial_fraction_high", |p| bound(p.serial_fraction_ci95, 1)),
    ("metric_median", |p| metric_value(p, |m| Some(m.median))),
    ("metric_low", |p| metric_value(p, |m| m.ci95.map(|c| c[0]))),
    ("metric_high", |p| metric_value(p, |m| m.ci95.map(|c| c[1]))),
    ("metric_unit", |p| p.metric.as_ref().and_then(|m| m.unit.clone()).unwrap_or_default()),
    ("user_median_s", |p| p.user_s.median.to_string()),
    ("system_median_s", |p| p.system_s.median.to_string()),
    ("kernel_ratio", |p| optional(p.kernel_ratio)),
    ("kernel_ratio_estimator", |p| p.kernel_ratio_estimator.name().to_owned()),
    ("cpu_percent", |p| p.cpu_percent.to_string()),
    ("max_rss_bytes", |p| p.max_rss_bytes.to_string()),
    ("max_rss_is_bound", |p| p.max_rss_is_bound.to_string()),
    ("tree_peak_bytes", |p| p.tree_peak_bytes.map(|b| b.to_string()).unwrap_or_default()),
    ("minor_faults", |p| p.minor_faults.to_string()),
    ("major_faults", |p| p.major_faults.to_string()),
    ("swapped_in_pages", |p| optional(p.swapped_in_pages)),
    ("swapped_out_pages", |p| optional(p.swapped_out_pages)),
    ("voluntary_switches", |p| p.voluntary_switches.to_string()),
    ("involuntary_switches", |p| p.involuntary_switches.to_string()),
    ("block_read_bytes", |p| p.block_read_bytes.to_string()),
    ("block_written_bytes", |p| p.block_written_bytes.to_string()),
    ("steal_s", |p| optional(p.steal_s)),
    ("throttled_s", |p| optional(p.throttled_s)),
    ("others_allotted_s", |p| optional(p.others_allotted_s)),
    ("others_elsewhere_s", |p| optional(p.others_elsewhere_s)),
    ("noise_floor", |p| optional(p.noise_floor)),
    ("throttled_share", |p| optional(p.throttling.map(|throttling| throttling.share))),
    ("throttled_periods_share", |p| optional(p.throttling.map(|throttling| throttling.periods_share))),
];

/// Writes the points as CSV with a header row. Each further axis of the plan is a column after
/// the columns that every study has.
///
/// # Errors
///
/// Fails if writing to `out` fails.
pub fn view_csv(view: &View, out: impl io::Write) -> Result<(), csv::Error> {
    let mut writer = csv::Writer::from_writer(out);
    let further = &view.plan.further_metrics;
    let further_names = further
        .iter()
        .flat_map(|metric| ["median", "low", "high", "unit"].map(|what| format!("{}_{what}", metric.name)));
    let axes: BTreeSet<&String> = view.points.iter().flat_map(|point| point.axes.keys()).collect();
    let names = COLUMNS.iter().map(|(name, _)| (*name).to_owned());
    writer.write_record(names.chain(axes.iter().map(|axis| (*axis).clone())).chain(further_names))?;
    for point in &view.points {
        let figures = point.further_metrics.iter().flat_map(figure_cells);
        let coordinates =
            axes.iter().map(|axis| point.axes.get(*axis).map(ToString::to_string).unwrap_or_default());
        writer
            .write_record(COLUMNS.iter().map(|(_, value)| value(point)).chain(coordinates).chain(figures))?;
    }
    writer.flush()?;
    Ok(())
}

/// Computes a column's value for a lock at a point of contention.
type LockValue = fn(&LockPoint, &LockResult) -> String;

/// Columns of a study of locks, in the form of [`COLUMNS`]; `_ns` are nanoseconds, `_per_s` is a
/// rate.
const LOCK_COLUMNS: &[(&str, LockValue)] = &[
    ("lock", |_, r| r.lock.name().to_owned()),
    ("threads", |p, _| p.threads.to_string()),
    ("hold_ns", |p, _| p.hold_ns.to_string()),
    ("think_ns", |p, _| p.think_ns.to_string()),
    ("holds_per_s", |_, r| r.per_s.value.to_string()),
    ("holds_low_per_s", |_, r| bound(r.per_s.ci95, 0)),
    ("holds_high_per_s", |_, r| bound(r.per_s.ci95, 1)),
    ("of_fastest", |_, r| r.of_fastest.value.to_string()),
    ("of_fastest_low", |_, r| bound(r.of_fastest.ci95, 0)),
    ("of_fastest_high", |_, r| bound(r.of_fastest.ci95, 1)),
    ("cpus", |_, r| r.cpus.value.to_string()),
    ("cpus_low", |_, r| bound(r.cpus.ci95, 0)),
    ("cpus_high", |_, r| bound(r.cpus.ci95, 1)),
    ("burned_cpus", |_, r| r.burned_cpus.value.to_string()),
    ("burned_cpus_low", |_, r| bound(r.burned_cpus.ci95, 0)),
    ("burned_cpus_high", |_, r| bound(r.burned_cpus.ci95, 1)),
    ("luckiest", |_, r| r.luckiest.to_string()),
    ("unluckiest", |_, r| r.unluckiest.to_string()),
    ("longest_wait_ns", |_, r| r.longest_wait_ns.map(|ns| ns.to_string()).unwrap_or_default()),
];

/// Writes each lock at each point of contention as CSV with a header row.
///
/// # Errors
///
/// Fails if writing to `out` fails.
pub fn locks_csv(view: &LocksView, out: impl io::Write) -> Result<(), csv::Error> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(LOCK_COLUMNS.iter().map(|(name, _)| name))?;
    for point in &view.points {
        for result in &point.results {
            writer.write_record(LOCK_COLUMNS.iter().map(|(_, value)| value(point, result)))?;
        }
    }
    writer.flush()?;
    Ok(())
}

fn optional(value: Option<f64>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}

fn bound(ci95: Option<[f64; 2]>, side: usize) -> String {
    optional(ci95.map(|c| c[side]))
}

fn figure_cells(figure: &FigureView) -> [String; 4] {
    let summary = &figure.summary;
    let unit = figure.unit.clone().unwrap_or_default();
    [summary.median.to_string(), bound(summary.ci95, 0), bound(summary.ci95, 1), unit]
}

fn metric_value(point: &PointView, value: fn(&Summary) -> Option<f64>) -> String {
    optional(point.metric.as_ref().and_then(|m| value(&m.summary)))
}
