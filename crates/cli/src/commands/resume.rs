//! Continuation of a study: the check that it can be continued here, and the line that does so.

use std::path::Path;

use anyhow::{Result, ensure};
use morecores_report::display_command;
use morecores_study::{CpuSet, Host};

/// Checks that the study at `path`, made on the machine `then`, can be continued on the machine
/// `now`, with all of the study's sets of CPUs.
pub(super) fn ensure_same_machine<'a>(
    path: &Path,
    then: &Host,
    now: &Host,
    cpu_sets: impl IntoIterator<Item = &'a CpuSet>,
) -> Result<()> {
    let machine_name = |host: &Host| (host.hostname.clone(), host.cpu_model.clone());
    ensure!(
        machine_name(then) == machine_name(now),
        "{} was made on {} ({}); a study belongs to one machine: make a new one here",
        path.display(),
        then.hostname,
        then.cpu_model
    );
    for cpu_set in cpu_sets {
        ensure!(
            cpu_set.is_subset(&now.topology.usable.cpus),
            "some of the CPUs {cpu_set} of the study are no longer usable"
        );
    }
    Ok(())
}

/// Command line that resumes a study by `command`, with more `options`, each followed by a space.
pub(super) fn resume_line(command: &str, path: &Path, options: &str) -> String {
    format!("morecores {command} --resume {options}-o {}", display_command(&[path.display().to_string()]))
}
