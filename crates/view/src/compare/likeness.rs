//! Differences in the making of two studies. Each may explain a difference in time.
//!
//! This module names the differences; the reader judges them.

use std::ffi::OsString;

use crate::{Aspect, Unlike};
use morecores_study::{Cache, Host, Variable};

use super::Side;

/// Returns all differences in the making of the two studies, the most important first.
pub(super) fn unlike(base: Side<'_>, new: Side<'_>, common: &[u32]) -> Vec<Unlike> {
    let mut unlike: Vec<Unlike> = [
        (Aspect::Command, command(base), command(new)),
        (Aspect::Machine, machine(&base.view.host), machine(&new.view.host)),
        (Aspect::Kernel, base.view.host.kernel.clone(), new.view.host.kernel.clone()),
        (Aspect::Limit, base.view.plan.limit.to_string(), new.view.plan.limit.to_string()),
        (Aspect::Cache, cache(base).to_owned(), cache(new).to_owned()),
        (Aspect::Tool, base.view.tool.clone(), new.view.tool.clone()),
    ]
    .into_iter()
    .filter(|(_, base, new)| base != new)
    .map(|(aspect, base, new)| Unlike { aspect, base, new })
    .collect();
    for cpus in common {
        let point = |side: Side<'_>| side.view.points.iter().find(|p| p.cpus == *cpus).cloned();
        let (Some(of_base), Some(of_new)) = (point(base), point(new)) else { continue };
        let mut tell = |aspect: Aspect, base: String, new: String| {
            if base != new {
                unlike.push(Unlike {
                    aspect,
                    base: format!("{base} at {cpus}"),
                    new: format!("{new} at {cpus}"),
                });
            }
        };
        tell(Aspect::CpuSet, of_base.cpu_set.to_string(), of_new.cpu_set.to_string());
        tell(Aspect::N, of_base.n.to_string(), of_new.n.to_string());
    }
    unlike
}

/// Returns the variables set for the command, and the words of the command.
fn command(side: Side<'_>) -> String {
    let assignment = |variable: &Variable| {
        let value = variable.value.as_ref()?;
        Some(format!("{}={}", variable.name.display(), value.display()))
    };
    let variables = side.view.plan.env.iter().filter_map(assignment);
    // Two words that differ only in bytes outside UTF-8 would look equal, so these words are
    // escaped.
    let word = |word: OsString| word.into_string().unwrap_or_else(|word| format!("{word:?}"));
    variables.chain(side.study.header.command.argv().into_iter().map(word)).collect::<Vec<_>>().join(" ")
}

fn machine(host: &Host) -> String {
    format!("{} ({}, {} usable CPUs)", host.hostname, host.cpu_model, host.topology.usable.cpus.len())
}

fn cache(side: Side<'_>) -> &'static str {
    match side.view.plan.cache {
        Cache::Warm => "warm",
        Cache::Cold { .. } => "cold",
    }
}
