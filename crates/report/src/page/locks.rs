//! A study of locks in the words of a page.

use morecores_view::LocksView;
use morecores_view::page::{NoticeText, PageLocks, TextColumn, TextTable};

use super::severity_key;
use crate::locks::tables::{Table, contentions, full_table, single_lock_table};
use crate::locks::{advice, notices, prices};

/// One study of locks of a page, called `name` and made by `command`.
pub fn page_locks(name: &str, command: &str, view: LocksView) -> PageLocks {
    let mut tables: Vec<(String, TextTable)> =
        single_lock_table(&view, true).map(text_table).into_iter().collect();
    tables.extend(contentions(&view).iter().map(|contention| text_table(full_table(&view, contention))));
    let notice = |notice: crate::Notice| NoticeText {
        severity: severity_key(notice.severity).to_owned(),
        text: notice.text,
    };
    PageLocks {
        name: name.to_owned(),
        command: command.to_owned(),
        advice: advice::advice_sentences(&view),
        prices: prices::price_sentences(&view),
        tables,
        notices: notices::notices(&view).into_iter().map(notice).collect(),
        view,
    }
}

fn text_table(table: Table) -> (String, TextTable) {
    let rows = table.columns.first().map_or(0, |column| column.cells.len());
    let columns = table.columns.into_iter().map(|column| TextColumn {
        header: column.header.replace('\n', " "),
        figures: column.rank.is_some(),
        cells: column.cells,
    });
    (table.title, TextTable { columns: columns.collect(), now: vec![true; rows] })
}
