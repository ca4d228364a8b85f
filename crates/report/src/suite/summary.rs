//! Summary of a suite: pairs of a published and a measured speedup, and the verdict of their
//! comparison.
//!
//! The figures come first, as a [`SuiteSummary`]; the table and the notes are made from it alone.

use morecores_catalogue::{BenchmarkPart, PublishedFacts};
use morecores_statistics::MIN_RUNS;
use morecores_study::Quantity;
use morecores_view::page::TableCell;
use morecores_view::suite::{MeasuredSpeedup, PublishedSpeedup, SuiteRow, SuiteSummary, SuiteVerdict};
use morecores_view::{PointView, View};

use super::{BenchmarkResult, current_machine, machine_name};
use crate::format::{UncertainFigure, cpus, interval_note};
use crate::table::{Column, ColumnKind, Table};

/// Summarises the benchmarks of a suite.
pub fn suite_summary(results: &[BenchmarkResult<'_>], published: &PublishedFacts) -> SuiteSummary {
    let row = |result: &BenchmarkResult<'_>| {
        let parts = result.benchmark.parts.iter().zip(&result.studies);
        let name = result.benchmark.name;
        parts.map(|(part, study)| summary_row(name, part, study.as_ref(), published)).collect::<Vec<_>>()
    };
    let view = results.iter().flat_map(|result| &result.studies).flatten().next();
    SuiteSummary {
        machine: view.map(|view| current_machine(&view.host)),
        rows: results.iter().flat_map(row).collect(),
    }
}

fn summary_row(
    benchmark: &str,
    part: &BenchmarkPart,
    study: Result<&&View, &String>,
    published: &PublishedFacts,
) -> SuiteRow {
    let published = published_speedups(part, published);
    let measured = if part.measure.is_speed() { measured_speedups(study.ok().copied()) } else { Vec::new() };
    let (then, now) = choose_pair(&published, &measured);
    let missing = match study {
        Err(why) => Some(why.clone()),
        Ok(_) if !part.measure.is_speed() => {
            Some("it prints a share in percent, so its ratio is no speedup".to_owned())
        }
        Ok(view) if measured.is_empty() => Some(missing_speedup_reason(view)),
        Ok(_) => None,
    };
    let verdict = match (&then, &now) {
        (_, None) if study.is_ok() && !part.measure.is_speed() => SuiteVerdict::NotASpeed,
        (_, None) => SuiteVerdict::NotMeasured,
        (None, Some(_)) => SuiteVerdict::NotPublished,
        (Some(then), Some(now)) => judge_speedups(then, now),
    };
    SuiteRow {
        benchmark: benchmark.to_owned(),
        part: part.what.to_owned(),
        study: part.study.to_owned(),
        published,
        measured,
        then,
        now,
        verdict,
        missing,
    }
}

/// Reason why a study has no speedup over one CPU.
fn missing_speedup_reason(view: &View) -> String {
    match view.points.as_slice() {
        [] => "no run succeeded".to_owned(),
        [point] => format!("measured on {} only", cpus(point.cpus)),
        _ => "not measured on 1 CPU".to_owned(),
    }
}

/// Published speedups on more than one CPU. The first counts where several share a machine and a
/// CPU count.
fn published_speedups(part: &BenchmarkPart, published: &PublishedFacts) -> Vec<PublishedSpeedup> {
    let mut speedups: Vec<PublishedSpeedup> = Vec::new();
    for row in part.published.iter().flat_map(|prefix| published.rows(prefix)) {
        let (Some(cpus), Some(speedup)) = (row.n_cpus, row.speedup()) else { continue };
        let machine = machine_name(row, published);
        let is_known = speedups.iter().any(|known| (&known.machine, known.cpus) == (&machine, cpus));
        if cpus > 1 && !is_known {
            let year = published.years.get(&row.source).copied();
            speedups.push(PublishedSpeedup { machine, year, cpus, speedup });
        }
    }
    speedups
}

/// Measured speedups on more than one CPU, over one.
fn measured_speedups(view: Option<&View>) -> Vec<MeasuredSpeedup> {
    match view.map(|view| view.points.as_slice()) {
        Some([base, rest @ ..]) if base.cpus == 1 => {
            let speedup = |point: &PointView| MeasuredSpeedup {
                cpus: point.cpus,
                speedup: point.speedup.value,
                ci95: point.speedup.ci95,
            };
            rest.iter().map(speedup).filter(|measured| measured.speedup.is_finite()).collect()
        }
        _ => Vec::new(),
    }
}

/// Pair of speedups for one row: both on the largest CPU count that both have, otherwise each on
/// its own largest.
fn choose_pair(
    published: &[PublishedSpeedup],
    measured: &[MeasuredSpeedup],
) -> (Option<PublishedSpeedup>, Option<MeasuredSpeedup>) {
    let measured_on = |cpus: u32| measured.iter().find(|measured| measured.cpus == cpus);
    let is_common = |then: &&PublishedSpeedup| measured_on(then.cpus).is_some();
    let then = first_largest(published.iter().filter(is_common)).or_else(|| first_largest(published.iter()));
    let now = then.and_then(|then| measured_on(then.cpus)).or_else(|| measured.last());
    (then.cloned(), now.copied())
}

