//! A study of locks in the words of a page.

use morecores_view::LocksView;
use morecores_view::page::{PageLocks, TextColumn, NoticeText, TextTable};

use super::severity;
use crate::locks::tables::{Table, by_itself, contentions, everything};
use crate::locks::{advice, notices, prices};

/// One study of locks of a page, called `name` and made by `command`.
pub fn page_locks(name: &str, command: &str, view: LocksView) -> PageLocks {
    let mut tables: Vec<(String, TextTable)> = by_itself(&view, true).map(said).into_iter().collect();
    tables.extend(contentions(&view).iter().map(|of| said(everything(&view, of))));
    let notice = |notice: crate::Notice| NoticeText {
        severity: severity(notice.severity).to_owned(),
        text: notice.text,
    };
    PageLocks {
        name: name.to_owned(),
        command: command.to_owned(),
        advice: advice::advice(&view),
        prices: prices::prices(&view),
        tables,
        notices: notices::notices(&view).into_iter().map(notice).collect(),
        view,
    }
}

fn said(table: Table) -> (String, TextTable) {
    let rows = table.columns.first().map_or(0, |column| column.cells.len());
    let columns = table.columns.into_iter().map(|column| TextColumn {
        header: column.header.replace('\n', " "),
        figures: column.rank.is_some(),
        cells: column.cells,
    });
    (table.title, TextTable { columns: columns.collect(), now: vec![true; rows] })
}
