//! Tables of the classic benchmarks: published results and results of today's machine, row under
//! row in common columns.
//!
//! This module turns published rows and views into rows of text; `terminal` and `markdown` lay them
//! out.

mod summary;

use morecores_catalogue::{Benchmark, BenchmarkPart, Measure, Percentage, PublishedFacts, PublishedRow};
use morecores_study::{Host, Quantity};
use morecores_view::page::TableCell;
use morecores_view::{CommandView, MetricView, PointView, View};

use crate::causes::{cause_clauses, main_causes};
use crate::format::{UncertainFigure, cpus, figures_with_intervals, interval_note, percent, time};
use crate::table::{Column, ColumnKind, Table};
use crate::warning::spoiling_sentences;
pub use summary::suite_summary;
pub(crate) use summary::{summary_notes, summary_table, verdict_words};

/// A benchmark with its measured results.
#[derive(Clone, Debug)]
pub struct BenchmarkResult<'a> {
    /// The benchmark.
    pub benchmark: &'static Benchmark,
    /// One result for each part, in the benchmark's order: the view of the study, or the reason why
    /// there is none.
    pub studies: Vec<Result<&'a View, String>>,
}

/// Tables of a benchmark as text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tables {
    /// Name and title.
    pub(crate) title: String,
    /// Times and ratios, one table for each part; commands come last, if the sources have a table
    /// of commands.
    pub(crate) tables: Vec<Table>,
    /// Notes needed to read the tables, and what is missing from them.
    pub(crate) notes: Vec<String>,
}

/// Row of a table, before empty columns are left out.
struct Row<const N: usize> {
    /// Whether the row is a result of today.
    now: bool,
    cells: [TableCell; N],
}

/// Name for the machine of today; a note identifies the machine.
const NOW: &str = "now";

/// Columns of times. The header of the first column is the part's own text.
const MACHINE: usize = 0;
const CPUS: usize = 1;
const TIME: usize = 2;
const FIGURE: usize = 3;
const SPEEDUP: usize = 4;
const SERIAL: usize = 5;
const KERNEL: usize = 6;
const WAITING: usize = 7;
const TIMES: [(&str, ColumnKind); 8] = [
    ("", ColumnKind::Name(0)),
    ("CPUs", ColumnKind::Figure(0)),
    ("time (s)", ColumnKind::Figure(0)),
    ("figure", ColumnKind::Figure(0)),
    ("speedup", ColumnKind::Figure(0)),
    ("serial part", ColumnKind::Figure(3)),
    ("kernel\nratio", ColumnKind::Figure(2)),
    ("waiting\nratio", ColumnKind::Figure(1)),
];

/// Columns of commands, as in the paper's table.
const COMMANDS: [(&str, ColumnKind); 6] = [
    ("command", ColumnKind::Name(0)),
    ("machine", ColumnKind::Name(0)),
    ("calls", ColumnKind::Figure(0)),
    ("CPU\nratio", ColumnKind::Figure(0)),
    ("kernel\nratio", ColumnKind::Figure(0)),
    ("waiting\nratio", ColumnKind::Figure(0)),
];

/// Number of today's commands shown beside the published ones.
const MAX_COMMANDS: usize = 8;

/// Tables of a benchmark.
pub(crate) fn benchmark_tables(result: &BenchmarkResult<'_>, published: &PublishedFacts) -> Tables {
    let benchmark = result.benchmark;
    let (mut tables, mut commands, mut causes, mut missing) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut both_ratios = false;
    for (part, study) in benchmark.parts.iter().zip(&result.studies) {
        let rows = part.published.iter().flat_map(|prefix| published.rows(prefix));
        let (command_rows, run_rows): (Vec<&PublishedRow>, Vec<_>) =
            rows.partition(|row| row.command.is_some());
        let then = run_rows.iter().map(|row| published_row(row, published));
        let now =
            study.iter().flat_map(|view| view.points.iter().map(|point| measured_row(part, view, point)));
        let rows: Vec<_> = then.chain(now).collect();
        let has_ratio =
            |now: bool| rows.iter().any(|row| row.now == now && !row.cells[KERNEL].text.is_empty());
        both_ratios |= has_ratio(true) && has_ratio(false);
        let mut columns = TIMES;
        if let Measure::Figure(_, unit) = part.measure {
            columns[FIGURE].0 = unit;
            // The figure says it better.
            columns[TIME].1 = ColumnKind::Figure(4);
        }
        tables.push(build_table(part.what, &columns, &rows));
        commands.extend(command_rows.iter().map(|row| published_command_row(row, published)));
        match study {
            Ok(view) => {
                if !command_rows.is_empty() {
                    commands.extend(measured_command_rows(view));
                }
                let clauses = cause_clauses(&main_causes(view));
                if !clauses.is_empty() {
                    causes.push(format!("{}: {}.", part.what, clauses.join("; ")));
                }
            }
            Err(why) => missing.push(format!("{}: not measured: {why}", part.study)),
        }
    }
    if !commands.is_empty() {
        tables.push(build_table("command", &COMMANDS, &commands));
    }
    let mut notes = Vec::new();
    notes.extend(warning_note(result));
    if let Some(view) = result.studies.iter().flatten().next() {
        let figures = result.studies.iter().flatten().flat_map(|view| figures_with_intervals(view));
        let intervals = interval_note(figures).map_or(String::new(), |note| format!(" {note}."));
        notes.push(format!("{NOW}: {}.{intervals}", current_machine(&view.host)));
    }
    if both_ratios {
        notes.push(
            "Kernel ratio: the published one is the time under the kernel's one lock over CPU time, today's is the time in \
             the kernel over CPU time. On a kernel with one lock the two are the same."
                .to_owned(),
        );
    }
    if !causes.is_empty() {
        notes.push(format!("Largest loss of each now. {}", causes.join(" ")));
    }
    notes.extend(missing);
    Tables { title: format!("{}: {}", benchmark.name, benchmark.title), tables, notes }
}

