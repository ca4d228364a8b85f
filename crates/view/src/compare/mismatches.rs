//! Differences in the making of two studies. Each may explain a difference in time.
//!
//! This module names the differences; the reader judges them.

use std::ffi::OsString;

use crate::{Aspect, Mismatch};
use morecores_study::{Cache, Host, Variable};

use super::Side;

/// Returns all differences in the making of the two studies, the most important first.
pub(super) fn mismatches(base: Side<'_>, new: Side<'_>, common: &[u32]) -> Vec<Mismatch> {
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
    for cpus in common {
        let point = |side: Side<'_>| side.view.points.iter().find(|p| p.cpus == *cpus).cloned();
        let (Some(base_point), Some(new_point)) = (point(base), point(new)) else { continue };
        let mut add_if_different = |aspect: Aspect, base: String, new: String| {
            if base != new {
                mismatches.push(Mismatch {
                    aspect,
                    base: format!("{base} at {cpus}"),
                    new: format!("{new} at {cpus}"),
                });
            }
        };
        add_if_different(Aspect::CpuSet, base_point.cpu_set.to_string(), new_point.cpu_set.to_string());
        add_if_different(Aspect::N, base_point.n.to_string(), new_point.n.to_string());
    }
    mismatches
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
