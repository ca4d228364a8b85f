//! A study of locks in the words of a page.

use morecores_view::LocksView;
use morecores_view::page::PageLocks;

use super::{notice_text, page_table, statement};
use crate::locks::tables::{contentions, full_table, single_lock_table};
use crate::locks::{advice, notices, prices};

/// One study of locks of a page, called `name` and made by `command`.
pub fn page_locks(name: &str, command: &str, view: LocksView) -> PageLocks {
    let full = contentions(&view).iter().map(|contention| full_table(&view, contention)).collect::<Vec<_>>();
    let tables = single_lock_table(&view, true).into_iter().chain(full);
    PageLocks {
        name: name.to_owned(),
        command: command.to_owned(),
        cpus: u32::try_from(view.plan.cpus.len()).unwrap_or(u32::MAX),
        advice: advice::advice_sentences(&view).iter().map(|sentence| statement(sentence)).collect(),
        prices: prices::price_sentences(&view),
        tables: tables.map(page_table).collect(),
        notices: notices::notices(&view).into_iter().map(notice_text).collect(),
        view,
    }
}
