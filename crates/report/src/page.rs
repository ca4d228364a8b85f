//! The report page: its data, and the page with that data in it.
//!
//! The page takes its words from the functions that word the terminal's report. The viewer, one
//! bundled file, decides how the page looks and behaves. This module knows no markup except the
//! place of the data.

mod timeline;

use morecores_catalogue::PublishedFacts;
use morecores_study::{Phase, Plan, Run, Study};
use morecores_view::locks::LocksView;
use morecores_view::page::{
    BenchmarkText, ComparisonText, NoticeText, Page, PageColumn, PageLocks, PageRun, PageStudy, PageTable,
    PageTimeline, StackPart, Statement, StudyText, SuiteText,
};
use morecores_view::suite::SuiteSummary;
use morecores_view::{Comparison, Gain, StackView, View, timed_run_speedups};

use crate::causes::cause_clauses;
use crate::critical_path::{critical_path_table, threads_table};
use crate::efficiency::{efficiency_table, efficiency_text};
use crate::locks::tables::{contentions, full_table, single_lock_table};
use crate::locks::{advice, notices as lock_notices, prices};
use crate::points::{Detail, estimator_note, interval_notes, points_table};
use crate::stack::{Part, Parts, part_notes, stack_notes};
use crate::suite::{BenchmarkResult, Tables, benchmark_tables, summary_notes, summary_table, verdict_words};
use crate::table::{Column, ColumnKind, Table};
use crate::{Notice, causes, command, comparison, decide, notices, prediction, verdict_statement};

pub use timeline::{CommandStretches, Stretches, page_timeline};

/// Bundled viewer.
const PAGE_HTML: &str = include_str!("../../../viewer/dist/page.html");

/// Placeholder for the data in the viewer.
const DATA_MARK: &str = "@DATA@";

/// Columns of the table of points on the page.
const PAGE_COLUMNS: [Detail; 4] = [Detail::Always, Detail::Usual, Detail::Wide, Detail::Page];

/// Differences between two studies, in the words of a page.
pub fn comparison_text(comparison: &Comparison) -> ComparisonText {
    ComparisonText {
        warning: comparison::different_commands(comparison),
        answer: comparison::verdict_statement(comparison),
        table: page_table(comparison::table(comparison)),
        grown: comparison::growth_text(comparison),
        unlike: comparison::mismatch_lines(comparison),
        note: comparison::table_note(comparison),
    }
}

/// Tables of a classic benchmark for a page; `studies` are the names of the studies behind the
/// tables.
pub fn benchmark_text(
    result: &BenchmarkResult<'_>,
    published: &PublishedFacts,
    studies: Vec<String>,
) -> BenchmarkText {
    let Tables { title, tables, notes } = benchmark_tables(result, published);
    let tables = tables.into_iter().filter(|table| !table.columns.is_empty()).map(page_table).collect();
    BenchmarkText { title, tables, notes, studies }
}

/// Summary of a suite for a page.
pub fn suite_text(summary: SuiteSummary) -> SuiteText {
    SuiteText {
        table: page_table(summary_table(&summary)),
        verdicts: summary.rows.iter().map(verdict_words).collect(),
        notes: summary_notes(&summary),
        summary,
    }
}

pub(crate) fn page_table(table: Table) -> PageTable {
    let column = |column: Column| PageColumn {
        header: column.title(),
        figures: matches!(column.kind, ColumnKind::Figure(_)),
        cells: column.cells,
        csv_name: column.csv_name,
    };
    PageTable { title: table.title, columns: table.columns.into_iter().map(column).collect(), now: table.now }
}

/// One study of a page, called `name`.
pub fn page_study(
    name: &str,
    study: &Study,
    view: View,
    gains: Vec<Gain>,
    timelines: Vec<PageTimeline>,
) -> PageStudy {
    let (text, parts) = (study_text(&view), stack_parts(&view));
    let speedups = timed_run_speedups(study);
    let timed = study.runs.iter().filter(|run| run.phase == Phase::Timed).zip(speedups);
    let page_run =
        |(run, speedup): (&Run, _)| page_run(run, &study.header.plan, speedup, view.leaves_out(run.round));
    let runs = timed.map(page_run).collect();
    let of_run = view.main_trace().map(|trace| [critical_path_table(trace), threads_table(trace)]);
    let structure = efficiency_table(&view).into_iter().chain(of_run.into_iter().flatten().flatten());
    PageStudy {
        name: name.to_owned(),
        text,
        parts,
        structure: structure.map(page_table).collect(),
        structure_notes: efficiency_text(&view).into_iter().collect(),
        points: page_table(points_table(&view, "Measured", &PAGE_COLUMNS)),
        point_notes: interval_notes(&view).into_iter().chain(estimator_note(&view)).collect(),
        runs,
        // The page has tables of its own; the list of cells would only lengthen it.
        view: View { cells: Vec::new(), ..view },
        gains,
        timelines,
    }
}

