//! A search of `morecores shake` on the page: the sentences of its findings, the rates, and the
//! tables of its runs and sites.
//!
//! The words are those that the search printed. Nothing is concluded here.

use morecores_findings as findings;
use morecores_findings::{Description, Findings, Header, HelgrindUse, SiteRecord, Tally};
use morecores_study::Quantity;
use morecores_view::page::{PageRate, PageSearch, PageTable, TableCell};

use crate::command;
use crate::page::page_table;
use crate::table::{Column, ColumnKind, Table, figure_cell};

/// One search of a page, called `name`.
pub fn page_search(name: &str, header: &Header, result: &Findings) -> PageSearch {
    let first = result.first_failure.as_ref();
    let failure = first.map(|first| {
        let details = findings::first_failure_details(first);
        std::iter::once(findings::first_failure_text(first)).chain(details).collect()
    });
    let mut notes = vec![findings::summary_text(result)];
    notes.extend(header.check.as_ref().map(|check| format!("each run was checked by `{check}`")));
    notes.extend(helgrind_note(result.helgrind).map(str::to_owned));
    PageSearch {
        name: name.to_owned(),
        command: command::display_command(&header.command),
        verdict: findings::verdict_text(result),
        failure: failure.unwrap_or_default(),
        rates: result
            .tallies
            .iter()
            .map(|(schedule, tally)| rate(findings::schedule_text(*schedule, result.cpus), tally))
            .collect(),
        tables: tables(result),
        stacks: first
            .map(|first| first.stacks.iter().map(findings::stack_text).collect())
            .unwrap_or_default(),
        notes,
    }
}

fn helgrind_note(helgrind: HelgrindUse) -> Option<&'static str> {
    match helgrind {
        HelgrindUse::Complete => None,
        HelgrindUse::Missing => Some("without valgrind, breakpoints showed which memory threads share"),
        HelgrindUse::Unsuitable => Some(
            "Helgrind does not know what orders goroutines, so breakpoints showed which memory threads share",
        ),
        HelgrindUse::CutShort => {
            Some("Helgrind's run was cut short, so breakpoints showed which memory threads share")
        }
    }
}

fn rate(name: String, tally: &Tally) -> PageRate {
    let interval = tally.rate();
    PageRate {
        name,
        runs: u32::try_from(tally.runs).unwrap_or(u32::MAX),
        failed: u32::try_from(tally.failed()).unwrap_or(u32::MAX),
        interval: [interval.lo, interval.hi],
        text: tally.to_string(),
    }
}

fn tables(result: &Findings) -> Vec<PageTable> {
    let schedules: Vec<_> = result
        .tallies
        .iter()
        .map(|(schedule, tally)| (findings::schedule_text(*schedule, result.cpus), tally))
        .collect();
    let effects: Vec<_> =
        result.effects.iter().map(|effect| (findings::effect_text(effect, " or "), &effect.tally)).collect();
    let title = format!("Failures on {} CPUs, by the site of the holds", result.cpus);
    let mut tables = vec![tally_table("Runs", "schedule", &schedules)];
    if !effects.is_empty() {
        tables.push(tally_table(&title, "threads held", &effects));
    }
    if !result.site_list.is_empty() {
        tables.push(site_table(&result.site_list));
    }
    tables.into_iter().map(page_table).collect()
}

/// Table of runs and failures, a row for each condition.
fn tally_table(title: &str, conditions: &str, rows: &[(String, &Tally)]) -> Table {
    let tallies = || rows.iter().map(|(_, tally)| *tally);
    let kinds = |tally: &Tally| tally.failures.keys().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    Table::new(
        title,
        vec![
            Column::labels(conditions, rows.iter().map(|(name, _)| name.clone())),
            Column::figures(0, "runs", tallies().map(|tally| count_cell(tally.runs))),
            Column::figures(0, "failed", tallies().map(|tally| count_cell(tally.failed()))),
            Column::figures(0, "rate from", tallies().map(|tally| share_cell(tally.rate().lo))),
            Column::figures(0, "rate to", tallies().map(|tally| share_cell(tally.rate().hi))),
            Column::labels("failures", tallies().map(kinds)),
        ],
    )
}

fn site_table(sites: &[SiteRecord]) -> Table {
    let text = |text: fn(&Description) -> Option<String>| {
        sites.iter().map(move |site| text(&site.description).unwrap_or_default())
    };
    let count = |count: fn(&SiteRecord) -> u64| sites.iter().map(move |site| count_cell(count(site)));
    let name = |header: &str, texts: Vec<String>| {
        Column::new(ColumnKind::Name(0), header, texts.into_iter().map(TableCell::name))
    };
    Table::new(
        "Sites",
        vec![
            name("function", text(|site| site.function.clone()).collect()),
            name("line", text(|site| site.source.as_ref().map(findings::line_text)).collect()),
            name("instruction", text(|site| site.instruction.clone()).collect()),
            name("place", sites.iter().map(|site| site.place.to_string()).collect()),
            name(
                "evidence",
                sites.iter().map(|site| findings::evidence_text(site.evidence).to_owned()).collect(),
            ),
            Column::figures(0, "holds", count(|site| site.holds)),
            Column::figures(0, "runs", count(|site| site.runs)),
            Column::figures(0, "failed", count(|site| site.failures)),
        ],
    )
}

fn count_cell(count: u64) -> TableCell {
    figure_cell(Quantity::Count, Some(count as f64))
}

fn share_cell(share: f64) -> TableCell {
    figure_cell(Quantity::Share, Some(share))
}