/// Speedup on the most CPUs; of several the first, in the order of the sources.
fn first_largest<'a>(speedups: impl Iterator<Item = &'a PublishedSpeedup>) -> Option<&'a PublishedSpeedup> {
    speedups.reduce(|best, next| if next.cpus > best.cpus { next } else { best })
}

fn judge_speedups(then: &PublishedSpeedup, now: &MeasuredSpeedup) -> SuiteVerdict {
    match now.ci95 {
        _ if then.cpus != now.cpus => SuiteVerdict::OtherCounts,
        None => SuiteVerdict::TooFewRuns,
        Some([low, _]) if then.speedup < low => SuiteVerdict::Higher,
        Some([_, high]) if then.speedup > high => SuiteVerdict::Lower,
        Some(_) => SuiteVerdict::NoDifference,
    }
}

/// Header, kind and cell of a row.
type RowColumn = (&'static str, ColumnKind, fn(&SuiteRow) -> TableCell);

/// Summary as a table, one row for each part.
pub(crate) fn summary_table(summary: &SuiteSummary) -> Table {
    let columns: [RowColumn; 6] = [
        ("benchmark", ColumnKind::Label, |row| TableCell::name(&row.study)),
        ("machine", ColumnKind::Name(3), |row| {
            row.then.as_ref().map_or(TableCell::EMPTY, |then| TableCell::name(&then.machine))
        }),
        ("year", ColumnKind::Figure(4), |row| {
            let year = row.then.as_ref().and_then(|then| then.year);
            year.map_or(TableCell::EMPTY, |year| {
                TableCell::figure(Quantity::Number, Some(f64::from(year)), year.to_string())
            })
        }),
        ("then", ColumnKind::Figure(1), |row| {
            let text = |then: &PublishedSpeedup| format!("{:.2} on {}", then.speedup, then.cpus);
            let cell =
                |then: &PublishedSpeedup| TableCell::figure(Quantity::Number, Some(then.speedup), text(then));
            row.then.as_ref().map_or(TableCell::EMPTY, cell)
        }),
        ("now", ColumnKind::Figure(0), |row| row.now.as_ref().map_or(TableCell::EMPTY, now_cell)),
        ("verdict", ColumnKind::Name(2), |row| TableCell::name(verdict_words(row))),
    ];
    let column = |(header, kind, cell): RowColumn| Column::new(kind, header, summary.rows.iter().map(cell));
    Table {
        title: String::new(),
        columns: columns.into_iter().map(column).collect(),
        now: vec![false; summary.rows.len()],
    }
}

fn now_cell(now: &MeasuredSpeedup) -> TableCell {
    let figure = UncertainFigure::new(now.speedup, now.ci95, 1.0).inline();
    TableCell::figure(Quantity::Number, Some(now.speedup), format!("{figure} on {}", now.cpus))
}

/// Verdict of a row in two or three words.
pub(crate) fn verdict_words(row: &SuiteRow) -> String {
    let ratio = match (&row.then, &row.now) {
        (Some(then), Some(now)) => now.speedup / then.speedup,
        _ => f64::NAN,
    };
    match row.verdict {
        SuiteVerdict::Higher => format!("{} higher", Quantity::Share.whole_text(ratio - 1.0)),
        SuiteVerdict::Lower => format!("{} lower", Quantity::Share.whole_text(1.0 - ratio)),
        SuiteVerdict::NoDifference => "no difference".to_owned(),
        SuiteVerdict::TooFewRuns => "too few runs".to_owned(),
        SuiteVerdict::OtherCounts => "other counts".to_owned(),
        SuiteVerdict::NotPublished => "unpublished".to_owned(),
        SuiteVerdict::NotASpeed => "not a speed".to_owned(),
        SuiteVerdict::NotMeasured => "not measured".to_owned(),
    }
}

/// Explains how to read the summary, and gives the reason for each row without a measured speedup.
pub(crate) fn summary_notes(summary: &SuiteSummary) -> Vec<String> {
    let rows = || summary.rows.iter();
    let mut notes = Vec::new();
    let intervals = interval_note(rows().filter_map(|row| row.now).map(|now| (now.speedup, now.ci95)))
        .map_or(String::new(), |note| format!(" {note}."));
    if let Some(machine) = &summary.machine {
        notes.push(format!("now: {machine}.{intervals}"));
    }
    if rows().any(|row| row.then.is_some()) {
        notes.push(
            "Speedups are over 1 CPU. then: the published speedup on the largest CPU count that was measured here too, \
             otherwise on the largest. verdict: now compared with then; no difference: the published speedup lies in \
             the interval of now."
                .to_owned(),
        );
    }
    let has = |verdict: SuiteVerdict| rows().any(|row| row.verdict == verdict);
    if has(SuiteVerdict::OtherCounts) {
        notes.push("other counts: no published CPU count was measured here.".to_owned());
    }
    if has(SuiteVerdict::TooFewRuns) {
        notes.push(format!("too few runs: with fewer than {MIN_RUNS} runs no confidence interval is shown."));
    }
    notes.extend(
        rows().filter_map(|row| Some(format!("{}: no speedup: {}.", row.study, row.missing.as_ref()?))),
    );
    notes
}
