//! What is derived from a study of locks, and how it is said.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use anyhow::Result;
use morecores_record::{LocksView, PageLocks};
use morecores_report::Style;

pub(super) use morecores_analyse::locks_view;

pub(super) fn locks_report(view: &LocksView, path: Option<&Path>, _: &Style) -> String {
    let path = path.map(|path| format!("\nstudy: {}", path.display())).unwrap_or_default();
    format!("{} rounds{path}\n", view.rounds)
}

pub(super) fn locks_json(view: &LocksView) -> Result<String> {
    Ok(serde_json::to_string_pretty(view)? + "\n")
}

pub(super) fn locks_csv(_: &LocksView, out: &mut impl Write) -> Result<()> {
    Ok(writeln!(out, "lock")?)
}

pub(super) fn locks_markdown(view: &LocksView, out: &mut String) -> Result<()> {
    Ok(writeln!(out, "{} rounds", view.rounds)?)
}

pub(super) fn page_locks(name: &str, command: &str, view: LocksView) -> PageLocks {
    PageLocks {
        name: name.to_owned(),
        command: command.to_owned(),
        view,
        advice: Vec::new(),
        prices: Vec::new(),
        tables: Vec::new(),
        notices: Vec::new(),
    }
}
