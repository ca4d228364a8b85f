//! Tables of the classic benchmarks: published results and results of today's machine, row under
//! row in common columns.
//!
//! This module turns published rows and views into rows of text; `terminal` and `markdown` lay them
//! out.

mod summary;

use morecores_catalogue::{Benchmark, BenchmarkPart, Measure, Printed, Published, PublishedRow};
use morecores_study::Host;
use morecores_view::{CommandView, MetricView, PointView, Summary, View};

use crate::format::{UncertainFigure, cpus, figures_with_intervals, interval_note, percent, time};
use crate::warning::spoiling_sentences;
use crate::{cause_clause, main_cause};
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tables {
    /// Name and title.
    pub(crate) title: String,
    /// Times and ratios, one table for each part; commands come last, if the sources have a table
    /// of commands.
    pub(crate) tables: Vec<Table>,
    /// Notes needed to read the tables, and what is missing from them.
    pub(crate) notes: Vec<String>,
}

/// Columns of equal length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    /// Whether each row is a result of today.
    pub(crate) now: Vec<bool>,
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    /// May be broken at its newlines.
    pub(crate) header: &'static str,
    pub(crate) cells: Vec<String>,
    pub(crate) kind: ColumnKind,
}

/// Content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    /// Names, cut if there is no room; their rank works like that of figures.
    Name(u8),
    /// Names chosen by morecores, cut only as the last resort.
    Label,
    /// Figures with their rank: without room the highest rank is left out first, 0 never.
    Figure(u8),
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
pub(crate) fn benchmark_tables(result: &BenchmarkResult<'_>, published: &Published) -> Tables {
    let benchmark = result.benchmark;
    let (mut tables, mut commands, mut causes, mut missing) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut both_ratios = false;
    for (part, study) in benchmark.parts.iter().zip(&result.studies) {
        let rows = part.published.iter().flat_map(|prefix| published.rows(prefix));
        let (command_rows, run_rows): (Vec<&PublishedRow>, Vec<_>) =
            rows.partition(|row| row.calls.is_some());
        let then = run_rows.iter().map(|row| published_row(row, published));
        let now =
            study.iter().flat_map(|view| view.points.iter().map(|point| measured_row(part, view, point)));
        let rows: Vec<_> = then.chain(now).collect();
        let has_ratio =
            |now: bool| rows.iter().any(|row| (row[MACHINE] == NOW) == now && !row[KERNEL].is_empty());
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
                causes.extend(
                    main_cause(view).map(|cause| format!("{}: {}.", part.what, cause_clause(&cause))),
                );
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
            "Kernel ratio: then the time under the kernel's one lock over CPU time, now the time in the kernel over CPU time; \
             on a kernel with one lock the two are the same."
                .to_owned(),
        );
    }
    if !causes.is_empty() {
        notes.push(format!("What stops it most now. {}", causes.join(" ")));
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
    rows: &[[String; N]],
) -> Table {
    let cell = |index: usize, row: usize| {
        let repeats = columns[index].0.is_empty() && row > 0 && rows[row][index] == rows[row - 1][index];
        if repeats { String::new() } else { rows[row][index].clone() }
    };
    let shown = (0..N).filter(|index| rows.iter().any(|row| !row[*index].is_empty())).map(|index| Column {
        header: if columns[index].0.is_empty() { title } else { columns[index].0 },
        cells: (0..rows.len()).map(|row| cell(index, row)).collect(),
        kind: columns[index].1,
    });
    let is_now = |row: &[String; N]| row.iter().any(|cell| cell.starts_with(NOW));
    Table { columns: shown.collect(), now: rows.iter().map(is_now).collect() }
}

fn published_row(row: &PublishedRow, published: &Published) -> [String; TIMES.len()] {
    let mut cells = [const { String::new() }; TIMES.len()];
    cells[MACHINE] = machine_name(row, published);
    cells[CPUS] = match (&row.label, &row.config, row.n_cpus) {
        (Some(label), ..) => label.clone(),
        (_, Some(config), _) if is_short(config) => config.clone(),
        (.., Some(n)) => n.to_string(),
        _ => String::new(),
    };
    cells[TIME] = row.elapsed_s().map(|s| s.to_string()).unwrap_or_default();
    cells[FIGURE] = row.operations_per_s.map(|rate| rate.to_string()).unwrap_or_default();
    cells[SPEEDUP] = row.speedup().map(|speedup| format!("{speedup:.2}")).unwrap_or_default();
    cells[SERIAL] = row.serial_minutes.map(|minutes| format!("{minutes} min")).unwrap_or_default();
    cells[KERNEL] = printed_percent_text(row.lock_ratio_percent.as_ref());
    cells[WAITING] = printed_percent_text(row.waiting_ratio_percent.as_ref());
    cells
}

