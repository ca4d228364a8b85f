//! Options of `morecores topology`.

use std::path::PathBuf;

use clap::Args;

/// Show the CPUs of this machine and which of them are usable
///
/// The output lists packages, NUMA nodes, cores, SMT siblings, core types and caches. It gives each
/// reason why fewer CPUs are usable than exist: offline CPUs, affinity, cpusets, and the CPU quotas
/// of all enclosing cgroups.
#[derive(Debug, Args)]
pub(crate) struct TopologyArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write all data read from the system to FILE (`-` for standard output), for a bug report
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(crate) record: Option<PathBuf>,
    /// Read FILE, made by --record, instead of this machine
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    pub(crate) from: Option<PathBuf>,
}
