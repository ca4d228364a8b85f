//! A study of locks, for a terminal.
//!
//! This module only lays out; `crate::locks` decides the words and the tables.

mod curve;

use std::path::Path;

use morecores_view::locks::LocksView;
use morecores_view::page::Statement;

use super::Style;
use super::grid::lines_with_title;
use crate::locks::tables::{contentions, full_table, share_table, single_lock_table, tables_note};
use crate::locks::{advice, notices, prices};
use crate::table::Table;

/// Columns that identify a row in a table of all results: lock and threads.
const KEY_COLUMNS: usize = 2;

/// Columns of a table of all results before the columns of fairness.
const RATE_COLUMNS: usize = 6;

/// Report of `morecores locks` and of `morecores show` for a study of locks, each line ended by a
/// newline. The advice on which lock to take comes first.
pub fn locks_report(view: &LocksView, study: Option<&Path>, style: &Style) -> String {
    let paint = style.paint();
    let mut sections = vec![style.wrap(&headline(view), "  ").iter().map(|l| paint.bold(l)).collect()];
    let statement_lines = |statements: Vec<Statement>| -> Vec<String> {
        let lines = |one: &Statement| style.wrap_statement(one, "  ", |lead| paint.bold(lead));
        statements.iter().flat_map(lines).collect()
    };
    let mut words = statement_lines(advice::advice_statements(view));
    words.extend(advice::advice_note(view).iter().flat_map(|line| style.wrap_dim(line)));
    sections.push(words);
    sections.push(statement_lines(prices::price_statements(view)));
    sections.extend(single_lock_table(view, style.wide).map(|table| lines_with_title(&table, style)));
    sections.extend(curve::curves(view, style));
    let contentions = contentions(view);
    for contention in &contentions {
        let tables = if style.wide {
            split_fairness(full_table(view, contention))
        } else {
            vec![share_table(view, contention)]
        };
        sections.extend(tables.iter().map(|table| lines_with_title(table, style)));
    }
    if !contentions.is_empty() {
        let more = if style.wide { "" } else { " --wide shows every figure with its interval." };
        sections.push(style.wrap_dim(&format!("{}{more}", tables_note(view, style.wide))));
    }
    sections.push(super::notices::notice_lines(&notices::notices(view), style));
    sections.extend(study.map(|path| vec![super::path_line("study", path, style)]));
    super::join_sections(sections)
}

/// Measured locks, and the machine.
fn headline(view: &LocksView) -> String {
    let locks = match view.plan.locks.len() {
        1 => "1 lock".to_owned(),
        n => format!("{n} locks"),
    };
    let rounds = match view.rounds {
        1 => "1 round".to_owned(),
        n => format!("{n} rounds"),
    };
    let cpus = view.plan.cpus.len();
    let on = if cpus == 1 { "CPU" } else { "CPUs" };
    let mut line = format!("{locks} on {on} {}, {rounds}", view.plan.cpus);
    if !view.host.cpu_model.is_empty() {
        line.push_str(&format!(" ({})", view.host.cpu_model));
    }
    line
}

/// Splits a table into rates with CPUs, and fairness: together they are too wide for most
/// terminals.
fn split_fairness(mut table: Table) -> Vec<Table> {
    let fairness = table.columns.split_off(RATE_COLUMNS);
    let keys = table.columns.iter().take(KEY_COLUMNS).cloned();
    let title = format!("{}: fairness", table.title);
    let fairness = Table::new(title, keys.chain(fairness).collect());
    vec![table, fairness]
}