/// Whether a configuration stands in a column of CPU counts as it is: `1 CPU SMP`, but not a
/// sentence.
fn is_short(config: &str) -> bool {
    config.chars().count() <= "2 CPUs (summary)".len()
}

fn machine_name(row: &PublishedRow, published: &Published) -> String {
    let system = row.system.as_ref().and_then(|key| published.systems.get(key));
    system.map_or_else(|| row.source.clone(), |system| system.short.clone())
}

fn printed_percent_text(printed: Option<&Printed>) -> String {
    match printed {
        Some(Printed::Number(percent)) => format!("{percent}%"),
        // A text such as `less than 0.1`; a leading dash is the empty cell beside it.
        Some(Printed::Text(words)) => {
            format!("{}%", words.trim_start_matches(['–', ' ']).replace("less than ", "<"))
        }
        None => String::new(),
    }
}

fn measured_row(part: &BenchmarkPart, view: &View, point: &PointView) -> [String; TIMES.len()] {
    let trace = |cpus: u32| view.traces.iter().find(|trace| trace.cpus == cpus);
    let base = view.points.first().map_or(0, |first| first.cpus);
    let mut cells = [const { String::new() }; TIMES.len()];
    cells[MACHINE] = NOW.to_owned();
    cells[CPUS] = point.cpus.to_string();
    let traced = trace(point.cpus);
    let seconds = |summary: &Summary| UncertainFigure::new(summary.median, summary.ci95, 1.0).inline();
    match (part.measure, &point.metric) {
        (Measure::ParallelPart(_), Some(parallel)) => {
            cells[TIME] = seconds(&parallel.summary);
            cells[SERIAL] = time((point.elapsed_s.median - parallel.summary.median).max(0.0));
        }
        (_, metric) => {
            cells[TIME] = seconds(&point.elapsed_s);
            cells[FIGURE] = metric.as_ref().map(figure_text).unwrap_or_default();
        }
    }
    cells[SPEEDUP] = if point.cpus == base {
        "1".to_owned()
    } else {
        UncertainFigure::new(point.speedup.value, point.speedup.ci95, 1.0).inline()
    };
    cells[KERNEL] = point.kernel_ratio.map(percent).unwrap_or_default();
    cells[WAITING] = traced.and_then(|trace| trace.waiting_ratio).map(percent).unwrap_or_default();
    cells
}

fn figure_text(metric: &MetricView) -> String {
    UncertainFigure::new(metric.summary.median, metric.summary.ci95, 1.0).inline()
}

/// Machine in a few words.
fn current_machine(host: &Host) -> String {
    let cpu = host.cpu_model.replace("(R)", "").replace("(TM)", "");
    let cpu = cpu.split_whitespace().collect::<Vec<_>>().join(" ");
    [cpu, format!("Linux {}", host.kernel)].join(", ")
}

fn published_command_row(row: &PublishedRow, published: &Published) -> [String; COMMANDS.len()] {
    let name = row.workload.rsplit_once("command ").map_or("", |(_, name)| name);
    [
        name.to_owned(),
        machine_name(row, published),
        row.calls.map(|calls| calls.to_string()).unwrap_or_default(),
        row.cpu_ratio_percent.map(|ratio| format!("{ratio}%")).unwrap_or_default(),
        printed_percent_text(row.lock_ratio_percent.as_ref()),
        printed_percent_text(row.waiting_ratio_percent.as_ref()),
    ]
}

/// Commands of the trace on the most CPUs.
fn measured_command_rows(view: &View) -> Vec<[String; COMMANDS.len()]> {
    let Some(trace) = view.traces.iter().max_by_key(|trace| trace.cpus) else { return Vec::new() };
    let row = |command: &CommandView| {
        [
            command.name.clone(),
            format!("{NOW}, on {}", cpus(trace.cpus)),
            command.calls.to_string(),
            percent(command.cpu_ratio),
            command.kernel_ratio.map(percent).unwrap_or_default(),
            command.waiting_ratio.map(percent).unwrap_or_default(),
        ]
    };
    trace.commands.iter().take(MAX_COMMANDS).map(row).collect()
}