/// One study of locks of a page, called `name` and made by `command`.
pub fn page_locks(name: &str, command: &str, view: LocksView) -> PageLocks {
    let full = contentions(&view).iter().map(|contention| full_table(&view, contention)).collect::<Vec<_>>();
    let tables = single_lock_table(&view, true).into_iter().chain(full);
    PageLocks {
        name: name.to_owned(),
        command: command.to_owned(),
        cpus: u32::try_from(view.plan.cpus.len()).unwrap_or(u32::MAX),
        advice: advice::advice_statements(&view),
        prices: prices::price_statements(&view).iter().map(Statement::to_string).collect(),
        tables: tables.map(page_table).collect(),
        notices: lock_notices::notices(&view).into_iter().map(notice_text).collect(),
        view: LocksView { cells: Vec::new(), ..view },
    }
}

/// Writes the page as one file that needs no other file.
///
/// # Errors
///
/// Fails only if the key of a map is not a text, which does not happen for a page made from
/// studies.
pub fn page_html(page: &Page) -> Result<String, serde_json::Error> {
    // Inside a script element only "<" can end the element or begin another construct (HTML,
    // 13.2.5.4). In JSON "<" occurs only in strings.
    let data = serde_json::to_string(page)?.replace('<', "\\u003c");
    Ok(PAGE_HTML.replacen(DATA_MARK, &data, 1))
}

fn page_run(run: &Run, plan: &Plan, speedup: Option<f64>, disturbed: bool) -> PageRun {
    PageRun {
        round: run.round,
        cpus: run.cpus,
        n: run.n,
        axes: run.axes.clone(),
        elapsed_s: run.elapsed_ns.as_secs_f64(),
        user_s: run.cpu.user_ns.as_secs_f64(),
        system_s: run.cpu.system_ns.as_secs_f64(),
        metric: run.metric,
        speedup,
        further_metrics: plan.further_metrics.iter().map(|metric| run.figure(&metric.name)).collect(),
        succeeded: run.counts(plan),
        disturbed,
    }
}

fn study_text(view: &View) -> StudyText {
    let verdict = decide(view);
    let causes = view.stack.last().map(|stack| {
        let mut clauses = cause_clauses(&causes(stack, view));
        clauses.extend(part_notes(stack, view));
        clauses
    });
    let prediction = view.prediction.as_ref().map(|prediction| {
        let mut sentences = vec![prediction::headline(prediction)];
        sentences.extend(prediction::point_sentences(prediction));
        sentences.extend(prediction::sentences(prediction));
        sentences.extend(prediction.caveats.iter().map(prediction::caveat_text));
        sentences
    });
    let notices = notices(&view.warnings, &verdict);
    let answer = if verdict.has_result(view) {
        verdict_statement(&verdict)
    } else {
        Statement::new("", "One traced run.")
    };
    StudyText {
        command: command::display_command_with_variables(&view.command, &view.plan.env),
        verdict: answer,
        causes: causes.unwrap_or_default().iter().map(|line| clause_to_sentence(line)).collect(),
        prediction: prediction.unwrap_or_default().iter().map(|line| clause_to_sentence(line)).collect(),
        notices: notices.into_iter().map(notice_text).collect(),
        stack_notes: stack_notes(view),
    }
}

fn notice_text(Notice { severity, text }: Notice) -> NoticeText {
    NoticeText { severity, text }
}

/// Turns a clause into a sentence: a capital letter first, a full stop last.
fn clause_to_sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    let stop = if text.ends_with('.') { "" } else { "." };
    format!("{first}{}{stop}", letters.as_str())
}

/// Parts of the bars, selected as for the terminal's bars.
fn stack_parts(view: &View) -> Vec<StackPart> {
    let parts = Parts::from_view(view, false);
    let bar_parts = |stack: &StackView| {
        let part = |part: Part| StackPart {
            bar_cpus: stack.cpus,
            key: part.look().key.to_owned(),
            colour: part.look().colour.to_owned(),
            name: parts.name(part),
            cpus: parts.cpus(part, stack),
        };
        parts.rows().into_iter().map(part).collect::<Vec<_>>()
    };
    view.stack.iter().flat_map(bar_parts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_end_the_script_element() {
        let page = Page::new("</script><script>alert(1)</script><!--");
        let html = page_html(&page).unwrap();
        let data = html.split("id=\"data\">").nth(1).unwrap();
        assert!(
            data.starts_with("{\"schema\":\"morecores.page/1\",\"tool\":\"\\u003c/script>"),
            "{}",
            &data[..80]
        );
        let back: Page = serde_json::from_str(data.split("</script>").next().unwrap()).unwrap();
        assert_eq!(back, page);
    }
}
