//! Options of `morecores doctor`.

use std::path::PathBuf;

use clap::Args;

/// Report what this machine can measure, how noisy it is, and what would help
///
/// The report covers privileges, BPF, tracepoints, hardware counters, cgroups, hotplug, clock,
/// governor and hypervisor. It names the command that enables a missing feature. A fixed loop runs
/// on each CPU in turn, and then on all at once. Its times show the smallest difference that can be
/// measured here. Copies and accesses at random on more and more CPUs show the speed of the memory,
/// which later studies keep: it narrows their predictions for more CPUs of this machine.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Skip the measurements of noise and memory, which take about twelve seconds
    #[arg(long)]
    pub(crate) quick: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write versions, findings and the last log to FILE for a bug report, without names of hosts,
    /// users and homes; `-` is standard output [default FILE: morecores-report.txt]
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "morecores-report.txt",
        conflicts_with = "json"
    )]
    pub(crate) report: Option<PathBuf>,
}
