//! Differences in the making of two studies. Each may explain a difference in time.
//!
//! This module names the differences; the reader judges them.

use std::ffi::OsString;

use crate::{Aspect, Mismatch, PointView};
use morecores_study::{Cache, Cell, Host, InCell, Variable};

use super::Side;

/// Returns all differences in the making of the two studies, the most important first.
pub(super) fn mismatches(base: Side<'_>, new: Side<'_>) -> Vec<Mismatch> {
    let mut mismatches: Vec<Mismatch> = [
        (Aspect::Command, command_line(base), command_line(new)),
        (Aspect::Machine, machine_name(&base.view.host), machine_name(&new.view.host)),
        (Aspect::Kernel, base.view.host.kernel.clone(), new.view.host.kernel.clone()),
        (Aspect::Limit, base.view.plan.limit.to_string(), new.view.plan.limit.to_string()),
        (Aspect::Cache, cache_state(base).to_owned(), cache_state(new).to_owned()),
        (Aspect::Tool, base.view.tool.clone(), new.view.tool.clone()),
    ]
    .into_iter()
    .filter(|(_, base, new)| base != new)
    .map(|(aspect, base, new)| Mismatch { aspect, base, new })
    .collect();
    for base_point in &base.view.points {
        let Some(new_point) = new.view.point(&base_point.cell()) else { continue };
        let cpu_set = |point: &PointView| format!("{} at {}", point.cpu_set, point.cpus);
        let aspect = Aspect::CpuSet;
        let mismatch = Mismatch { aspect, base: cpu_set(base_point), new: cpu_set(new_point) };
        if mismatch.base != mismatch.new && !mismatches.contains(&mismatch) {
            mismatches.push(mismatch);
        }
    }
    let (base, new) = (unmatched_cells(base, new), unmatched_cells(new, base));
    if base != new {
        mismatches.push(Mismatch { aspect: Aspect::Cells, base, new });
    }
    mismatches
}

/// Returns the cells at counts of both studies that the other study lacks.
fn unmatched_cells(side: Side<'_>, other: Side<'_>) -> String {
    let counts = other.counts();
    let points = side.view.points.iter().filter(|point| counts.contains(&point.cpus));
    cell_list(points.map(InCell::cell).filter(|cell| other.view.point(cell).is_none()))
}

/// Returns the cells in words.
pub(super) fn cell_list(cells: impl Iterator<Item = Cell>) -> String {
    let cells: Vec<String> = cells.map(|cell| cell.to_string()).collect();
    if cells.is_empty() { "no further cell".to_owned() } else { cells.join("; ") }
}

/// Returns the variables set for the command, and the words of the command.
fn command_line(side: Side<'_>) -> String {
    let assignment = |variable: &Variable| {
        let value = variable.value.as_ref()?;
        Some(format!("{}={}", variable.name.display(), value.display()))
    };
    let variables = side.view.plan.env.iter().filter_map(assignment);
    // Two words that differ only in bytes outside UTF-8 would look equal, so these words are
    // escaped.
    let word = |word: OsString| word.into_string().unwrap_or_else(|word| format!("{word:?}"));
    variables.chain(side.study.header.subject.argv().into_iter().map(word)).collect::<Vec<_>>().join(" ")
}

fn machine_name(host: &Host) -> String {
    format!("{} ({}, {} usable CPUs)", host.hostname, host.cpu_model, host.topology.usable.cpus.len())
}

fn cache_state(side: Side<'_>) -> &'static str {
    match side.view.plan.cache {
        Cache::Warm => "warm",
        Cache::Cold { .. } => "cold",
    }
}
