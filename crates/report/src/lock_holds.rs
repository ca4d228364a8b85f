//! The table of all holds of the command's own locks, where each hold was counted. This module
//! selects rows and columns; it computes no hold.

use morecores_study::Quantity;
use morecores_study::trace::LockMode;
use morecores_view::TraceView;
use morecores_view::code::LockHoldsView;

use crate::code::{NO_NAME, first_site, names, place};
use crate::format::{cpus, time};
use crate::table::{Column, Table, figure_cell};

/// Number of locks shown of a run.
const MAX_ROWS: usize = 10;

/// Locks that were held longest; none unless each hold was counted, or without a hold.
pub(crate) fn lock_holds_table(trace: &TraceView) -> Option<Table> {
    let all = trace.lock_holds.as_ref()?;
    let rows = &all[..all.len().min(MAX_ROWS)];
    if rows.is_empty() {
        return None;
    }
    let cells = |quantity: Quantity, figure: fn(&LockHoldsView) -> f64| {
        rows.iter().map(move |lock| figure_cell(quantity, Some(figure(lock))))
    };
    let share = |lock: &LockHoldsView| figure_cell(Quantity::Share, Some(lock.held_s / trace.elapsed_s));
    let name = |lock: &LockHoldsView| lock.name.clone().unwrap_or_else(|| NO_NAME.to_owned());
    let site = |lock: &LockHoldsView| lock.sites.first().map(|site| place(&site.source, &site.module));
    let columns = vec![
        names(0, "lock", rows.iter().map(name)),
        names(3, "held as", rows.iter().map(|lock| mode_name(lock.mode).to_owned())),
        names(1, "taken in", rows.iter().map(|lock| first_site(&lock.sites))),
        names(4, "source", rows.iter().map(|lock| site(lock).unwrap_or_default())),
        names(5, "command", rows.iter().map(|lock| lock.command.clone())),
        Column::figures(1, "holds", cells(Quantity::Count, |lock| lock.holds as f64)),
        Column::figures(0, "held", cells(Quantity::Time, |lock| lock.held_s)),
        Column::figures(2, "of the run", rows.iter().map(share)),
        Column::figures(3, "longest", cells(Quantity::Time, |lock| lock.max_hold_s)),
    ];
    Some(Table::new(format!("all holds of the command's locks on {}", cpus(trace.cpus)), columns))
}

/// Precision of the holds, in words; none unless they were counted.
pub(crate) fn lock_holds_text(trace: &TraceView) -> Option<String> {
    let all = trace.lock_holds.as_ref()?;
    let holds: u64 = all.iter().map(|lock| lock.holds).sum();
    let probes: f64 = all.iter().map(|lock| lock.probes_s).sum();
    Some(match holds {
        0 => "No call of the C library's functions took a lock.".to_owned(),
        _ if probes <= 0.0 => {
            "The holds include the time of the probes, which could not be measured: some microseconds each."
                .to_owned()
        }
        _ => format!(
            "The probes took {} of each hold, which is subtracted: shorter holds are imprecise.",
            time(probes / holds as f64)
        ),
    })
}

const fn mode_name(mode: LockMode) -> &'static str {
    match mode {
        LockMode::Mutex => "mutex",
        LockMode::Read => "reader",
        LockMode::Write => "writer",
    }
}