/// Problems of today's figures over all parts, with the names of the parts.
fn warning_note(result: &BenchmarkResult<'_>) -> Option<String> {
    let measured = || {
        let parts = result.benchmark.parts.iter().zip(&result.studies);
        parts.filter_map(|(part, study)| Some((part, study.as_ref().ok()?)))
    };
    let spoiled_parts: Vec<&str> = measured()
        .filter(|(_, view)| !spoiling_sentences(&view.warnings).is_empty())
        .map(|(part, _)| part.what)
        .collect();
    let all: Vec<_> = measured().flat_map(|(_, view)| view.warnings.iter().cloned()).collect();
    let notices = spoiling_sentences(&all);
    let parts = if spoiled_parts.len() == measured().count() {
        String::new()
    } else {
        format!(" ({})", spoiled_parts.join("; "))
    };
    (!notices.is_empty()).then(|| format!("warning{parts}: {}", notices.join(" ")))
}

/// Columns that have content, the first one headed `title`. A machine equal to the one above is not
/// named again.
fn build_table<const N: usize>(
    title: &'static str,
    columns: &[(&'static str, ColumnKind); N],
    rows: &[Row<N>],
) -> Table {
    let cell = |index: usize, row: usize| {
        let text = |row: usize| &rows[row].cells[index].text;
        let repeats = columns[index].0.is_empty() && row > 0 && text(row) == text(row - 1);
        if repeats { TableCell::default() } else { rows[row].cells[index].clone() }
    };
    let shown =
        (0..N).filter(|index| rows.iter().any(|row| !row.cells[*index].text.is_empty())).map(|index| {
            let (header, kind) = columns[index];
            let header = if header.is_empty() { title } else { header };
            Column::new(kind, header, (0..rows.len()).map(|row| cell(index, row)))
        });
    Table { title: String::new(), columns: shown.collect(), now: rows.iter().map(|row| row.now).collect() }
}

/// Cell of a figure; empty if there is none.
fn optional_cell(quantity: Quantity, value: Option<f64>, text: impl FnOnce(f64) -> String) -> TableCell {
    TableCell::figure(quantity, value, value.map(text).unwrap_or_default())
}

fn share_cell(share: Option<f64>) -> TableCell {
    optional_cell(Quantity::Share, share, percent)
}

fn published_row(row: &PublishedRow, published: &PublishedFacts) -> Row<{ TIMES.len() }> {
    let mut cells = [const { TableCell::EMPTY }; TIMES.len()];
    cells[MACHINE] = TableCell::name(machine_name(row, published));
    cells[CPUS] = match (&row.label, &row.config, row.n_cpus) {
        (Some(label), ..) => TableCell::name(label),
        (_, Some(config), _) if is_short(config) => TableCell::name(config),
        (.., cpus) => optional_cell(Quantity::Count, cpus.map(f64::from), |cpus| cpus.to_string()),
    };
    cells[TIME] = optional_cell(Quantity::Time, row.elapsed_s(), |seconds| seconds.to_string());
    cells[FIGURE] = optional_cell(Quantity::Number, row.operations_per_s, |rate| rate.to_string());
    cells[SPEEDUP] = optional_cell(Quantity::Number, row.speedup(), |speedup| format!("{speedup:.2}"));
    let minutes = row.serial_minutes.map(|minutes| format!("{minutes} min")).unwrap_or_default();
    cells[SERIAL] =
        TableCell::figure(Quantity::Time, row.serial_minutes.map(|minutes| minutes * 60.0), minutes);
    cells[KERNEL] = published_share_cell(row.lock_ratio_percent);
    cells[WAITING] = published_share_cell(row.waiting_ratio_percent);
    Row { now: false, cells }
}

/// Whether a column of CPU counts shows a configuration unchanged: `1 CPU SMP`, but not a sentence.
fn is_short(config: &str) -> bool {
    config.chars().count() <= "2 CPUs (summary)".len()
}

fn machine_name(row: &PublishedRow, published: &PublishedFacts) -> String {
    let system = row.system.as_ref().and_then(|key| published.systems.get(key));
    system.map_or_else(|| row.source.clone(), |system| system.short.clone())
}

fn published_share_cell(share: Option<Percentage>) -> TableCell {
    match share {
        Some(Percentage::Exact(percent)) => {
            TableCell::figure(Quantity::Share, Some(percent / 100.0), format!("{percent}%"))
        }
        Some(Percentage::LessThan(percent)) => TableCell::name(format!("<{percent}%")),
        None => TableCell::default(),
    }
}

fn measured_row(part: &BenchmarkPart, view: &View, point: &PointView) -> Row<{ TIMES.len() }> {
    let trace = |cpus: u32| view.traces.iter().find(|trace| trace.cpus == cpus);
    let base = view.points.first().map_or(0, |first| first.cpus);
    let mut cells = [const { TableCell::EMPTY }; TIMES.len()];
    cells[MACHINE] = TableCell::name(NOW);
    cells[CPUS] = TableCell::figure(Quantity::Count, Some(f64::from(point.cpus)), point.cpus.to_string());
    let traced = trace(point.cpus);
    match (part.measure, &point.metric) {
        (Measure::ParallelPart(_), Some(parallel)) => {
            cells[TIME] = uncertain_cell(Quantity::Time, parallel.summary.median, parallel.summary.ci95);
            let serial = (point.elapsed_s.median - parallel.summary.median).max(0.0);
            cells[SERIAL] = optional_cell(Quantity::Time, Some(serial), time);
        }
        (_, metric) => {
            cells[TIME] = uncertain_cell(Quantity::Time, point.elapsed_s.median, point.elapsed_s.ci95);
            if let Some(MetricView { summary, .. }) = metric {
                cells[FIGURE] = uncertain_cell(Quantity::Number, summary.median, summary.ci95);
            }
        }
    }
    cells[SPEEDUP] = if point.cpus == base {
        TableCell::figure(Quantity::Number, Some(1.0), "1")
    } else {
        uncertain_cell(Quantity::Number, point.speedup.value, point.speedup.ci95)
    };
    cells[KERNEL] = share_cell(point.kernel_ratio);
    cells[WAITING] = share_cell(traced.and_then(|trace| trace.waiting_ratio));
    Row { now: true, cells }
}

/// Cell of a figure with its interval, in the quantity's own unit.
fn uncertain_cell(quantity: Quantity, value: f64, ci95: Option<[f64; 2]>) -> TableCell {
    TableCell::figure(quantity, Some(value), UncertainFigure::new(value, ci95, 1.0).inline())
}

/// Machine in a few words.
fn current_machine(host: &Host) -> String {
    let cpu = host.cpu_model.replace("(R)", "").replace("(TM)", "");
    let cpu = cpu.split_whitespace().collect::<Vec<_>>().join(" ");
    [cpu, format!("Linux {}", host.kernel)].join(", ")
}

fn published_command_row(row: &PublishedRow, published: &PublishedFacts) -> Row<{ COMMANDS.len() }> {
    let cells = [
        TableCell::name(row.command.as_deref().unwrap_or_default()),
        TableCell::name(machine_name(row, published)),
        optional_cell(Quantity::Count, row.calls.map(|calls| calls as f64), |calls| calls.to_string()),
        optional_cell(Quantity::Share, row.cpu_ratio_percent.map(|percent| percent / 100.0), |_| {
            row.cpu_ratio_percent.map(|ratio| format!("{ratio}%")).unwrap_or_default()
        }),
        published_share_cell(row.lock_ratio_percent),
        published_share_cell(row.waiting_ratio_percent),
    ];
    Row { now: false, cells }
}

/// Commands of the trace on the most CPUs.
fn measured_command_rows(view: &View) -> Vec<Row<{ COMMANDS.len() }>> {
    let Some(trace) = view.traces.iter().max_by_key(|trace| trace.cpus) else { return Vec::new() };
    let row = |command: &CommandView| {
        let cells = [
            TableCell::name(&command.name),
            TableCell::name(format!("{NOW}, on {}", cpus(trace.cpus))),
            TableCell::figure(Quantity::Count, Some(command.calls as f64), command.calls.to_string()),
            share_cell(Some(command.cpu_ratio)),
            share_cell(command.kernel_ratio),
            share_cell(command.waiting_ratio),
        ];
        Row { now: true, cells }
    };
    trace.commands.iter().take(MAX_COMMANDS).map(row).collect()
}
