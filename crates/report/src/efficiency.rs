//! The efficiencies of the traced counts as a tree, in the words of POP. This module computes no
//! factor.

use morecores_study::Quantity;
use morecores_view::page::TableCell;
use morecores_view::{EfficiencyView, Estimate, View};

use crate::format::{cpus, point_name};
use crate::table::{Column, ColumnKind, Table, estimate_cell};

/// Efficiency below which a factor is marked: POP's own bound for a factor that needs attention.
const LOW: f64 = 0.8;

/// Mark of a low efficiency.
const LOW_MARK: &str = " low";

/// Factor of the tree: depth, name, and the figure of a count.
type Factor = (usize, &'static str, fn(&EfficiencyView) -> Option<&Estimate>);

/// Factors in the order of the tree.
const FACTORS: [Factor; 6] = [
    (0, "global efficiency", |row| row.global.as_ref()),
    (1, "parallel efficiency", |row| Some(&row.parallel)),
    (2, "load balance", |row| Some(&row.load_balance)),
    (2, "serialisation", |row| row.serialisation.as_ref()),
    (2, "transfer", |row| row.transfer.as_ref()),
    (1, "computation scaling", |row| row.computation_scaling.as_ref()),
];

/// Tree of the efficiencies, with a column for each traced count; none without such a count.
pub(crate) fn efficiency_table(view: &View) -> Option<Table> {
    if view.efficiencies.is_empty() {
        return None;
    }
    let name = |(depth, name, _): &Factor| TableCell::name("  ".repeat(*depth) + name);
    let mut columns = vec![Column::new(ColumnKind::Name(0), "efficiency", FACTORS.iter().map(name))];
    for (place, row) in view.efficiencies.iter().enumerate() {
        // The largest counts stay longest: they are the ones of interest.
        let rank = u8::try_from(view.efficiencies.len() - 1 - place).unwrap_or(u8::MAX);
        let cell = |(_, _, figure): &Factor| marked_cell(figure(row));
        let title = point_name(row.cpus, row.n, &row.axes);
        columns.push(Column::figures(rank, &title, FACTORS.iter().map(cell)));
    }
    Some(Table::new("efficiencies by the traced runs (POP)", columns))
}

/// Explanation of the tree, with the measured efficiency of the largest count.
pub(crate) fn efficiency_text(view: &View) -> Option<String> {
    let last = view.efficiencies.last()?;
    let measured = last.measured.as_ref().zip(last.base_cpus).map(|(measured, base)| {
        format!(
            " By the timed runs, {} of the efficiency on {} remains on {}.",
            Quantity::Share.text(measured.value),
            cpus(base),
            cpus(last.cpus)
        )
    });
    let rule = "Each line is the product of the lines below it. Serialisation is the loss to threads that depend on \
                each other, transfer the loss to waits for CPUs, devices and the network. Below 80% a factor is marked as low.";
    Some(rule.to_owned() + &measured.unwrap_or_default())
}

fn marked_cell(estimate: Option<&Estimate>) -> TableCell {
    let mut cell = estimate_cell(Quantity::Share, estimate);
    if estimate.is_some_and(|estimate| estimate.value < LOW) {
        cell.text.push_str(LOW_MARK);
    }
    cell
}
