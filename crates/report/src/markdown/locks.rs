//! A study of locks, for a README or a pull request.
//!
//! This module only writes; `crate::locks` decides the words and the tables.

use std::fmt::{self, Write};

use morecores_view::locks::LocksView;
use morecores_view::page::Statement;

use super::{escape_prose, machine_name, write_notices, write_table};
use crate::locks::tables::{contentions, share_table, single_lock_table, tables_note};
use crate::locks::{advice, notices, prices};
use crate::table::Table;

/// Writes advice, prices, tables and warnings.
///
/// # Errors
///
/// Fails if writing to `out` fails; writing to a `String` never does.
pub fn locks_markdown(view: &LocksView, out: &mut impl Write) -> fmt::Result {
    for Statement { lead, rest } in advice::advice_statements(view) {
        writeln!(out, "- **{}:** {}", escape_prose(&lead), escape_prose(&rest))?;
    }
    if let Some(note) = advice::advice_note(view) {
        writeln!(out, "\n<sub>{}</sub>\n", escape_prose(note))?;
    }
    let prices = prices::price_statements(view);
    for price in &prices {
        writeln!(out, "- {}", escape_prose(&price.to_string()))?;
    }
    if !prices.is_empty() {
        writeln!(out)?;
    }
    if let Some(single) = single_lock_table(view, true) {
        write_titled_table(&single, out)?;
    }
    for contention in contentions(view) {
        write_titled_table(&share_table(view, &contention), out)?;
    }
    write_notices(&notices::notices(view), out)?;
    let on = match machine_name(&view.host).as_str() {
        "" => format!("On CPUs {}.", view.plan.cpus),
        machine => format!("On CPUs {} of {machine}.", view.plan.cpus),
    };
    writeln!(out, "<sub>{} {}</sub>", escape_prose(&tables_note(view, false)), escape_prose(&on))
}

fn write_titled_table(table: &Table, out: &mut impl Write) -> fmt::Result {
    writeln!(out, "**{}**\n", escape_prose(&table.title))?;
    write_table(table, out)
}
