//! A program whose sites are looked for: how it is run, and what its first runs showed.

use std::path::{Path, PathBuf};

use morecores_findings::{CodePlace, Priorities, Schedule};

use crate::first_runs::FirstRuns;
use crate::holds::HoldPlan;
use crate::runner::{Conditions, Runner};
use crate::search::Options;

/// Beginnings of the names of libraries below all programs. Their code is left out unless it races:
/// it is large, and every program tests it.
const COMMON_LIBRARIES: [&str; 8] =
    ["ld-linux", "ld-musl", "libc.so", "libc-", "libm.so", "libpthread", "libstdc++", "libgcc_s"];

/// Program whose sites are looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program<'a> {
    pub(crate) runner: &'a Runner<'a>,
    pub(crate) options: &'a Options,
    pub(crate) first: &'a FirstRuns,
}

impl<'a> Program<'a> {
    /// Its files with code, without the common libraries.
    pub(crate) fn modules(&self) -> impl Iterator<Item = &'a PathBuf> {
        self.first.modules.iter().filter(|module| !is_common(module))
    }

    /// Conditions of a run on several CPUs that looks for sites.
    pub(crate) fn conditions<'b>(&self, sites: &'b [CodePlace], plan: HoldPlan) -> Conditions<'b>
    where
        'a: 'b,
    {
        Conditions {
            cpus: self.options.cpus(Schedule::Cpus),
            sites,
            plan,
            timeout: self.first.timeout,
            priorities: Priorities::Ordinary,
            core: None,
        }
    }
}

/// Whether a file is one of the common libraries.
pub(crate) fn is_common(module: &Path) -> bool {
    let name = module.file_name().unwrap_or_default().to_string_lossy();
    COMMON_LIBRARIES.iter().any(|start| name.starts_with(start))
}
